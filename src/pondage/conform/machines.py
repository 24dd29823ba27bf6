"""The machines that scenario files are about: how their scenarios are read, what plays them, what compares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pondage.conform.control import check_control
from pondage.conform.control_scenario import ControlScenario, read_control_scenarios
from pondage.conform.demand import check
from pondage.conform.demand_scenario import Scenario, read_scenarios
from pondage.conform.reaction import check_reaction
from pondage.conform.reaction_host import MakeReactorHost, VirtualReactorHost
from pondage.conform.reaction_scenario import ReactionScenario, read_reaction_scenarios
from pondage.conform.verdict import Report, Verdict
from pondage.errors import PondageError
from pondage.simulate.control_host import ControlHost
from pondage.simulate.control_virtual import VirtualControlHost
from pondage.simulate.host import Host
from pondage.simulate.virtual import VirtualHost

HostName = Literal["virtual", "ledger"]
One = TypeVar("One", Scenario, ControlScenario, ReactionScenario)
MakeHost = TypeVar("MakeHost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Generic[One, MakeHost]):
    """One machine, its two hosts, and what its scenarios say."""

    name: str
    asks: str
    compares: str
    durable_is: str
    read: Callable[[Path], list[One]]
    check: Callable[[One, MakeHost], Verdict]
    virtual: MakeHost
    durable: Callable[[], MakeHost]
    """Imports it: the durable host brings the ledger with it, which nobody else needs to wait for."""

    def chosen(self, files: Sequence[Path], only: str | None) -> list[One]:
        """Read the scenarios of all files, or the one with an id; raises PondageError when there is none."""
        found = [scenario for path in files for scenario in self.read(path) if only in (None, scenario.id)]
        if only is not None and not found:
            raise PondageError(f"no scenario has the id {only}", code="NOT_FOUND")
        return found

    def play(self, scenarios: Sequence[One], host: HostName) -> Report:
        """Play each on hosts of its own."""
        make_host = self.virtual if host == "virtual" else self.durable()
        return Report(verdicts=[self.check(scenario, make_host) for scenario in scenarios])


def _demand_on_the_ledger() -> Callable[[], Host]:
    from pondage.conform.demand_durable import LedgerHost

    return LedgerHost


def _control_on_the_ledger() -> Callable[[], ControlHost]:
    from pondage.conform.control_durable import LedgerControlHost

    return LedgerControlHost


def _reaction_on_a_journal() -> MakeReactorHost:
    from pondage.conform.reaction_durable import JournalReactorHost

    return JournalReactorHost


_ON_SQLITE = "the durable code on a real SQLite file with a fake clock"
DEMAND: Machine[Scenario, Callable[[], Host]] = Machine(
    name="demand",
    asks="when must a Pond run?",
    compares="runs, freshness, times, states and explanations",
    durable_is=_ON_SQLITE,
    read=read_scenarios,
    check=check,
    virtual=VirtualHost,
    durable=_demand_on_the_ledger,
)
CONTROL: Machine[ControlScenario, Callable[[], ControlHost]] = Machine(
    name="control",
    asks="how does a job unfold?",
    compares="timelines, states, globals, checkpoints and errors",
    durable_is=_ON_SQLITE,
    read=read_control_scenarios,
    check=check_control,
    virtual=VirtualControlHost,
    durable=_control_on_the_ledger,
)
REACTION: Machine[ReactionScenario, MakeReactorHost] = Machine(
    name="reaction",
    asks="what does data that arrives make run?",
    compares="fires, answers, health and state",
    durable_is="the live host on a real journal with a fake clock",
    read=read_reaction_scenarios,
    check=check_reaction,
    virtual=VirtualReactorHost,
    durable=_reaction_on_a_journal,
)

"""Conformance scenarios of the reaction machine: the form of a file, and reading one strictly."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from pondage.conform.demand_scenario import Name, ScenarioError
from pondage.kernel.reaction import (
    Criteria,
    Event,
    Failing,
    FailurePolicy,
    Gate,
    Kind,
    Policy,
    Publication,
    ReactorShape,
    SourceShape,
    Strategy,
    read_event,
)
from pondage.kernel.reaction.shape import as_list, as_sum
from pondage.ledger.database.mapping import of_row

Natural = Annotated[int, msgspec.Meta(ge=0)]
Delay = Natural | None
SECOND = 1000
"""Scenarios count milliseconds."""


class SourceGiven(msgspec.Struct, forbid_unknown_fields=True):
    """A source of a scenario's reactor."""

    kind: Kind = Kind.PASSTHROUGH
    policy: Policy = Policy.BLOCK
    capacity: Annotated[int, msgspec.Meta(ge=1)] = 1024
    size: Annotated[int, msgspec.Meta(ge=1)] | None = None
    interval: Annotated[int, msgspec.Meta(ge=1)] | None = None
    window: int = -1
    reduce: Literal["list", "sum"] = "list"
    flush_on_fire: bool = False
    stale_after: Natural | None = None
    optional: bool = False
    pond: str | None = None


class PublicationGiven(msgspec.Struct, forbid_unknown_fields=True):
    """The Pond that is published, and how often."""

    pond: Name
    every: Annotated[int, msgspec.Meta(ge=1)] | None = None


class FailureGiven(msgspec.Struct, forbid_unknown_fields=True):
    """What happens to a fire that failed."""

    policy: Failing
    retries: Natural = 3
    base: Natural = 1000
    cap: Natural = 60_000
    then: Failing = Failing.DEAD_LETTER


class ReactorGiven(msgspec.Struct, forbid_unknown_fields=True):
    """The declaration of a scenario's reactor; here a plan has one fire unless the scenario says otherwise."""

    sources: dict[Name, SourceGiven]
    criteria: Criteria = Criteria.ANY
    strategy: Strategy = Strategy.LATEST
    graphs: tuple[Name, ...] = ("g",)
    dispatched: list[Name] = []
    timeout: Natural | None = None
    window: Annotated[int, msgspec.Meta(ge=1)] = 1
    durable: bool | Literal["process", "power"] = True
    gate: Gate = Gate.NONE
    publish: str | PublicationGiven | None = None
    on_source_failed: Literal["fail", "degrade"] = "fail"
    warming_timeout: Natural | None = None
    on_failure: FailureGiven | None = None
    crash_attempts: Natural = 3

    def shape(self) -> ReactorShape:
        """Give the reactor as the machine knows it."""
        failure, publish = self.on_failure, self.publish
        if isinstance(publish, str):
            publish = PublicationGiven(pond=publish)
        return of_row(
            ReactorShape,
            self,
            sources={name: _source(name, given) for name, given in self.sources.items()},
            dispatched=frozenset(self.dispatched),
            on_failure=None if failure is None else FailurePolicy(**msgspec.structs.asdict(failure)),
            is_durable=self.durable is not False,
            publish=None if publish is None else Publication(pond=publish.pond, every=publish.every),
            fails_with_source=self.on_source_failed == "fail",
            second=SECOND,
        )


class FaultGiven(msgspec.Struct, forbid_unknown_fields=True):
    """Which fires fail: those with these inputs, in this graph, so many times."""

    when: dict[str, object] = {}
    graph: str | None = None
    times: int | None = None
    error: str = "boom"


class EnvironmentGiven(msgspec.Struct, forbid_unknown_fields=True):
    """What the world does."""

    takes: Natural | dict[str, Natural] = 0
    fail: list[FaultGiven] = []
    hang: dict[str, object] = {}
    start: dict[str, Delay | list[Delay]] = {}
    connect: dict[str, Delay | list[Delay]] = {}
    polls: dict[str, list[object]] = {}
    log: dict[str, list[tuple[int, object]]] = {}
    commit_ms: Natural = 0


class Expected(msgspec.Struct, forbid_unknown_fields=True):
    """What must come out; a part that is absent is not compared."""

    fires: list[list[object]] | None = None
    ids: list[tuple[int, int]] | None = None
    replies: list[tuple[int, str, object]] | None = None
    health: list[tuple[int, str, list[str]]] | None = None
    acc_health: list[tuple[int, str, str]] | None = None
    recovery: list[tuple[int, str | None, int, int | None]] | None = None
    ponds: list[list[object]] | None = None
    state: dict[str, object] | None = None


class ReactionScenario(msgspec.Struct, forbid_unknown_fields=True):
    """One scenario."""

    id: Name
    reactor: ReactorGiven
    events: list[list[object]]
    until: int
    expect: Expected
    env: EnvironmentGiven = msgspec.field(default_factory=EnvironmentGiven)
    crashes: list[list[object]] = []
    title: str = ""
    covers: list[str] = []
    note: str | None = None

    def happenings(self) -> list[tuple[int, Event | list[object]]]:
        """Give the events with their times. What is no event is handed on as it is: the machine must refuse it."""
        return [self._happening(place, given) for place, given in enumerate(self.events)]

    def deaths(self) -> list[tuple[int, int, ReactorShape | None]]:
        """Give when the process dies and begins again, and with which declaration."""
        return [self._death(place, given) for place, given in enumerate(self.crashes)]

    def _happening(self, place: int, given: list[object]) -> tuple[int, Event | list[object]]:
        if not given or not isinstance(given[0], int):
            raise ScenarioError(f"{self.id}: events[{place}] has no time: {given}")
        return given[0], read_event(given[1:]) or given[1:]

    def _death(self, place: int, given: list[object]) -> tuple[int, int, ReactorShape | None]:
        if len(given) not in (2, 3) or not isinstance(given[0], int) or not isinstance(given[1], int):
            raise ScenarioError(f"{self.id}: crashes[{place}] is not [down, up, declaration?]: {given}")
        shape = None
        if len(given) == 3:
            try:
                shape = msgspec.convert(given[2], ReactorGiven).shape()
            except msgspec.ValidationError as error:
                raise ScenarioError(f"{self.id}: crashes[{place}]: {error}") from error
        return given[0], given[1], shape


def read_reaction_scenarios(path: Path) -> list[ReactionScenario]:
    """Read a file of scenarios; raises ScenarioError that names the file and the scenario."""
    try:
        given = msgspec.json.decode(path.read_bytes(), type=list[msgspec.Raw])
    except (OSError, msgspec.DecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from error
    scenarios = []
    for number, text in enumerate(given, start=1):
        try:
            scenario = msgspec.json.decode(text, type=ReactionScenario)
            scenario.happenings()
            scenario.deaths()
        except msgspec.DecodeError as error:
            raise ScenarioError(f"{path}: scenario {_id(text)} (number {number}): {error}") from error
        except ScenarioError as error:
            raise ScenarioError(f"{path}: {error.message}") from error
        scenarios.append(scenario)
    return scenarios


def _source(name: str, given: SourceGiven) -> SourceShape:
    return of_row(
        SourceShape,
        given,
        name=name,
        reduce=as_sum if given.reduce == "sum" else as_list,
        pond=given.pond or (name if given.kind is Kind.POND else None),
    )


def _id(text: msgspec.Raw) -> str:
    try:
        return str(msgspec.json.decode(text).get("id", "?"))
    except (msgspec.DecodeError, AttributeError):
        return "?"

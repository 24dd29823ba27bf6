"""Conformance scenarios of the demand machine: the form of a file, and reading one strictly."""

from pathlib import Path
from typing import Annotated

import msgspec

from pondage.define.pond.window import checked_zone
from pondage.errors import DefinitionError, PondageError
from pondage.kernel.demand import Occurrences, Pacing, PondKey, PondShape, Retries
from pondage.kernel.demand.events import (
    Calm,
    Clear,
    Follow,
    Force,
    Kill,
    Pulse,
    Read,
    Sleep,
    Tap,
    Tide,
    Verb,
    Wake,
    Wave,
)
from pondage.kernel.demand.state import WAVE

Name = Annotated[str, msgspec.Meta(min_length=1)]
Duration = Annotated[int, msgspec.Meta(ge=0)]
GateField = str | int | bool | None | list[str | int | list[str | int]]


class ScenarioError(PondageError):
    """A scenario file cannot be read, or says something that cannot be run."""

    code = "SCENARIO"


class RippleGiven(msgspec.Struct, forbid_unknown_fields=True):
    """A Ripple of a scenario."""

    parents: list[Name]
    duration: Duration


class RetriesGiven(msgspec.Struct, forbid_unknown_fields=True):
    """The retry budgets of a Pond."""

    immediately: Annotated[int, msgspec.Meta(ge=0)] = 0
    on_change: Annotated[int, msgspec.Meta(ge=0)] = 0


class PondGiven(msgspec.Struct, forbid_unknown_fields=True):
    """A Pond of a scenario; `sources` says ``required`` or ``optional`` for each."""

    sources: dict[Name, str]
    ripples: dict[Name, RippleGiven]
    windows: list[tuple[int, int]] | None = None
    retries: RetriesGiven = msgspec.field(default_factory=RetriesGiven)


class GraphGiven(msgspec.Struct, forbid_unknown_fields=True):
    """The graph of a scenario."""

    ponds: dict[Name, PondGiven]


class FaultGiven(msgspec.Struct, forbid_unknown_fields=True):
    """Which executions of a Ripple (counted from 1) fail when their duration is over."""

    pond: Name
    ripple: Name
    executions: list[int] | None = None
    always: bool = False


class Expected(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What must come out; a part that is absent is not compared. ``null`` is the freshness of what never ran."""

    runs: dict[str, int] | None = None
    startF: dict[str, int | None] | None = None  # noqa: N815 - the file's own spelling
    endF: dict[str, int | None] | None = None  # noqa: N815
    D: dict[str, int] | None = None
    pull: dict[str, bool] | None = None
    targets: dict[str, list[int]] | None = None
    states: dict[str, str] | None = None
    resting: dict[str, list[str]] | None = None
    failures: dict[str, int] | None = None
    execs: dict[str, int] | None = None
    starts: dict[str, list[tuple[int, int]]] | None = None
    completed: dict[str, list[tuple[int, int]]] | None = None
    explain: list[tuple[int, str, list[dict[str, GateField]]]] | None = None


class Scenario(msgspec.Struct, forbid_unknown_fields=True):
    """One scenario. `order`: ``batch``, ``each`` (in the order of `prio`) or ``all``."""

    id: Name
    graph: GraphGiven
    order: str
    actions: list[list[int | str]]
    until: int
    expect: Expected
    faults: list[FaultGiven] = []
    group: str = ""
    title: str = ""
    seed: str | None = None
    note: str | None = None
    duckstring_0_6_1: str | None = None
    options: dict[str, GateField] = {}
    prio: list[str] = []

    def shapes(self) -> list[PondShape]:
        """Give the Ponds as the machine knows them; raises ScenarioError when one is impossible."""
        return [self._shape(name, given) for name, given in self.graph.ponds.items()]

    def verbs(self) -> list[tuple[int, Verb]]:
        """Give the actions with their times; raises ScenarioError for an unknown verb or a wrong argument."""
        return [_verb(f"{self.id}: actions[{place}]", action) for place, action in enumerate(self.actions)]

    def durations(self) -> dict[tuple[PondKey, str], int]:
        """Give how long each Ripple takes."""
        return {
            (PondKey(pond), name): ripple.duration
            for pond, given in self.graph.ponds.items()
            for name, ripple in given.ripples.items()
        }

    def faulty(self) -> dict[tuple[PondKey, str], FaultGiven]:
        """Give the faults by Ripple."""
        return {(PondKey(fault.pond), fault.ripple): fault for fault in self.faults}

    def _shape(self, name: str, given: PondGiven) -> PondShape:
        for source, kind in given.sources.items():
            if source not in self.graph.ponds:
                raise ScenarioError(f"{self.id}: pond {name} names an unknown source {source}")
            if kind not in ("required", "optional"):
                raise ScenarioError(f"{self.id}: source {source} of {name} is {kind!r}, not required or optional")
        try:
            return PondShape.of(
                name,
                {ripple: found.parents for ripple, found in given.ripples.items()},
                sources={source: kind == "required" for source, kind in given.sources.items()},
                calendar=Occurrences(given.windows) if given.windows is not None else None,
                retries=Retries(immediately=given.retries.immediately, on_change=given.retries.on_change),
            )
        except ValueError as error:
            raise ScenarioError(f"{self.id}: {error}") from error


def read_scenarios(path: Path) -> list[Scenario]:
    """Read a file of scenarios strictly and check that each can be run; raises ScenarioError that names the place."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}") from error
    try:
        raw = msgspec.json.decode(text, type=list[msgspec.Raw])
    except msgspec.DecodeError as error:
        raise ScenarioError(f"{path}: not a JSON list of scenarios: {error}", place=str(path)) from error
    scenarios = [_read(path, place, given) for place, given in enumerate(raw)]
    seen: set[str] = set()
    for scenario in scenarios:
        if scenario.id in seen:
            raise ScenarioError(f"{path}: scenario {scenario.id} is there twice", place=str(path))
        seen.add(scenario.id)
    return scenarios


def _read(path: Path, place: int, given: msgspec.Raw) -> Scenario:
    try:
        scenario = msgspec.json.decode(given, type=Scenario)
    except msgspec.DecodeError as error:
        raise ScenarioError(f"{path}: scenario {_called(given, place)}: {error}", place=str(path)) from error
    try:
        _check(scenario)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: scenario {error.message}", place=str(path)) from error
    return scenario


def _called(given: msgspec.Raw, place: int) -> str:
    found = msgspec.json.decode(given)
    name = found.get("id") if isinstance(found, dict) else None
    return f"{name} (number {place + 1})" if isinstance(name, str) else f"number {place + 1}"


def _check(scenario: Scenario) -> None:
    if scenario.order not in ("batch", "each", "all"):
        raise ScenarioError(f"{scenario.id}: order is {scenario.order!r}, not batch, each or all")
    if scenario.options:
        raise ScenarioError(f"{scenario.id}: unknown options {', '.join(sorted(scenario.options))}")
    scenario.shapes()
    scenario.verbs()
    durations = scenario.durations()
    for fault in scenario.faults:
        if (PondKey(fault.pond), fault.ripple) not in durations:
            raise ScenarioError(f"{scenario.id}: a fault names the unknown ripple {fault.pond}.{fault.ripple}")
        if not fault.always and fault.executions is None:
            raise ScenarioError(f"{scenario.id}: the fault of {fault.pond}.{fault.ripple} says neither when nor always")


def _verb(place: str, action: list[int | str]) -> tuple[int, Verb]:
    match action:
        case [int() as at, "read", str() as pond] if pond:
            return at, Read(pond=PondKey(pond), at=at)
        case [int() as at, "follow", str() as pond, str() as name, *rest] if pond and name and len(rest) <= 3:
            verb = _following(PondKey(pond), name, rest)
            if verb is not None:
                return at, verb
        case [int() as at, str() as name, str() as pond, *rest] if pond and len(rest) <= 1:
            verb = _event(name, PondKey(pond), rest[0] if rest else None)
            if verb is not None:
                return at, verb
    raise ScenarioError(
        f"{place}: {action} is not [time, verb, pond, argument?] with a known verb and a right argument"
    )


def _following(pond: PondKey, name: str, rest: list[int | str]) -> Verb | None:
    """Give a trigger that follows its readers: `wave`, or the limit of a Tide of that name, a zone, and `resting`."""
    limit = next((each for each in rest if isinstance(each, int)), None)
    words = [each for each in rest if isinstance(each, str) and each != "resting"]
    if len(words) > 1 or (limit is None) != (name == WAVE):
        return None
    try:
        tz = checked_zone(words[0] if words else "UTC")
    except DefinitionError:
        return None
    follow = Follow(tz=tz, is_resting="resting" in rest)
    return Wave(pond=pond, follow=follow) if limit is None else Tide(pond=pond, limit=limit, name=name, follow=follow)


def _event(name: str, pond: PondKey, argument: int | str | None) -> Verb | None:
    plain: dict[str, type[Tap | Pulse | Calm | Clear | Wake | Force | Kill]] = {
        "tap": Tap,
        "pulse": Pulse,
        "calm": Calm,
        "clear": Clear,
        "wake": Wake,
        "force": Force,
        "kill": Kill,
    }
    match name, argument:
        case "tide", int():
            return Tide(pond=pond, limit=argument)
        case "wave", None:
            return Wave(pond=pond)
        case "wave", "eager" | "just_in_time":
            return Wave(pond=pond, pacing=Pacing(argument))
        case "sleep", None | "upstream":
            return Sleep(pond=pond, upstream=argument is not None)
        case _, None if name in plain:
            return plain[name](pond=pond)
    return None

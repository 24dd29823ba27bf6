"""Every Pond at one moment: is it fresh, is it asked for, does it run, what happens to it next."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec

from pondage.define.pond.calendar import Calendar
from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import split_key
from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.state import PondState, decode_state
from pondage.ledger.database.driver import Transaction, Value
from pondage.ledger.database.mapping import of_row
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.views.pond_names import PondNames, pond_names
from pondage.views.reactors.reactors import ReactorView, reactor_list
from pondage.views.runs.active import ActiveRunView, RippleView, active_runs
from pondage.views.runs.processes import ProcessView, alive, heard_of
from pondage.views.runs.runs import FailureView, read_failure
from pondage.views.words import crash_text, list_text

State = Literal["idle", "queued", "running", "failed", "blocked", "killed"]


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a Pond and not answered yet: a pull, and freshnesses that must be reached."""

    pull: bool
    targets: tuple[int, ...]

    @property
    def is_any(self) -> bool:
        """Answer whether anything is asked at all."""
        return self.pull or bool(self.targets)


class AwakeView(msgspec.Struct, frozen=True, kw_only=True):
    """A trigger that follows its readers: awake `until` then if nobody reads, or at rest until then.

    It wakes for a reader who is `expected` at that time; null where it rests until somebody reads.
    """

    is_awake: bool
    until: int | None
    expected: int | None
    tz: str


class TriggerView(msgspec.Struct, frozen=True, kw_only=True):
    """A standing trigger: what asks again and again, until `pondage calm`.

    One that is paused asks for nothing until it is resumed: `paused_by` says what paused it. `awake` is of one that
    follows its readers; at rest it asks for nothing, too.
    """

    kind: Literal["wave", "tide", "schedule"]
    name: str
    limit_us: int | None = None
    pacing: str | None = None
    cron: str | None = None
    tz: str | None = None
    next_at: int | None = None
    paused_by: Literal["pause", "sleep", "kill"] | None = None
    awake: AwakeView | None = None


class LastRunView(msgspec.Struct, frozen=True, kw_only=True):
    """The newest Run of a Pond that is over."""

    id: str
    number: int
    state: str
    freshness: int
    started_at: int
    ended_at: int
    error: FailureView | None


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to the Pond next, in words; `at` when it is a moment that is known."""

    text: str
    at: int | None = None


class PondView(msgspec.Struct, frozen=True, kw_only=True):
    """One Pond. staleness = now + delay - freshness; all three are null until its first Run completed.

    `fused` names its Ripples that have no table, each with the one that it is part of. `borrowed_from` is the
    environment whose Runs it shows, null for a Pond of the environment's own.
    """

    key: str
    name: str
    version: str
    project: str
    kind: Literal["inlet", "pond", "outlet"]
    state: State
    freshness: int | None
    delay: int | None
    staleness: int | None
    demand: Demand
    triggers: tuple[TriggerView, ...]
    sources: tuple[str, ...]
    active: tuple[ActiveRunView, ...]
    runs: int
    fused: dict[str, str]
    last_run: LastRunView | None
    halted: str | None
    next: Next
    borrowed_from: str | None = None


class StatusView(msgspec.Struct, frozen=True, kw_only=True):
    """An environment at the moment `at`; `has_more` when there are Ponds behind those that were asked for."""

    environment: str
    at: int
    ponds: tuple[PondView, ...]
    processes: tuple[ProcessView, ...]
    has_more: bool = False
    reactors: tuple[ReactorView, ...] = ()

    def pond(self, key: str) -> PondView | None:
        """Answer the Pond with this key, or None when it is not deployed."""
        return next((each for each in self.ponds if each.key == key), None)


# Everything else is asked about these alone: a page of many Ponds costs what it shows. (With EXISTS in the place of a
# LIMIT, PostgreSQL would look at all Ponds first.)
_SHOWN = """(SELECT * FROM ponds WHERE environment = :environment AND removed_at IS NULL {only}
              ORDER BY name, major {limit})"""

# No join below, and the order of the index: else PostgreSQL may think that any scan soon meets a reader.
_PONDS = """
SELECT p.id AS id, p.name AS name, p.name || '@' || p.major AS key, p.project AS project, p.state AS state,
       d.body AS definition, a.halted AS halted,
       (SELECT 1 FROM pond_sources s
        WHERE s.environment = p.environment AND s.source_name = p.name AND s.source_major = p.major
              AND (SELECT k.removed_at FROM ponds k WHERE k.id = s.pond) IS NULL
        ORDER BY s.pond LIMIT 1) AS is_read
FROM {shown} p JOIN definitions d ON d.id = p.definition JOIN actors a ON a.id = p.actor
ORDER BY p.name, p.major"""

# One probe of the index over (pond, number) for each Pond: only its few open Runs are passed over.
_LAST = """
SELECT r.pond AS pond, r.public_id AS id, r.number AS number, r.state AS state, r.freshness AS freshness,
       r.started_at AS started_at, coalesce(r.ended_at, r.started_at) AS ended_at, r.error AS error
FROM {shown} p JOIN runs r ON r.id = (SELECT n.id FROM runs n WHERE n.pond = p.id AND n.ended_at IS NOT NULL
                                      ORDER BY n.number DESC LIMIT 1)"""

_SCHEDULES = """
SELECT s.pond AS pond, 'schedule' AS kind, s.name AS name, s.cron AS cron, s.tz AS tz, s.next_at AS next_at
FROM {shown} p JOIN schedules s ON s.pond = p.id
ORDER BY s.pond, s.name"""


class _PondRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    key: str
    project: str
    state: str
    definition: PondDefinition
    halted: str | None
    is_read: bool | None


class _LastRow(msgspec.Struct, frozen=True, kw_only=True):
    pond: int
    id: str
    number: int
    state: str
    freshness: int
    started_at: int
    ended_at: int
    error: str | None


class _ScheduleRow(TriggerView, frozen=True, kw_only=True):
    pond: int


def status(
    tx: Transaction, ledger: Ledger, environment: str, *, keys: Collection[str] | None = None, most: int | None = None
) -> StatusView:
    """Answer the deployed Ponds by name: all, those with these keys, or the first ones, at most so many.

    An environment that nobody deployed to has none.
    """
    processes = alive(tx, ledger)
    found = actors.environment(tx, environment)
    if found is None:
        return StatusView(environment=environment, at=tx.now, ponds=(), processes=processes)
    shown, values = _shown(found, keys, most)
    rows = tx.rows(_PONDS.format(shown=shown), _PondRow, **values)
    has_more = most is not None and len(rows) > most
    rows = [row for row in rows[:most] if keys is None or row.key in keys]
    states = {row.id: decode_state(row.state) for row in rows}
    active = active_runs(tx, found, states)
    named = [*(row.key for row in rows), *(source for state in states.values() for source in state.sources)]
    called = pond_names(tx, found, named)
    last = {row.pond: row for row in tx.rows(_LAST.format(shown=shown), _LastRow, **values)}
    schedules: dict[int, list[TriggerView]] = {}
    for each in tx.rows(_SCHEDULES.format(shown=shown), _ScheduleRow, **values):
        schedules.setdefault(each.pond, []).append(of_row(TriggerView, each))
    return StatusView(
        environment=environment,
        at=tx.now,
        processes=processes,
        has_more=has_more,
        reactors=tuple(reactor_list(tx, environment)) if keys is None else (),
        ponds=tuple(
            _pond(
                row,
                states[row.id],
                active=active.get(row.id, ()),
                last=last.get(row.id),
                triggers=_triggers(states[row.id], schedules.get(row.id, [])),
                now=tx.now,
                has_worker=bool(heard_of(processes)),
                called=called,
            )
            for row in rows
        ),
    )


def _shown(environment: int, keys: Collection[str] | None, most: int | None) -> tuple[str, dict[str, Value]]:
    """Answer which Ponds are shown, as SQL, and its values. One more than `most`: then there are more."""
    names = sorted({key.partition("@")[0] for key in keys or ()})
    marks = {f"name{position}": name for position, name in enumerate(names)}
    only = "" if keys is None else f"AND name IN ({', '.join(f':{mark}' for mark in marks) or 'NULL'})"
    values: dict[str, Value] = {"environment": environment, **marks}
    if most is not None:
        values["most"] = most + 1
    return _SHOWN.format(only=only, limit="" if most is None else "LIMIT :most"), values


def _pond(
    row: _PondRow,
    state: PondState,
    *,
    active: tuple[ActiveRunView, ...],
    last: _LastRow | None,
    triggers: tuple[TriggerView, ...],
    now: int,
    has_worker: bool,
    called: PondNames,
) -> PondView:
    has_run = state.end_f >= 0
    demand = Demand(pull=state.has_pull, targets=tuple(state.targets))
    definition, word = row.definition, pond_state(state, active, demand)
    return of_row(
        PondView,
        row,
        version=definition.version,
        kind="inlet" if not definition.sources else "pond" if row.is_read else "outlet",
        state=word,
        freshness=state.end_f if has_run else None,
        delay=state.end_delay if has_run else None,
        staleness=max(0, now + state.end_delay - state.end_f) if has_run else None,
        demand=demand,
        triggers=triggers,
        sources=tuple(state.sources),
        active=active,
        runs=state.number,
        fused={member.name: ripple.name for ripple in definition.ripples for member in ripple.members},
        last_run=None if last is None else of_row(LastRunView, last, error=read_failure(last.error)),
        next=_next(
            state, definition, word, active, triggers, now=now, halted=row.halted, has_worker=has_worker, called=called
        ),
        borrowed_from=definition.borrowed or None,
    )


def pond_state(state: PondState, active: tuple[ActiveRunView, ...], demand: Demand) -> State:
    """Answer a Pond in one word. `queued`: it is asked for or was started, and nobody executes it at the moment."""
    if any(run.is_executing for run in active):
        return "running"
    if state.is_killed:
        return "killed"
    if state.is_failed:
        return "failed"
    if state.is_blocked:
        return "blocked"
    return "queued" if active or demand.is_any else "idle"


def _triggers(state: PondState, schedules: list[TriggerView]) -> tuple[TriggerView, ...]:
    found: list[TriggerView] = []
    if state.wave is not None:
        found.append(TriggerView(kind="wave", name="wave", pacing=str(state.wave)))
    # The timer of a Pond is that of its Tide when it has one.
    due = state.timer if state.timer != NONE else None
    found += [
        TriggerView(kind="tide", name=name, limit_us=limit, next_at=due) for name, limit in sorted(state.tides.items())
    ]
    return tuple(_paused(_awake(each, state), state) for each in [*found, *schedules])


def _awake(trigger: TriggerView, state: PondState) -> TriggerView:
    known = state.following.get(trigger.name)
    if known is None:
        return trigger
    awake = AwakeView(
        is_awake=not known.is_resting,
        until=None if known.until == NONE else known.until,
        expected=None if known.expected == NONE else known.expected,
        tz=known.tz,
    )
    next_at = awake.until if known.is_resting else trigger.next_at
    return msgspec.structs.replace(trigger, awake=awake, next_at=next_at)


def _paused(trigger: TriggerView, state: PondState) -> TriggerView:
    by = state.paused.get(trigger.name)
    return trigger if by is None else msgspec.structs.replace(trigger, paused_by=by.value, next_at=None)


def _next(
    state: PondState,
    definition: PondDefinition,
    word: State,
    active: tuple[ActiveRunView, ...],
    triggers: tuple[TriggerView, ...],
    *,
    now: int,
    halted: str | None,
    has_worker: bool,
    called: PondNames,
) -> Next:
    name = called(state.key)
    if halted is not None:
        return Next(text=f"halted: {halted}; then: pondage clear {name}")
    if definition.borrowed and word in ("idle", "queued"):
        return Next(text=f"from {definition.borrowed}" + (", which has nothing newer" if word == "queued" else ""))
    if state.older and not active and word in ("idle", "queued"):
        older = list_text(key.partition("@")[0] for key in state.older)
        return Next(text=f"waits for {older} to agree with its other Sources")
    match word:
        case "running":
            names = [ripple.name for run in active for ripple in run.ripples if ripple.state == "running"]
            return Next(text=f"runs {list_text(dict.fromkeys(names))}")
        case "killed":
            return Next(text=f"stays killed until: pondage clear {name}")
        case "failed":
            return Next(text=f"look: pondage logs {name}; then: pondage clear {name}")
        case "blocked":
            return Next(text=f"blocked by {list_text(_blocking(state, definition, called))}: pondage why {name}")
        case "queued":
            return _next_queued(state, definition, active, now=now, has_worker=has_worker, called=called)
        case "idle":
            times = [trigger.next_at for trigger in triggers if trigger.next_at is not None]
            if times:
                at = min(times)
                return Next(text="due by its trigger" if at > now else "was due by its trigger", at=at)
            return Next(text="its triggers are paused" if triggers else "nobody asks for it")


def _next_queued(
    state: PondState,
    definition: PondDefinition,
    active: tuple[ActiveRunView, ...],
    *,
    now: int,
    has_worker: bool,
    called: PondNames,
) -> Next:
    if active:
        return _next_started([ripple for run in active for ripple in run.ripples], now=now, has_worker=has_worker)
    gating = {source.pond for source in definition.sources if source.required}
    behind = [key for key, source in state.sources.items() if source.end_f < state.goal]
    behind = [key for key in behind if not gating or split_key(key)[0] in gating]
    if behind:
        return Next(text=f"waits for {list_text([called(key) for key in behind])}")
    if definition.windows:
        calendar = Calendar(definition.windows)
        occurrence = calendar.occurrence(now)
        # Between windows, or when the data of this one was taken already.
        if occurrence is None or occurrence[1] < state.goal:
            return Next(text="its next window opens", at=calendar.next_start(now))
    return Next(text="starts at the next step" if has_worker else "no process runs: pondage dev")


def _next_started(ripples: list[RippleView], *, now: int, has_worker: bool) -> Next:
    """Answer what a Run waits for that was started and that nobody executes."""
    waiting = [(each.available_at, each) for each in ripples if each.available_at is not None]
    for at, each in sorted(waiting, key=lambda one: one[0]):
        is_again = bool(each.epoch) or each.reason == "retry"
        text = "is tried again" if is_again else "starts"
        if each.crashes or each.is_isolated:
            text = f"{each.name} is {crash_text(each.crashes, each.crash_budget, is_isolated=each.is_isolated)}"
            if at <= now and has_worker:
                return Next(text=text)
        if at > now:
            return Next(text=text, at=at)
    return Next(text="waits for a free slot" if has_worker else "no process runs: pondage dev")


def _blocking(state: PondState, definition: PondDefinition, called: PondNames) -> list[str]:
    required = {source.pond for source in definition.sources if source.required}
    names = [
        called(key)
        for key, source in state.sources.items()
        if (source.is_blocked or not source.is_deployed) and split_key(key)[0] in required
    ]
    return names or ["a Source"]

"""One step in progress: loaded rows, what changed, effects, and the queues of what must be looked at again."""

from __future__ import annotations

import heapq
import re
from typing import TypeVar

from pondage.kernel.control.effects import Effect
from pondage.kernel.control.events import Restore
from pondage.kernel.control.index import Index
from pondage.kernel.control.rows import Rows
from pondage.kernel.control.shape import PlanComponent
from pondage.kernel.control.state import (
    ComponentRow,
    EdgeRow,
    ElementsRow,
    IteratorRow,
    JobState,
    LevelRow,
    PortRow,
    Row,
    RunRow,
    ScopeRow,
    State,
    SubRow,
    VersionRow,
    ViewRow,
)

_R = TypeVar("_R", bound=Row)
_INSTANCE = re.compile(r"(.+?)((?:\[#\d+\])*)\Z", re.DOTALL)

Rank = tuple[int, ...]


class Level:
    """One instance of a plan, with its names. `rank` orders levels: the job first, then by iterator and number."""

    def __init__(self, key: str, row: LevelRow, index: Index, rank: Rank) -> None:
        self.key = key
        self.row = row
        self.index = index
        self.plan = index.plan
        self.rank = rank
        self.suffix = "".join(f"[#{number}]" for number in row.numbers)

    @property
    def is_job(self) -> bool:
        """Is it the job itself?"""
        return not self.row.path

    @property
    def name(self) -> str:
        """Give the name of the iteration: `it[#2]`, and inside another one `it[#2][#1]`, its own number first."""
        own, outer = self.row.numbers[-1], self.row.numbers[:-1]
        return f"{self.row.path[-1]}[#{own}]" + "".join(f"[#{number}]" for number in outer)

    def instance(self, at: int) -> str:
        """Give the name of a component in this level."""
        return self.plan.components[at].name + self.suffix

    def sub_name(self, number: int) -> str:
        """Give the name of a sub-job in this level."""
        sub = self.plan.subs[number]
        if self.is_job:
            return sub.name
        return self.name if number == 0 and not sub.is_epilogue else f"{self.name}/{sub.name}"

    def scope_key(self, scope: int) -> str:
        """Give the name of the scope that events are ordered by."""
        return f"{self.key}/{scope}"


class Work:
    """Everything that one step needs. Queues hold (rank of the level, place) so that they are worked off in order."""

    def __init__(self, rows: Rows, index: Index, now: int) -> None:
        self.rows = rows
        self.index = index
        self.now = now
        self.effects: list[Effect] = []
        self.changed: dict[tuple[str, str], None] = {}
        self.is_silent = False
        self.visits = 0
        self._loaded: dict[tuple[str, str], Row | None] = {}
        self._levels: dict[str, Level] = {}
        self._queues: dict[str, list[tuple[Rank, int, str]]] = {}
        self._queued: set[tuple[str, str, int]] = set()
        self._paths: dict[str, tuple[str, ...]] | None = None
        self._woken: dict[str, dict[str, None]] = {}
        self.restore: Restore | None = None
        self.opened = 0
        """How many iterations this step has opened."""
        self.unfolding: set[str] = set()
        self.is_panicking = False
        self.unsettled_calls: list[tuple[int, State]] = []

    # ------------------------------------------------------------------------------------------------------ rows

    def find(self, table: str, key: str, kind: type[_R]) -> _R | None:
        """Give a row, or None."""
        place = (table, key)
        if place not in self._loaded:
            self._loaded[place] = self.rows.get(table, key)
        row = self._loaded[place]
        assert row is None or isinstance(row, kind)
        return row

    def keep(self, table: str, key: str, row: _R) -> _R:
        """Keep a new row, or say that a row has changed."""
        place = (table, key)
        if self._loaded.get(place) is not row:
            self.rows.put(table, key, row)
            self._loaded[place] = row
        self.changed[place] = None
        return row

    @property
    def run(self) -> RunRow:
        """Give the row of the run."""
        return self.find("run", "", RunRow) or self.keep("run", "", RunRow())

    def touch_run(self) -> RunRow:
        """Give the row of the run in order to change it."""
        return self.keep("run", "", self.run)

    @property
    def is_over(self) -> bool:
        """Has the run ended (or not begun)?"""
        return self.run.state is not JobState.RUNNING

    def component(self, level: Level, at: int) -> ComponentRow:
        """Give the row of a component to read; it may not be stored yet."""
        key = level.instance(at)
        row = self.find("component", key, ComponentRow)
        if row is None:
            row = self._new_component(level, at)
            self._loaded["component", key] = row
        return row

    def touch(self, level: Level, at: int) -> ComponentRow:
        """Give the row of a component in order to change it."""
        row = self.component(level, at)
        key = level.instance(at)
        if ("component", key) not in self.changed:
            self.rows.put("component", key, row)
            self.changed["component", key] = None
        return row

    def _new_component(self, level: Level, at: int) -> ComponentRow:
        shape = level.plan.components[at]
        ports = {}
        for port in shape.ports:
            if port.is_outside:
                ports[port.name] = PortRow(waiting=0, arrived=1)
            else:
                ports[port.name] = PortRow(waiting=len(level.index.fed_by[at, port.name]))
        return ComponentRow(undecided=len(level.index.inbound.get(at, ())), ports=ports)

    def edge(self, level: Level, number: int) -> EdgeRow:
        """Give the row of a control edge."""
        return self.find("edge", f"{level.key}/{number}", EdgeRow) or EdgeRow()

    def sub(self, level: Level, number: int) -> SubRow:
        """Give the row of a sub-job to read; it may not be stored yet."""
        key = f"{level.key}/{number}"
        row = self.find("sub", key, SubRow)
        if row is None:
            sub = level.plan.subs[number]
            children = sum(len(level.plan.scopes[scope].subs) for scope in level.index.branches.get(number, ()))
            row = SubRow(open=len(sub.members) + children)
            self._loaded["sub", key] = row
        return row

    def touch_sub(self, level: Level, number: int) -> SubRow:
        """Give the row of a sub-job in order to change it."""
        key = f"{level.key}/{number}"
        row = self.sub(level, number)
        if ("sub", key) not in self.changed:
            self.rows.put("sub", key, row)
            self.changed["sub", key] = None
        return row

    def scope(self, level: Level, number: int) -> ScopeRow:
        """Give the row of a scope in order to change it."""
        key = f"{level.key}/{number}"
        row = self.find("scope", key, ScopeRow)
        if row is None:
            row = ScopeRow(open=len(level.plan.scopes[number].subs))
        return self.keep("scope", key, row)

    def iterator(self, level: Level, at: int) -> IteratorRow | None:
        """Give the row of an iterator that dispatches."""
        return self.find("iterator", level.instance(at), IteratorRow)

    def elements(self, level: Level, at: int) -> list[object]:
        """Give the elements of an iterator."""
        row = self.find("elements", level.instance(at), ElementsRow)
        return row.items if row else []

    def view(self, key: str) -> ViewRow:
        """Give a view; the empty name is the empty view."""
        return (self.find("view", key, ViewRow) if key else None) or ViewRow()

    def version(self, key: str) -> VersionRow:
        """Give a version that a view names."""
        row = self.find("version", key, VersionRow)
        assert row is not None, f"a view names the version {key}, which is not stored"
        return row

    # ---------------------------------------------------------------------------------------------------- levels

    def level(self, key: str) -> Level | None:
        """Give a level by its key, or None when it does not exist."""
        if key not in self._levels:
            row = self.find("level", key, LevelRow)
            if row is None:
                return None
            self._levels[key] = self._opened(key, row)
        return self._levels[key]

    def open_level(self, key: str, row: LevelRow) -> Level:
        """Keep a new level."""
        self.keep("level", key, row)
        self._levels[key] = self._opened(key, row)
        return self._levels[key]

    def _opened(self, key: str, row: LevelRow) -> Level:
        index, rank = self.index, []
        for name, number in zip(row.path, row.numbers, strict=True):
            rank += [index.place[name], number]
            index = index.bodies[name]
        return Level(key, row, index, tuple(rank))

    def parent(self, level: Level) -> tuple[Level, int]:
        """Give the level around an iteration, and the place of the iterator in it."""
        key = _level_key(level.row.path[:-1], level.row.numbers[:-1])
        around = self.level(key)
        assert around is not None
        return around, around.index.place[level.row.path[-1]]

    def locate(self, instance: str) -> tuple[Level, int] | None:
        """Find the level and place of an instance by its name, or None."""
        match = _INSTANCE.match(instance)
        if match is None:
            return None
        if self._paths is None:
            self._paths = dict(_paths(self.index))
        path = self._paths.get(match[1])
        numbers = tuple(int(number) for number in re.findall(r"\d+", match[2]))
        if path is None or len(path) != len(numbers):
            return None
        level = self.level(_level_key(path, numbers))
        return None if level is None else (level, level.index.place[match[1]])

    # ---------------------------------------------------------------------------------------------------- queues

    def queue(self, phase: str, level: Level, at: int) -> None:
        """Have something looked at in a phase."""
        if (phase, level.key, at) not in self._queued:
            self._queued.add((phase, level.key, at))
            heapq.heappush(self._queues.setdefault(phase, []), ((*level.rank, -1), at, level.key))

    def queue_ready(self, level: Level, at: int) -> None:
        """Have a component looked at when starts are decided: by sub-job, then topologically."""
        shape = level.plan.components[at]
        if ("ready", level.key, at) not in self._queued:
            self._queued.add(("ready", level.key, at))
            rank = (*level.rank, -1, shape.sub)
            heapq.heappush(self._queues.setdefault("ready", []), (rank, at, level.key))

    def take(self, phase: str) -> tuple[Level, int] | None:
        """Give what stands first in a phase, or None."""
        queue = self._queues.get(phase)
        if not queue:
            return None
        self.visits += 1
        _, at, key = heapq.heappop(queue)
        self._queued.discard((phase, key, at))
        level = self.level(key)
        assert level is not None
        return level, at

    def taken(self, phase: str) -> list[tuple[Level, int]]:
        """Give everything that stands in a phase now, in order."""
        found = []
        while (one := self.take(phase)) is not None:
            found.append(one)
        return found

    def wake(self, *, instance: str, key: str) -> None:
        """Have an iteration looked at at the next turn of its iterator."""
        self._woken.setdefault(instance, {})[key] = None

    def woken(self, instance: str) -> list[str]:
        """Give the iterations of an iterator that must be looked at, by number."""
        return sorted(self._woken.pop(instance, ()), key=lambda key: int(key.rpartition("#")[2]))

    def drop_queues(self) -> None:
        """Forget everything: the run is over."""
        self._queues.clear()
        self._queued.clear()

    # --------------------------------------------------------------------------------------------------- effects

    def log(self, effect: Effect) -> None:
        """Hand an effect to the host, unless something is only being restored."""
        if not self.is_silent:
            self.effects.append(effect)

    def shape(self, level: Level, at: int) -> PlanComponent:
        """Give the plan of a component."""
        return level.plan.components[at]

    def state(self, level: Level, at: int) -> State:
        """Give the state of a component."""
        return self.component(level, at).state

    def scope_of(self, level: Level, at: int) -> str:
        """Give the key of the scope that a component's events belong to."""
        return level.scope_key(level.plan.components[at].scope)


def _level_key(path: tuple[str, ...], numbers: tuple[int, ...]) -> str:
    if not path:
        return ""
    outer = "".join(f"[#{number}]" for number in numbers[:-1])
    return f"{path[-1]}{outer}#{numbers[-1]}"


def _paths(index: Index, path: tuple[str, ...] = ()) -> list[tuple[str, tuple[str, ...]]]:
    found = [(name, path) for name in index.place]
    for name, body in index.bodies.items():
        found += _paths(body, (*path, name))
    return found

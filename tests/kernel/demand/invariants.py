"""What must hold after every step, whatever happened: section 5 of the rules, and the truth of every cached number."""

from collections.abc import Sequence

import msgspec

from pondage.kernel.demand import NEVER, NONE, Effect, MemoryPonds, PondKey
from pondage.kernel.demand.effects import ChunkEnded, RunDropped, RunFinished, StartRipple, StartRun
from pondage.kernel.demand.goal import aim, count_behind, source_f
from pondage.kernel.demand.running import _can_start, _startable
from pondage.kernel.demand.state import PondState
from pondage.kernel.demand.work import Pond


class Watcher:
    """Checks each step of a simulation; `violations` stays empty as long as the machine keeps its promises."""

    def __init__(self) -> None:
        self.end_f: dict[PondKey, int] = {}
        self.completed: dict[PondKey, set[int]] = {}
        self.open: dict[tuple[PondKey, int], StartRun] = {}
        self.violations: list[str] = []
        self.ended_chunks: list[tuple[PondKey, str]] = []

    def __call__(self, ponds: MemoryPonds, now: int, effects: Sequence[Effect]) -> None:
        for effect in effects:
            self._check_effect(ponds, now, effect)
        for key in [key for key in self.end_f if key not in ponds.states]:  # removed: its past is over
            del self.end_f[key]
            self.completed.pop(key, None)
        for key, state in ponds.states.items():
            problems = [*self._pond(ponds, key), *_unstarted(Pond(state, ponds.shapes[key]), now)]
            self.violations += [f"{now} {key}: {problem}" for problem in problems]
            self.end_f[key] = state.end_f

    def _check_effect(self, ponds: MemoryPonds, now: int, effect: Effect) -> None:
        key = effect.pond
        match effect:
            case StartRun():
                self.open[key, effect.number] = effect
                shape = ponds.shapes[key]
                # What a removed Source had published is still there to be drained.
                published = [ponds.states[source].end_f for source in shape.required if source in ponds.states]
                if published and effect.rollback is None and effect.chunk is None and effect.freshness > min(published):
                    self.violations.append(f"{now} {key}: started {effect.freshness} above its sources {published}")
            case RunFinished():
                start = self.open.pop((key, effect.number))
                for number in effect.subsumed:
                    del self.open[key, number]
                known = self.completed.setdefault(key, set())
                is_repeated = start.is_forced or start.rollback is not None or start.chunk is not None
                if effect.freshness in known and not is_repeated:
                    self.violations.append(f"{now} {key}: completed {effect.freshness} a second time")
                if effect.is_fresher == (effect.freshness in known):
                    self.violations.append(f"{now} {key}: is_fresher is wrong at {effect.freshness}")
                known.add(effect.freshness)
            case RunDropped():
                for number in effect.numbers:
                    del self.open[key, number]
            case ChunkEnded():
                self.ended_chunks.append((key, effect.chunk))
            case StartRipple():
                if (key, effect.number) not in self.open:
                    self.violations.append(f"{now} {key}: started {effect.ripple} for run {effect.number}, not active")

    def _pond(self, ponds: MemoryPonds, key: PondKey) -> list[str]:
        state, shape = ponds.states[key], ponds.shapes[key]
        found = []
        if state.end_f < self.end_f.get(key, NEVER):
            found.append("end_f fell")
        if state.end_f > state.start_f:
            found.append("end_f > start_f")
        if any(target <= state.end_f for target in state.targets):
            found.append(f"met target kept: {state.targets} at {state.end_f}")
        if state.targets != sorted(set(state.targets)):
            found.append("targets out of order")
        found += _chunk(state)
        freshnesses = [run.freshness for run in state.active]
        if freshnesses != sorted(set(freshnesses)) or any(run.left <= 0 for run in state.active):
            found.append(f"active runs {state.active}")
        found += [
            f"run {run.freshness} waits for {run.left} ripples"
            for run in state.active
            if run.left != sum(ripple.end_f < run.freshness for ripple in state.ripples.values())
        ]
        chunk = set() if state.chunk is None else {state.chunk.number}
        if {number for pond, number in self.open if pond == key} != {run.number for run in state.active} | chunk:
            found.append("effects and active runs disagree")
        found += _caches(Pond(state, shape))
        for source, known in state.sources.items():
            actual = ponds.states.get(source)
            if actual is None:
                if known.is_deployed or not known.is_blocked:
                    found.append(f"{source} is not deployed")
            elif (known.end_f, known.delay, known.is_blocked, known.is_deployed) != (
                actual.end_f,
                actual.end_delay,
                actual.is_blocked,
                True,
            ):
                found.append(f"heard something else of {source} than it is")
        return found


def _chunk(state: PondState) -> list[str]:
    """A chunk runs alone, at what is published, and each of its Ripples is done, or busy, or waits for one that is."""
    chunk, busy = state.chunk, {name for name, ripple in state.ripples.items() if ripple.is_busy}
    if chunk is None:
        return []
    found = [f"runs {state.active} beside a chunk"] if state.active else []
    if not chunk.left or not busy or not busy <= set(chunk.left):
        found.append(f"a chunk waits for {chunk.left} while {busy} is busy")
    if chunk.freshness != state.end_f or chunk.chunk in state.chunks or state.is_killed:
        found.append(f"{chunk} at {state.end_f}")
    return found


def _caches(pond: Pond) -> list[str]:
    state, shape = pond.state, pond.shape
    found = []
    if state.busy != sum(ripple.is_busy for ripple in state.ripples.values()):
        found.append("busy is wrong")
    if state.busy_roots != sum(state.ripples[name].is_busy for name in shape.roots):
        found.append("busy_roots is wrong")
    blocked = sum(state.sources[key].is_blocked for key in shape.required)
    if state.blocked_sources != blocked:
        found.append("blocked_sources is wrong")
    if state.is_blocked != (state.is_failed or state.is_killed or blocked > 0):
        found.append("is_blocked is wrong")
    if state.has_told and any(source.told < source.taken for source in state.sources.values()):
        found.append("has_told is wrong")
    cached = state.goal, state.behind
    state.goal = NONE
    aim(pond)
    count_behind(pond)
    if cached != (state.goal, state.behind):
        found.append(f"goal and behind are {cached}, should be {state.goal}, {state.behind}")
    return found


def _unstarted(pond: Pond, now: int) -> list[str]:
    """Nothing that can start is left when a step ends."""
    state = pond.state
    found = []
    if state.is_woken and not state.is_for_chunk:
        found.append("a Wake was held")
    can_start = _can_start(pond)
    if can_start and state.goal != NONE and source_f(pond, now) >= state.goal:
        found.append(f"a run at {state.goal} was not started")
    if state.chunks and not (state.chunk or state.active or state.busy or state.is_comparing):
        found.append(f"chunks {state.chunks} were not started")
    for name, ripple in state.ripples.items():
        if not ripple.is_busy and _startable(pond, name, msgspec.structs.replace(ripple)) != NONE:
            found.append(f"ripple {name} was not started")
    return found

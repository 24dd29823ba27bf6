"""The rules of demand a second time, word for word as the text says them: no cache, and every Pond is looked at.

Slow, and independent of the machine: both must do the same. Where the text would lose demand a comment says what holds.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from pondage.kernel.demand import NEVER, NONE, Effect, PondKey, PondShape, PondState
from pondage.kernel.demand.effects import Reason, RunFinished, StartRipple
from pondage.kernel.demand.events import (
    Backfill,
    Calm,
    Clear,
    Done,
    Follow,
    Force,
    Kill,
    Pulse,
    Read,
    Report,
    Sleep,
    Tap,
    Tide,
    Verb,
    Wake,
    Wave,
    Withdraw,
)
from pondage.kernel.demand.gates import Gate
from pondage.kernel.demand.state import Following, Pacing
from tests.kernel.demand.rules_readers import QUARTER, Follower, hold_of
from tests.kernel.demand.rules_state import Chunk, Pond, Ripple, Run, Source


class RulesHost:
    """The rules as a host of simulations."""

    def __init__(self) -> None:
        self._ponds: dict[PondKey, Pond] = {}
        self._sent: deque[Callable[[], None]] = deque()
        self._facts: deque[Callable[[], None]] = deque()
        self._effects: list[Effect] = []
        self._now = 0

    def deploy(self, shapes: Sequence[PondShape], now: int) -> None:
        del now
        for shape in shapes:
            ripples = {
                name: Ripple(parents, dict.fromkeys(parents, NEVER), dict.fromkeys(parents, NONE))
                for name, parents in shape.ripples.items()
            }
            self._ponds[shape.key] = Pond(shape, ripples, {key: Source(required) for key, required in shape.sources})

    def settle(self, now: int, reports: Sequence[Report], actions: Sequence[Verb]) -> Sequence[Effect]:
        self._now, self._effects = now, []
        for report in sorted(reports, key=lambda each: (each.pond, each.ripple)):
            self._report(self._ponds[report.pond], report)
        for key in dict.fromkeys(report.pond for report in reports):
            self._finish(self._ponds[key])
        for verb in actions:
            if verb.pond in self._ponds:
                self._verb(self._ponds[verb.pond], verb)
        for pond in self._ponds.values():
            for name, follower in pond.followers.items():
                if follower.look_at is not None and follower.look_at <= now:
                    self._look(pond, name)
        self._settle()
        while due := [pond for pond in self._ponds.values() if pond.is_due(self._now)]:
            for pond in due:
                pond.skip = 0
                self._target(pond, now)
            self._settle()
        for pond in self._ponds.values():
            if pond.chunks and not pond.chunk and not pond.active and not self._is_busy(pond):
                self._start_chunk(pond)
        return self._effects

    def next_timer(self) -> int | None:
        found = []
        for pond in self._ponds.values():
            due, goal, calendar = pond.due_at, pond.goal, pond.shape.calendar
            if due is not None and pond.has_room:
                found.append(max(due, self._now + 1))
            found += [each.look_at for each in pond.followers.values() if each.look_at is not None]
            if not pond.sources and goal is not None and not pond.is_killed and pond.source_f(self._now) < goal:
                opens = calendar.next_start(self._now) if calendar else max(goal, self._now + 1)
                found += [opens] if opens is not None else []
        return min(found, default=None)

    def states(self) -> Mapping[PondKey, PondState]:
        return {
            key: PondState(
                key=key, start_f=pond.start_f, end_f=pond.end_f, delay=pond.delay, want=pond.want,
                targets=pond.targets, is_failed=pond.is_failed, is_killed=pond.is_killed, is_blocked=pond.is_blocked,
                failures=pond.failures,
                following={
                    name: Following(tz=each.tz, sure=each.sure, is_resting=each.is_resting)
                    for name, each in pond.followers.items()
                },
            )
            for key, pond in self._ponds.items()
        }  # fmt: skip

    def explain(self, key: PondKey, now: int) -> list[Gate]:
        raise NotImplementedError("explanations have scenarios of their own")

    def close(self) -> None:
        pass

    def _settle(self) -> None:
        self._deliver()
        while any(self._evaluate(pond) for pond in self._ponds.values()):
            self._deliver()

    def _deliver(self) -> None:
        while self._facts or self._sent:
            (self._facts or self._sent).popleft()()

    def _tell_sinks(self, pond: Pond, fact: Callable[[Pond, Source], None]) -> None:
        for sink in self._ponds.values():
            if pond.shape.key in sink.sources:
                self._facts.append(lambda sink=sink: fact(sink, sink.sources[pond.shape.key]))  # type: ignore[misc]

    def _send(self, key: PondKey, handler: Callable[[Pond, int], None], f: int) -> None:
        self._sent.append(lambda: handler(self._ponds[key], f))

    def _tap(self, pond: Pond) -> None:
        if not pond.is_blocked:
            for name in pond.shape.leaves:
                self._want(pond, name, max(pond.ripples[name].start_f, pond.end_f))

    def _on_want(self, pond: Pond, f: int) -> None:
        if not pond.is_blocked:
            for name in pond.shape.leaves:
                self._want(pond, name, f)

    def _want(self, pond: Pond, name: str, f: int) -> None:
        ripple = pond.ripples[name]
        if f < ripple.prev:
            return
        if ripple.parents:
            ripple.want = max(ripple.want, f)
            self._pass_on(pond, ripple)
        else:
            pond.want = max(pond.want, f)
            if not pond.is_blocked:
                self._tell(pond)

    def _pass_on(self, pond: Pond, ripple: Ripple) -> None:
        for parent in ripple.parents:
            if ripple.told[parent] < ripple.taken[parent]:
                ripple.told[parent] = ripple.taken[parent]
                self._want(pond, parent, ripple.taken[parent])

    def _tell(self, pond: Pond) -> None:
        for key, source in pond.sources.items():
            if source.told < source.taken:
                source.told = source.taken
                self._send(key, self._on_want, source.taken)

    def _target(self, pond: Pond, f: int) -> None:
        if pond.is_blocked or f <= pond.end_f or f in pond.targets:
            return
        pond.targets = sorted([*pond.targets, f])
        for key, source in pond.gating.items():
            if f > pond.start_f and source.end_f < f:
                self._send(key, self._target, f)

    def _resend(self, pond: Pond, key: PondKey) -> None:
        source = pond.sources[key]
        if pond.has_pull:
            self._send(key, self._on_want, source.taken)
        for f in pond.targets:
            if key in pond.gating and f > max(pond.start_f, source.end_f):
                self._send(key, self._target, f)

    def _set_blocked(self, pond: Pond) -> None:
        by_source = any(source.required and source.is_blocked for source in pond.sources.values())
        is_blocked = pond.is_failed or pond.is_killed or by_source
        if is_blocked == pond.is_blocked:
            return
        pond.is_blocked = is_blocked
        self._tell_sinks(pond, self._on_blocked if is_blocked else self._on_unblocked)
        if not is_blocked:
            for key in pond.sources:
                self._resend(pond, key)
            if pond.asking_wave is Pacing.EAGER:
                self._tap(pond)

    def _on_blocked(self, sink: Pond, source: Source) -> None:
        source.is_blocked = True
        self._set_blocked(sink)

    def _on_unblocked(self, sink: Pond, source: Source) -> None:
        was_blocked = sink.is_blocked
        source.is_blocked, source.told = False, NONE
        self._set_blocked(sink)
        if not was_blocked and not sink.is_blocked:
            self._resend(sink, next(key for key, one in sink.sources.items() if one is source))

    def _evaluate(self, pond: Pond) -> bool:
        """Start what can start; True when something did."""
        has_started = self._start_ripples(pond)
        if pond.is_forced and not pond.active and not pond.chunk:
            self._clear(pond)
            if self._start_forced(pond):
                return True
        goal, f = pond.goal, pond.source_f(self._now)
        if pond.waits_for_chunk:
            return has_started
        pond.is_woken = False
        if goal is not None and f >= goal and not pond.is_killed and not pond.roots_busy:
            self._start_run(pond, f)
            return True
        return has_started

    def _is_busy(self, pond: Pond) -> bool:
        return any(ripple.is_busy for ripple in pond.ripples.values())

    def _start_chunk(self, pond: Pond) -> None:
        pond.chunk = Chunk(pond.chunks.pop(0), pond.shape.retries.immediately, set(pond.ripples))
        pond.since_chunk = 0
        for name in pond.shape.roots:
            self._execute_for_chunk(pond, name)

    def _execute_for_chunk(self, pond: Pond, name: str) -> None:
        ripple = pond.ripples[name]
        started, ripple.start_f = ripple.start_f, pond.end_f
        self._execute(pond, name)
        ripple.start_f = started

    def _report_to_chunk(self, pond: Pond, chunk: Chunk, report: Report) -> None:
        if isinstance(report, Done):
            chunk.left.remove(report.ripple)
            for name, ripple in pond.ripples.items():
                if report.ripple in ripple.parents and not chunk.left.intersection(ripple.parents):
                    self._execute_for_chunk(pond, name)
            if not chunk.left:
                self._publish_chunk(pond)
        elif chunk.immediate_left > 0:
            chunk.immediate_left -= 1
            self._execute_for_chunk(pond, report.ripple)
        else:
            self._stop_chunk(pond)

    def _publish_chunk(self, pond: Pond) -> None:
        pond.chunk = None
        for ripple in pond.ripples.values():
            if ripple.end_f > pond.end_f:  # left behind by a Run that failed, it does not have what the chunk made
                ripple.start_f = ripple.end_f = pond.end_f
                ripple.prev = min(ripple.prev, pond.end_f)
        self._effects.append(
            RunFinished(
                pond=pond.shape.key, reason=Reason.BACKFILL, number=0, freshness=pond.end_f, delay=pond.end_delay
            )
        )

    def _stop_chunk(self, pond: Pond) -> None:
        if pond.chunk is not None:
            pond.chunk = None
            for ripple in pond.ripples.values():
                ripple.is_busy = False

    def _start_forced(self, pond: Pond) -> bool:
        f = pond.source_f(self._now)
        if pond.roots_busy or pond.waits_for_chunk:
            return False
        if f <= pond.start_f:
            if pond.end_f == NEVER:
                pond.is_forced = False
                return False
            if self._is_busy(pond):
                return False
            for ripple in pond.ripples.values():
                ripple.prev = ripple.start_f = ripple.end_f = min(ripple.prev, pond.end_f - 1)
        pond.is_forced = False
        self._start_run(pond, max(f, pond.end_f))
        return True

    def _start_run(self, pond: Pond, f: int) -> None:
        is_pulled = pond.has_pull
        if f > pond.end_f:
            pond.delay = pond.delay_at(f, self._now)
            pond.wait = self._now - pond.arrived_at if pond.sources else 0
            waited = pond.wait + pond.pace(2)
            if pond.limit is not None and f >= pond.corrected_at and 4 * waited > pond.period:
                pond.skip, pond.corrected_at = waited, self._now
        for source in pond.sources.values():
            source.taken = source.end_f
        pond.start_f = f
        if pond.since_chunk is not None:
            pond.since_chunk += 1
        is_new, pond.top_f = f > pond.top_f, max(pond.top_f, f)
        left = sum(is_new or ripple.end_f < f for ripple in pond.ripples.values())
        pond.active.append(Run(f, pond.delay, left, pond.shape.retries.immediately))
        if is_pulled and not pond.is_blocked:
            self._tell(pond)
        self._start_ripples(pond)
        self._finish(pond)

    def _start_ripples(self, pond: Pond) -> bool:
        has_started = False
        for name, ripple in pond.ripples.items():
            f = min((pond.ripples[parent].end_f for parent in ripple.parents), default=pond.start_f)
            if ripple.is_busy or not any(ripple.start_f < run.f <= f for run in pond.active):
                continue
            is_pulled = ripple.want >= ripple.start_f
            ripple.prev, ripple.start_f = ripple.start_f, f
            ripple.taken = {parent: pond.ripples[parent].end_f for parent in ripple.parents}
            self._execute(pond, name)
            has_started = True
            if is_pulled:
                self._pass_on(pond, ripple)
        return has_started

    def _execute(self, pond: Pond, name: str) -> None:
        ripple = pond.ripples[name]
        ripple.is_busy, ripple.since = True, self._now
        ripple.attempt += 1
        self._effects.append(
            StartRipple(
                pond=pond.shape.key,
                reason=Reason.RUN,
                ripple=name,
                number=0,
                freshness=ripple.start_f,
                attempt=ripple.attempt,
            )
        )

    def _report(self, pond: Pond, report: Report) -> None:
        ripple = pond.ripples[report.ripple]
        if not ripple.is_busy or ripple.attempt != report.attempt:
            return
        ripple.is_busy = False
        if pond.chunk is not None:
            self._report_to_chunk(pond, pond.chunk, report)
            return
        reached = [run for run in pond.active if ripple.end_f < run.f <= ripple.start_f]
        if isinstance(report, Done):
            took = self._now - ripple.since
            ripple.est = (7 * ripple.est + 3 * took) // 10 if ripple.est else took
            ripple.end_f = ripple.start_f
            for run in reached:
                run.left -= 1
        elif not reached:
            ripple.roll_back()
        elif reached[-1].immediate_left > 0:
            reached[-1].immediate_left -= 1
            self._execute(pond, report.ripple)
        else:
            pond.active = [run for run in pond.active if run not in reached]
            pond.is_failed, pond.failed_f = True, max(pond.failed_f, ripple.start_f)
            pond.failures += 1
            self._set_blocked(pond)

    def _finish(self, pond: Pond) -> None:
        run = None
        while pond.active and pond.active[0].left <= 0:
            run = pond.active.pop(0)
        if run is None:
            return
        pond.has_run = True
        self._effects.append(
            RunFinished(pond=pond.shape.key, reason=Reason.COMPLETED, number=0, freshness=run.f, delay=run.delay)
        )
        if run.f > pond.end_f:
            pond.end_f, pond.end_delay = run.f, run.delay
            self._publish(pond)
        pond.targets = [each for each in pond.targets if each > pond.end_f]
        if pond.is_failed and pond.end_f > pond.failed_f:
            pond.is_failed, pond.failures, pond.failed_f = False, 0, NEVER
            self._set_blocked(pond)
        if pond.asking_wave is Pacing.EAGER:
            self._tap(pond)

    def _publish(self, pond: Pond) -> None:
        end_f, delay, pace = pond.end_f, pond.end_delay, (pond.period, pond.lead, pond.wait + pond.pace(2))

        def updated(sink: Pond, source: Source) -> None:
            source.end_f, source.delay, source.pace, sink.arrived_at = end_f, delay, pace, self._now

        self._tell_sinks(pond, updated)

    def _clear(self, pond: Pond) -> None:
        if pond.is_failed or pond.is_killed:
            pond.is_failed = pond.is_killed = False
            pond.failures, pond.failed_f = 0, NEVER
            pond.start_f = max([pond.end_f, *(run.f for run in pond.active)])
            pond.delay = pond.active[-1].delay if pond.active else pond.end_delay
            for ripple in pond.ripples.values():
                if not ripple.is_busy or pond.chunk:
                    ripple.roll_back()
            self._set_blocked(pond)

    def _drop(self, pond: Pond) -> None:
        pond.want, pond.targets, pond.wave, pond.tide, pond.skip = NONE, [], None, None, 0
        pond.followers = {}
        pond.is_woken = pond.is_forced = False
        for ripple in pond.ripples.values():
            ripple.want, ripple.told = NONE, dict.fromkeys(ripple.parents, NONE)
        self._tell_sinks(pond, lambda _, source: setattr(source, "told", NONE))

    def _kill(self, pond: Pond) -> None:
        self._stop_chunk(pond)
        pond.chunks = []
        for ripple in pond.ripples.values():
            ripple.is_busy = False
            ripple.roll_back()
        pond.active.clear()
        pond.start_f, pond.delay, pond.is_killed = pond.end_f, pond.end_delay, True
        self._drop(pond)
        self._set_blocked(pond)

    def _slumber(self, pond: Pond, seen: set[PondKey]) -> None:
        """Sleep, and hand it on behind the demand that is under way, so that this is forgotten, too."""
        if pond.shape.key not in seen:
            seen.add(pond.shape.key)
            self._drop(pond)
            for key in pond.sources:
                self._send(key, lambda source, _: self._slumber(source, seen), NONE)

    def _follow(self, pond: Pond, name: str, given: Follow | None) -> None:
        if given is None:
            pond.followers.pop(name, None)
            return
        if name not in pond.followers:
            new_until = None if given.is_resting else self._now + 672 * QUARTER
            pond.followers[name] = Follower(given.tz, given.sure, self._now, new_until)
        pond.followers[name].sure = given.sure
        self._look(pond, name)

    def _look(self, pond: Pond, name: str) -> None:
        follower = pond.followers[name]
        was_resting = follower.is_resting
        limit = pond.period if name == "wave" else pond.tide
        follower.look(self._now, hold_of(limit or 0), pond.lead)
        if was_resting and name == "wave" and pond.asking_wave is Pacing.EAGER:
            self._tap(pond)

    def _read(self, pond: Pond, at: int) -> None:
        is_woken = False
        for name, follower in pond.followers.items():
            was_resting = follower.is_resting
            follower.read(at)
            self._look(pond, name)
            is_woken |= was_resting and not follower.is_resting
        if is_woken:
            self._target(pond, self._now)

    def _verb(self, pond: Pond, verb: Verb) -> None:
        match verb:
            case Tap():
                self._tap(pond)
            case Pulse():
                self._target(pond, self._now)
            case Wave(pacing=pacing):
                pond.wave = pacing
                self._follow(pond, "wave", verb.follow)
                if pond.asking_wave is Pacing.EAGER:
                    self._tap(pond)
            case Tide(limit=limit):
                pond.tide = limit
                self._follow(pond, "tide", verb.follow)
            case Read(at=at):
                self._read(pond, min(at, self._now))
            case Calm():
                pond.wave = pond.tide = None
                pond.followers = {}
            case Sleep(upstream=True):
                self._slumber(pond, set())
                self._deliver()
            case Sleep():
                self._drop(pond)
            case Kill():
                self._kill(pond)
            case Backfill() | Withdraw():
                self._verb_of_chunks(pond, verb)
            case Clear() | Wake() | Force():
                self._clear(pond)
                pond.is_woken |= isinstance(verb, Wake)
                pond.is_forced |= isinstance(verb, Force)
            case _:
                raise NotImplementedError(verb)

    def _verb_of_chunks(self, pond: Pond, verb: Backfill | Withdraw) -> None:
        name, running = verb.chunk, pond.chunk is not None and pond.chunk.name == verb.chunk
        if isinstance(verb, Withdraw):
            if name in pond.chunks:
                pond.chunks.remove(name)
            elif verb.stop and running:
                self._stop_chunk(pond)
        elif name not in pond.chunks and not running and not pond.is_killed and pond.end_f != NEVER:
            pond.chunks.append(name)
            pond.since_chunk = pond.since_chunk or 0

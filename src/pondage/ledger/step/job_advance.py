"""A step of a job's run, made durable: signals in, rows out, in one transaction.

The machine decides; this carries out. Effects become dispatches, cancellations, timers and the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.types.port import PANIC_PORT
from pondage.kernel.control import effects as does
from pondage.kernel.control import step
from pondage.kernel.control.effects import Effect
from pondage.kernel.control.events import Event, Restore, Settled, Stop, Unfold
from pondage.kernel.control.state import State
from pondage.ledger.data import run_tables, segments
from pondage.ledger.data.segments import Reader, Stream
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.executions import Dispatch
from pondage.ledger.step import job_ripples
from pondage.ledger.step.actor import ActorKind, Happening, put_event
from pondage.ledger.step.job_inputs import ComponentInputs, MemberInputs, follows
from pondage.ledger.tables import actors, history, job_runs
from pondage.ledger.tables.actors import ActorRow, SignalRow
from pondage.ledger.tables.job_runs import RunRows

UNFOLD = "unfold"
"""The signal of a fan-out that is not complete: as long as there is one, a run makes no other step."""
_events = msgspec.json.Decoder(Event)


class JobSettled(msgspec.Struct, frozen=True, kw_only=True):
    """What one advancement of a run did: for the audit trail, and for replaying it."""

    rounds: tuple[tuple[Event, ...], ...]
    touched: tuple[tuple[str, str], ...]
    effects: tuple[Effect, ...]


class JobHost:
    """The durable host of one run for one transaction."""

    def __init__(self, tx: Transaction, ledger: Ledger, actor: ActorRow) -> None:
        self._tx = tx
        self._ledger = ledger
        self._run = job_runs.of_actor(tx, actor.id)
        self._version = ledger.job(tx, self._run.definition)
        self.told: int | None = None
        """The actor of the Pond that was told how its Ripple's body ended."""
        self._rows = RunRows(tx, actor.id, is_new=actor.version == 0)
        self._left: list[Event] = []

    def settle(self, events: list[Event]) -> JobSettled:
        """Step and carry out every effect; once more for what the ends of this step stop."""
        rounds: list[tuple[Event, ...]] = []
        touched: dict[tuple[str, str], None] = {}
        effects: list[Effect] = []
        while events or not rounds:
            done = step(self._version.index, self._rows, events, self._tx.now)
            self._rows.save(done.changed)
            for effect in done.effects:
                self._carry_out(effect)
            rounds.append(tuple(events))
            touched |= dict.fromkeys(done.changed)
            effects += done.effects
            events = [*self._stopped(events, done.effects), *self._left]
            self._left = []
        return JobSettled(rounds=tuple(rounds), touched=tuple(touched), effects=tuple(effects))

    def _stopped(self, events: list[Event], effects: tuple[Effect, ...]) -> Iterator[Event]:
        """Give whom the ends of a step stop: there is a row on an edge into a `stop` port."""
        ends = {one.instance: one.state for one in effects if isinstance(one, does.ComponentChanged)}
        for event in events:
            if isinstance(event, Restore):
                ends |= {name: row.state for name, row in event.components.items()}
        for name, state in ends.items():
            for port, target in self._version.stops(name):
                if self._has_row(name, port, state):
                    yield Stop(instance=target)

    def _has_row(self, instance: str, port: str, state: State) -> bool:
        if port == PANIC_PORT:
            return state is State.ERROR
        found = run_tables.find(self._tx, self._run.id, instance, port) if state is State.OK else None
        return found is not None and found.content.rows > 0

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case does.Run():
                self._dispatch(effect)
            case does.Cancel():
                self._cancel(effect)
            case does.StopInstance():
                self._ask_to_stop(effect)
            case does.Timer():
                actors.put_signal(
                    self._tx,
                    actor=self._run.actor,
                    kind=type(effect.event).__name__.lower(),
                    payload=msgspec.json.encode(effect.event).decode(),
                    delay_us=effect.at - self._tx.now,
                )
            case does.Unfold():
                # Due at once, and before everything else: whoever comes next goes on at the cursor.
                actors.put_signal(
                    self._tx,
                    actor=self._run.actor,
                    kind=UNFOLD,
                    payload=msgspec.json.encode(Unfold(instance=effect.instance)).decode(),
                )
            case does.InputError():
                segments.fail_input(
                    self._tx, run=self._run.id, instance=effect.instance, port=effect.port, code=effect.code
                )
            case does.Done():
                self._end(effect)
            case _:
                # Logs and checkpoints: the rows and the advancement are the record.
                pass

    def _dispatch(self, effect: does.Run) -> None:
        shape = self._version.shapes[effect.component]
        definition = self._version.definition(shape)
        members = [MemberInputs(one.instance, one.component, one.inputs) for one in effect.members]
        members.append(MemberInputs(effect.instance, effect.component, effect.inputs))
        self._open_streams(effect, definition)
        inputs = ComponentInputs(members=tuple(members), view=effect.view)
        durability = self._ledger.durability
        executions.dispatch(
            self._tx,
            Dispatch(
                environment=self._run.environment,
                kind="component",
                node=effect.instance,
                number=effect.attempt,
                queue=self._ledger.queue(self._tx, self._version.queue([one.component for one in members])),
                inputs=msgspec.json.encode(inputs).decode(),
                actor=self._run.actor,
                digest=shape.digest,
                timeout_s=shape.timeout_s,
                crash_budget=durability.crash_budget if definition.restartable else 0,
                reason=effect.reason,
            ),
            delay_us=0 if effect.attempt == 1 else int(durability.retry_delay_s * 1_000_000),
        )

    def _open_streams(self, effect: does.Run, definition: ComponentDefinition) -> None:
        """Let a component read its streams from their beginning, however often it was tried before."""
        for port, sources in effect.inputs.items():
            for source in sources if follows(definition, port) else ():
                if not source.element and not source.gathers:
                    stream = Stream(self._run.id, source.instance, source.port)
                    reader = Reader(stream, effect.instance, port)
                    segments.open_cursor(self._tx, reader, self._version.limits(source, effect.component, port))

    def _ask_to_stop(self, effect: does.StopInstance) -> None:
        is_over = executions.ask_to_stop(
            self._tx,
            actor=self._run.actor,
            node=effect.instance,
            attempt=effect.attempt,
            is_last=effect.is_last,
        )
        if is_over:
            # Nobody had begun, or it waited for its next try: a run that was killed does not wait for that.
            self._left.append(Settled(instance=effect.instance, attempt=effect.attempt, is_left=True))

    def _cancel(self, effect: does.Cancel) -> None:
        for dispatch in self._tx.rows(
            """SELECT id FROM dispatches
               WHERE kind = 'component' AND actor = :actor AND node = :node AND number = :number
                     AND outcome IS NULL""",
            int,
            actor=self._run.actor,
            node=effect.instance,
            number=effect.attempt,
        ):
            executions.cancel(self._tx, dispatch)

    def _end(self, effect: does.Done) -> None:
        """Close the run: what was still to come for it (timers, late reports) is nobody's business any more."""
        job_runs.end(self._tx, self._run.id, state=effect.state.value, code=effect.code)
        self._tx.write("DELETE FROM signals WHERE actor = :actor", actor=self._run.actor)
        self.told = job_ripples.close(
            self._tx, self._ledger, self._run, self._version, state=effect.state, code=effect.code
        )
        history.record(
            self._tx,
            environment=self._run.environment,
            kind="job",
            run=self._run.public_id,
            payload={"job": self._run.job, "state": effect.state, "code": effect.code},
        )


class RunActor(ActorKind):
    """A run of a job, stepped by the control machine."""

    name = "run"

    def taken_in(
        self, tx: Transaction, actor: ActorRow, signals: list[SignalRow], event: Happening | None
    ) -> tuple[list[SignalRow], Happening | None]:
        """Answer what a run takes in now: while a fan-out is open that alone, and everything else waits as signals.

        Between two chunks the rows of the run say less than the machine decided. An event that came in between would
        be judged by half an unfolding; so the rest is unfolded first, and the order of all other signals stays.
        """
        unfolding = [signal for signal in signals if signal.kind == UNFOLD]
        if not unfolding:
            return signals, event
        if event is not None:
            put_event(tx, actor=actor.id, event=event)
        return unfolding, None

    def settle(
        self, tx: Transaction, ledger: Ledger, actor: ActorRow, signals: list[SignalRow], event: Happening | None
    ) -> tuple[JobSettled, list[int]]:
        """Step; the Pond whose Ripple has this run as its body may have been told how it ended."""
        events = [_events.decode(signal.payload) for signal in signals]
        if isinstance(event, Event):
            events.append(event)
        host = JobHost(tx, ledger, actor)
        settled = host.settle(events)
        return settled, [] if host.told is None else [host.told]

    def is_open(self, tx: Transaction, actor: int) -> bool:
        """Answer whether a big fan-out of a run has stopped between two chunks."""
        found = tx.row("SELECT id FROM signals WHERE actor = :actor AND kind = :kind LIMIT 1", actor=actor, kind=UNFOLD)
        return found is not None

"""A catchment's step, made durable: signals in, rows out, in one transaction.

The machine decides; this carries out. Effects become Runs with their pins, dispatches, cancellations, publications,
timers and history. Work whose inputs and code have not changed is answered here, without an execution.
"""

from __future__ import annotations

import hashlib

import msgspec

from pondage.define.pond.definition import ReadDefinition, RippleDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.kernel.demand import effects as does
from pondage.kernel.demand import events as happens
from pondage.kernel.demand.effects import Effect, Reason
from pondage.kernel.demand.events import Event
from pondage.kernel.demand.step import step
from pondage.ledger.data import snapshots
from pondage.ledger.data.inputs import RippleInputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.executions import Dispatch
from pondage.ledger.step import fed_runs, job_ripples, reactor_ponds, runs
from pondage.ledger.step.actor import ActorKind, Happening, put_event
from pondage.ledger.step.going_on import going_on
from pondage.ledger.step.ponds import LedgerPonds
from pondage.ledger.step.runs import Finishing, RunRow
from pondage.ledger.tables import actors, awaited, backfills, environments, history
from pondage.ledger.tables.actors import ActorRow, PondRow, SignalRow
from pondage.ledger.tables.backfills import CancelBackfill, ChunkOver, PondDeployed
from pondage.ledger.tables.pins import Chosen, Last, Wanted, choose, disagreeing, last, seen_splices

_events = msgspec.json.Decoder(Event)
_ENDED_AS = {Reason.FAILED: "failed", Reason.KILLED: "killed", Reason.REMOVED: "removed", Reason.VERB: "killed"}


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What one advancement did: for the audit trail, and for replaying it."""

    rounds: tuple[tuple[Event, ...], ...]
    touched: tuple[PondKey, ...]
    effects: tuple[Effect, ...]


class Catchment:
    """The durable host of one catchment for one transaction."""

    def __init__(self, tx: Transaction, ledger: Ledger, actor: ActorRow) -> None:
        """`actor` is locked."""
        self._tx = tx
        self._ledger = ledger
        self._environment = actor.environment
        self._actor = actor.id
        self.ponds = LedgerPonds(tx, ledger, actor.environment, actor=actor.id, kept=ledger.kept.take(tx, actor))
        self._runs: dict[tuple[int, int], RunRow] = {}
        self._completed: dict[int, Last] = {}
        """The last Run of each Pond that has completed in this step."""
        self._agreed: dict[PondKey, Chosen] = {}
        """The pins of Runs that start next, because their inputs agree."""
        self._published: dict[int, dict[str, int]] = {}
        self._errors: dict[PondKey, str] = {}
        self._answers: list[Event] = []
        self.told: list[int] = []
        """Runs of jobs that were begun or killed: whoever steps next may step them."""

    def settle(self, events: list[Event]) -> Settled:
        """Step until nothing more is reused, and carry out every effect."""
        rounds: list[tuple[Event, ...]] = []
        touched: dict[PondKey, None] = {}
        carried: list[Effect] = []
        while events:
            rounds.append(tuple(events))
            self._errors.update({event.pond: event.error for event in events if isinstance(event, happens.Fail)})
            done = step(self.ponds, events, self._tx.now)
            self.ponds.save(done.changed, done.profiled)
            touched.update(dict.fromkeys(done.changed))
            # One that is removed has no state to be written, but whoever watches must hear of it.
            removed = {event.pond: None for event in events if isinstance(event, happens.Remove)}
            touched.update(removed)
            for key in removed:
                self._end_backfills(key)
            self._answers = []
            for effect in done.effects:
                self._carry_out(effect)
            carried.extend(done.effects)
            events = self._answers
        return Settled(rounds=tuple(rounds), touched=tuple(touched), effects=tuple(carried))

    def _tell_backfills(self, effect: does.Deployed) -> None:
        code = backfills.code_of(self._ledger.definition(self._tx, int(effect.definition)))
        pond = self.ponds.known(effect.pond)
        self.told.extend(backfills.tell_all_of(self._tx, pond.id, PondDeployed(code=code)))

    def _end_backfills(self, key: PondKey) -> None:
        """Cancel those that are paused, too: their Pond is gone."""
        pond = self.ponds.removed(key)
        if pond is not None:
            self.told.extend(backfills.tell_all_of(self._tx, pond.id, CancelBackfill(reason="removed")))

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case does.StartRun():
                self._start_run(effect)
            case does.Compare():
                self._compare(effect)
            case does.StartRipple():
                self._start_ripple(effect)
            case does.Cancel():
                self._cancel(effect)
            case does.RunFinished():
                self._finish_run(effect)
            case does.RunDropped():
                self._drop_runs(effect)
            case does.ChunkEnded():
                over = ChunkOver(chunk=int(effect.chunk), reason=effect.reason.value, error=effect.error)
                self.told.append(backfills.tell_chunk_over(self._tx, over))
            case does.Timer():
                tick = msgspec.json.encode(happens.Tick(pond=effect.pond)).decode()
                actors.put_timer(self._tx, actor=self._actor, pond=effect.pond, at=effect.at, payload=tick)
            case does.Demanded():
                asked = ["want", effect.want] if effect.target is None else ["target", effect.target]
                self._tell_reactor(effect.pond, [asked])
            case does.Commanded():
                commands = reactor_ponds.COMMANDS[effect.verb]
                self._tell_reactor(effect.pond, [["cmd", self._ledger.ids.new("v"), each] for each in commands])
            case does.Failed() | does.Recovered() | does.Blocked() | does.Unblocked() | does.Deployed():
                if isinstance(effect, does.Deployed):
                    self.ponds.deployed(effect.pond)
                    self._tell_backfills(effect)
                self._record(effect)

    def _start_run(self, effect: does.StartRun) -> None:
        pond = self.ponds.known(effect.pond)
        older, origin = self._instead(effect, pond)
        run = runs.insert(
            self._tx,
            public_id=self._ledger.ids.new("r"),
            environment=self._environment,
            actor=self._actor,
            pond=pond.id,
            run_number=effect.number,
            freshness=effect.freshness,
            delay=effect.delay,
            definition=pond.definition,
            chosen=self._pins(effect, pond),
            is_forced=effect.is_forced,
            is_full=effect.is_full,
            rollback_of=older,
            origin=origin,
            chunk=None if effect.chunk is None else int(effect.chunk),
            reason=effect.reason.value if origin is None else "borrow" if pond.borrows is not None else "promote",
        )
        self._runs[pond.id, effect.number] = run
        if effect.is_fed:
            fed_runs.record(self._tx, self._ledger, run, pond, environment=self._environment, batch=effect.batch)

    def _tell_reactor(self, key: PondKey, payloads: list[object]) -> None:
        definition = self._ledger.definition(self._tx, self.ponds.known(key).definition)
        reactor_ponds.tell(self._tx, self._environment, definition, payloads)

    def _instead(self, effect: does.StartRun, pond: PondRow) -> tuple[int | None, int | None]:
        """Answer the Run that this one shows and computes nothing for: an older one of the Pond, or another's."""
        if pond.borrows is not None:
            shown = self.ponds.shown(pond.borrows)
            return None, None if shown is None else shown.run
        if effect.rollback is None:
            return None, None
        older = runs.by_public_id(self._tx, effect.rollback)
        return (None, older) if environments.is_foreign(self._tx, pond.id, older) else (older, None)

    def _pins(self, effect: does.StartRun, pond: PondRow) -> Chosen:
        if pond.borrows is not None:
            shown = self.ponds.shown(pond.borrows)
            return Chosen() if shown is None else shown.chosen
        if effect.rollback is not None:
            # What it shows was made from these, so a diamond below compares these.
            return environments.seen_from(self._tx, self._environment, runs.chosen_by(self._tx, effect.rollback))
        if not effect.taken:
            return Chosen()
        if effect.pond in self._agreed:
            return self._agreed.pop(effect.pond)
        chosen = self._chosen(pond, effect.freshness)
        return chosen if effect.chunk is None else self._beside(pond, chosen)

    def _beside(self, pond: PondRow, chosen: Chosen) -> Chosen:
        """Answer what a chunk reads: the rest of its table stands on what it stood on, and a diamond sees both."""
        shown, shape = runs.shown_chosen(self._tx, pond.id), self.ponds.shape(pond.key)
        if chosen.is_spliced and shape is not None and shape.must_agree:
            return shown
        standing = {
            ancestor: tuple(dict.fromkeys((*shown.standing.get(ancestor, ()), *chosen.standing.get(ancestor, ()))))
            for ancestor in {**shown.standing, **chosen.standing}
        }
        above = tuple(dict.fromkeys((*shown.spliced_from, *chosen.spliced_from)))
        return msgspec.structs.replace(chosen, standing=standing, spliced_from=above)

    def _compare(self, effect: does.Compare) -> None:
        """Answer whether the Sources of a Pond that reads nothing spliced agree, and keep what a Run would read."""
        pond = self.ponds.known(effect.pond)
        chosen = self._chosen(pond, effect.freshness)
        older: tuple[PondKey, ...] = ()
        if chosen.is_spliced:
            rows = {ancestor: self.ponds.row(PondKey(ancestor)) for ancestor in pond.tracks}
            tracks = {ancestor: None if row is None else row.id for ancestor, row in rows.items()}
            older = disagreeing(self._tx, self._wanted(pond), tracks=tracks)
        else:
            self._agreed[effect.pond] = chosen
        self._answers.append(happens.Compared(pond=effect.pond, freshness=effect.freshness, older=older))

    def _chosen(self, pond: PondRow, freshness: int) -> Chosen:
        definition = self._ledger.definition(self._tx, pond.definition)
        wanted = self._wanted(pond)
        if not pond.tracks:
            return last(self._tx, {each.source: each.pond for each in wanted}, self._completed)
        return choose(
            self._tx,
            wanted,
            freshness=freshness,
            tracks=pond.tracks,
            is_coherent=bool(definition.coherent),
            keep=self._ledger.durability.keep_runs,
        )

    def _wanted(self, pond: PondRow) -> list[Wanted]:
        definition = self._ledger.definition(self._tx, pond.definition)
        sources = {
            pond_key(source.pond, source.major): source for source in definition.sources if source.major is not None
        }
        ponds = {key: None if (row := self.ponds.row(key)) is None else row.id for key in sources}
        # Only where older Runs may be chosen can a pin go back behind the last one.
        latest = runs.latest_pins(self._tx, pond.id) if pond.tracks and definition.coherent else {}
        return [
            Wanted(source=key, pond=ponds[key], is_required=source.required, not_before=latest.get(key) or 0)
            for key, source in sources.items()
        ]

    def _run(self, pond: int, run_number: int) -> RunRow:
        found = self._runs.get((pond, run_number))
        if found is None:
            found = self._runs[pond, run_number] = runs.by_number(self._tx, pond, run_number)
        return found

    def _start_ripple(self, effect: does.StartRipple) -> None:
        pond = self.ponds.known(effect.pond)
        run = self._run(pond.id, effect.number)
        definition = self._ledger.definition(self._tx, run.definition)
        if definition.borrowed:
            done = happens.Done(pond=effect.pond, ripple=effect.ripple, attempt=effect.attempt, reused=True)
            self._answers.append(done)
            return
        ripple = definition.ripple(effect.ripple)
        dataset, dataset_id = self._ledger.dataset(self._tx, pond=pond.id, ripple=ripple.name)
        majors = {source.pond: source.major for source in definition.sources}
        inputs = RippleInputs(
            pond=effect.pond,
            pond_id=pond.id,
            definition=run.definition,
            dataset=dataset,
            dataset_id=dataset_id,
            run_id=run.public_id,
            previous_freshness=None if run.is_full else self._previous(effect.pond),
            snapshots={
                read.parameter: self._input(read, pond.id, run, effect.freshness, majors) for read in ripple.reads
            },
            is_forced=run.is_forced,
            is_full=run.is_full,
            chunk=None if run.chunk is None else backfills.chunk(self._tx, run.chunk).named,
        )
        if definition.mode == "auto" and not run.is_full:
            found = going_on(self._tx, ripple, inputs, environment=self._environment, run=run.id, pond=definition.name)
            inputs = msgspec.structs.replace(inputs, going_on=found)
        digest = _digest(ripple, inputs.snapshots)
        work = Dispatch(
            environment=self._environment,
            kind="ripple",
            node=ripple.name,
            number=effect.attempt,
            queue=self._ledger.queue_of(self._tx, run.definition),
            inputs=msgspec.json.encode(inputs).decode(),
            actor=self._actor,
            run=run.id,
            dataset=dataset,
            freshness=effect.freshness,
            digest=digest,
            timeout_s=ripple.timeout_s,
            crash_budget=self._ledger.durability.crash_budget,
            reason=effect.reason.value,
        )
        reused = self._reusable(effect.pond, run, ripple, dataset, digest)
        if reused is None and ripple.kind == "job":
            delay_us = self._delay(effect, ripple, pond.id)
            self.told.append(job_ripples.start(self._tx, self._ledger, work, definition, ripple, delay_us=delay_us))
            return
        if reused is None:
            executions.dispatch(self._tx, work, delay_us=self._delay(effect, ripple, pond.id))
            return
        executions.dispatch_done(self._tx, work, outcome="reused")
        snapshots.put_output(
            self._tx, run=run.id, pond=pond.id, node=ripple.name, freshness=effect.freshness, snapshot=reused
        )
        self._answers.append(happens.Done(pond=effect.pond, ripple=effect.ripple, attempt=effect.attempt, reused=True))

    def _previous(self, key: PondKey) -> int | None:
        state = self.ponds.state(key)
        return None if state is None or state.end_f < 0 else state.end_f

    def _input(
        self, read: ReadDefinition, pond: int, run: RunRow, freshness: int, majors: dict[str, int | None]
    ) -> int | None:
        if read.pond is None:
            chosen = snapshots.choice(self._tx, pond=pond, node=read.ripple, at_least=freshness)
            assert chosen is not None, f"{read.ripple} is done at {freshness} and has no output"
            return chosen.snapshot
        major = majors[read.pond]
        assert major is not None
        pinned = run.pins.get(pond_key(read.pond, major))
        if pinned is None:
            return None
        published = self._published.get(pinned)
        if published is None:
            found = snapshots.outputs(self._tx, pinned)
            published = self._published[pinned] = {ripple: output.snapshot for ripple, output in found.items()}
        return published.get(read.ripple)

    def _reusable(self, key: PondKey, run: RunRow, ripple: RippleDefinition, dataset: int, digest: str) -> int | None:
        """Answer the snapshot that serves again: same code, same parameters, same inputs."""
        # A Ripple that reads nothing brings data in from outside: equal code says nothing about it.
        if not self._ledger.is_reusing or run.is_forced or run.chunk is not None or ripple.always or not ripple.tables:
            return None
        reused = snapshots.reusable(self._tx, dataset, digest)
        return self._reusable_above(key, ripple, dataset, digest) if reused is None else reused

    def _reusable_above(self, key: PondKey, ripple: RippleDefinition, dataset: int, digest: str) -> int | None:
        """Answer what the same code has made of the same inputs in an environment above, while here is nothing yet."""
        if not self._ledger.has_parent(self._tx, self._environment) or snapshots.newest(self._tx, dataset) is not None:
            return None
        origin = environments.above(self._tx, self._environment, key)
        if origin is None:
            return None
        return snapshots.reusable_of(self._tx, pond=origin.row.id, ripple=ripple.name, digest=digest)

    def _delay(self, effect: does.StartRipple, ripple: RippleDefinition, pond: int) -> int:
        durability = self._ledger.durability
        if effect.reason is Reason.RETRY and not effect.is_retry:
            return int(durability.retry_delay_s * 1_000_000)
        # An Inlet that found nothing new is not asked again at once, so that a Wave over it does not spin.
        if not ripple.tables and executions.last_outcome(self._tx, pond=pond, node=ripple.name) == "reused":
            return int(durability.probe_s * 1_000_000)
        return 0

    def _cancel(self, effect: does.Cancel) -> None:
        pond = self.ponds.known(effect.pond)
        for dispatch in self._tx.rows(
            """SELECT d.id AS id FROM dispatches d JOIN datasets s ON s.id = d.dataset
               WHERE s.pond = :pond AND s.ripple = :ripple AND d.number = :number AND d.outcome IS NULL""",
            int,
            pond=pond.id,
            ripple=effect.ripple,
            number=effect.attempt,
        ):
            # Its body first: whoever ends that holds the body's actor, and waits for the dispatch next.
            body = job_ripples.kill(self._tx, dispatch)
            self.told.extend(() if body is None else (body,))
            executions.cancel(self._tx, dispatch)

    def _finish_run(self, effect: does.RunFinished) -> None:
        pond = self.ponds.known(effect.pond)
        run = runs.finishing(self._tx, pond.id, effect.number)
        given = run.given
        definition = self._ledger.definition(self._tx, run.definition)
        ripples = [ripple.name for ripple in definition.ripples]
        if run.shows is not None:
            given = self._take_outputs(run, pond.id, run.shows)
            ripples = list(given)
        splices = seen_splices(effect.pond, run.number, is_spliced=run.is_spliced, above=run.spliced_from)
        self._completed[pond.id] = Last(run=run.id, spliced_from=splices)
        self._published[run.id] = runs.publish(self._tx, run=run, pond=pond.id, ripples=ripples, given=given)
        for subsumed in effect.subsumed:
            runs.end(self._tx, self._run(pond.id, subsumed).id, state="subsumed")
        if definition.borrowed:
            return
        state = self.ponds.state(effect.pond)
        if definition.reading.asks == "pulse" or (state is not None and state.following):
            awaited.hasten(self._tx, pond=pond.id, freshness=effect.freshness)
        if run.is_borrowed:
            environments.tell_borrowers(self._tx, pond.id, effect.pond, is_fresher=effect.is_fresher)
        history.put_outbox(
            self._tx, environment=self._environment, kind="publish", payload={"pond": pond.id, "run": run.public_id}
        )

    def _take_outputs(self, run: Finishing, pond: int, older: int) -> dict[str, int]:
        """Give a Run everything that an older one showed, and answer that."""
        given = snapshots.outputs(self._tx, older)
        for ripple, output in given.items():
            snapshots.put_output(
                self._tx, run=run.id, pond=pond, node=ripple, freshness=run.freshness, snapshot=output.snapshot
            )
        return {ripple: output.snapshot for ripple, output in given.items()}

    def _drop_runs(self, effect: does.RunDropped) -> None:
        pond = self.ponds.known(effect.pond)
        ended_as = _ENDED_AS.get(effect.reason, "dropped")
        error = self._errors.get(effect.pond) if ended_as == "failed" else None
        for run_number in effect.numbers:
            run = self._run(pond.id, run_number)
            runs.end(self._tx, run.id, state=ended_as, error=error)
            if ended_as == "failed" and run.chunk is None:
                history.put_outbox(
                    self._tx, environment=self._environment, kind="failed", payload={"run": run.public_id}
                )

    def _record(self, effect: does.Failed | does.Recovered | does.Blocked | does.Unblocked | does.Deployed) -> None:
        history.record(
            self._tx,
            environment=self._environment,
            kind=type(effect).__name__.lower(),
            pond=effect.pond,
            payload=effect,
        )


def _digest(ripple: RippleDefinition, inputs: dict[str, int | None]) -> str:
    """Answer what decides whether the work would give the same data again."""
    parts: list[object] = [ripple.digest, dict(sorted(ripple.parameters.items())), dict(sorted(inputs.items()))]
    if ripple.has_probe:
        # The answers of another probe cannot be compared with those of this one.
        parts.append(ripple.probe_digest)
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


class CatchmentActor(ActorKind):
    """A connected graph of Ponds, stepped by the demand machine."""

    name = "catchment"

    def settle(
        self, tx: Transaction, ledger: Ledger, actor: ActorRow, signals: list[SignalRow], event: Happening | None
    ) -> tuple[Settled, list[int]]:
        """Step, and keep the Ponds in mind for the next step."""
        catchment = Catchment(tx, ledger, actor)
        events: list[Event] = []
        for signal in signals:
            waited = _events.decode(signal.payload)
            row = catchment.ponds.row(waited.pond)
            if row is not None and row.actor != actor.id:
                # The Pond moved to another catchment since this was written: it belongs there.
                actors.readdress(tx, signal, to=row.actor)
                continue
            events.append(waited)
        if event is not None:
            assert isinstance(event, Event), "a Pond is told nothing about jobs"
            row = catchment.ponds.reported(event.pond)
            if row is not None and row.actor != actor.id:
                # A worker reports to the actor of its claim; a deploy may have moved the Pond while it ran.
                put_event(tx, actor=row.actor, event=event)
            else:
                events.append(event)
        done = catchment.settle(events)
        ledger.kept.leave(tx, actor, catchment.ponds.leave())
        return done, catchment.told

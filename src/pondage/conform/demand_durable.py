"""The durable host of conformance scenarios: the shipped ledger on a real SQLite file, a fake clock, fake workers.

Deploys, signals, claims with tokens, guarded commits and advancements are the real transactions. Only time and Spark
are played: the clock is set, and what a Ripple wrote is made up. The reports of one instant are committed first and
the actors advanced once. Reuse is off and nothing is delayed, as the scenarios say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from pondage.conform.durable import WorkedPlace
from pondage.define.pond.definition import (
    PondDefinition,
    ReadDefinition,
    Retries,
    RippleDefinition,
    SourceDefinition,
)
from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey, pond_key
from pondage.kernel.demand import Effect, Gate, PondShape, PondState, decode_state, explain
from pondage.kernel.demand.events import Done, Report, Verb
from pondage.ledger.act.deploy import deploy
from pondage.ledger.commit import guarded
from pondage.ledger.database.driver import Driver, Transaction
from pondage.ledger.database.ids import SeededIds
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.step.actor import put_event
from pondage.ledger.step.ponds import LedgerPonds
from pondage.ledger.tables import actors
from pondage.work.failure import Failure
from pondage.work.snapshot import SnapshotContent

_ENVIRONMENT = "conformance"
_MAJOR = "@1"
_CODE = hashlib.sha256(b"").hexdigest()
_SCHEMA = '{"type":"struct","fields":[]}'

_effects = msgspec.json.Decoder(tuple[Effect, ...])


class ScenarioLedger(Ledger):
    """A ledger whose Inlets have a scenario's windows, which no calendar of a declaration could express."""

    scenario_shapes: Mapping[PondKey, PondShape] = {}

    def shape(self, tx: Transaction, identity: int) -> PondShape:
        """Answer the stored shape of a Pond with the scenario's windows."""
        stored = super().shape(tx, identity)
        given = self.scenario_shapes[stored.key]
        return PondShape.of(
            stored.key,
            stored.ripples,
            sources=dict(stored.sources),
            calendar=given.calendar,
            retries=stored.retries,
            must_agree=stored.must_agree,
            schedules=stored.schedules,
        )


class LedgerHost(WorkedPlace[ScenarioLedger]):
    """One scenario's graph on a ledger of its own, in a temporary directory."""

    def __init__(self) -> None:
        super().__init__(_make_ledger)
        self._held: dict[tuple[PondKey, str, int], Work] = {}

    def deploy(self, shapes: Sequence[PondShape], now: int) -> None:
        """Deploy these Ponds with the real deploy."""
        self._clock.time = now
        self._ledger.scenario_shapes = {_inside(shape.key): shape for shape in shapes}
        self._deploy(shapes)
        self._advance()

    def _deploy(self, shapes: Sequence[PondShape]) -> None:
        deploy(
            self._ledger,
            _ENVIRONMENT,
            project="conformance",
            definitions=[_definition(shape) for shape in shapes],
            removed=[],
            archive=b"",
            summary="{}",
            expected=[],
        )

    def settle(self, now: int, reports: Sequence[Report], actions: Sequence[Verb]) -> Sequence[Effect]:
        """Commit the reports, write the actions as signals, advance every actor once, claim what became claimable."""
        self._clock.time = now
        for report in reports:
            self._commit(report)
        self._write(actions)
        return self._advance()

    def states(self) -> Mapping[PondKey, PondState]:
        """Give the stored states."""
        with self._ledger.reading() as tx:
            rows = actors.ponds(tx, self._environment(tx))
        return {_outside(row.key): decode_state(row.state) for row in rows}

    def explain(self, key: PondKey, now: int) -> list[Gate]:
        """Explain from the stored rows."""
        self._clock.time = now
        with self._ledger.reading() as tx:
            gates = explain(LedgerPonds(tx, self._ledger, self._environment(tx)), _inside(key), now)
        return [_outside_gate(gate) for gate in gates]

    def _environment(self, tx: Transaction) -> int:
        identity = actors.environment(tx, _ENVIRONMENT)
        assert identity is not None
        return identity

    def _write(self, actions: Sequence[Verb]) -> None:
        if not actions:
            return
        with self._ledger.transaction() as tx:
            environment = self._environment(tx)
            for action in actions:
                event = msgspec.structs.replace(action, pond=_inside(action.pond))
                row = actors.pond(tx, environment, event.pond)
                if row is not None:
                    put_event(tx, actor=row.actor, event=event)

    def _commit(self, report: Report) -> None:
        held = self._held.pop((_inside(report.pond), report.ripple, report.attempt), None)
        if held is None:
            return
        if isinstance(report, Done):
            content = SnapshotContent(path=held.claim.token, files=(), schema=_SCHEMA, rows=0, bytes=0)
            guarded.commit(self._ledger, held, Written(content), process=self._process)
        else:
            guarded.commit(
                self._ledger,
                held,
                Failed(Failure(code="FAULT", message="a fault of the scenario")),
                process=self._process,
            )

    def _advance(self) -> list[Effect]:
        self._step()
        effects = self._decided()
        self._claim()
        return effects

    def _step(self) -> None:
        advance.advance_due(self._ledger, process=self._process)

    def _decided(self) -> list[Effect]:
        decided = self._decided_steps()
        return [_outside_effect(effect) for effects in decided for effect in _effects.decode(effects)]

    def _claim(self) -> None:
        for held in self._claimed(_CODE):
            self._held[held.given(RippleTask).pond, held.claim.node, held.claim.number] = held


def _make_ledger(driver: Driver) -> ScenarioLedger:
    durability = Durability(retry_delay_s=0)
    return ScenarioLedger(driver, ids=SeededIds(1), durability=durability, is_reusing=False, is_advancing=False)


def _definition(shape: PondShape) -> PondDefinition:
    reads = tuple(ReadDefinition(parameter=key, ripple="*", pond=key) for key, _ in shape.sources)
    return PondDefinition(
        name=shape.key,
        version="1.0.0",
        entry="scenario:pond",
        sources=tuple(SourceDefinition(pond=key, major=1, required=required) for key, required in shape.sources),
        ripples=tuple(
            RippleDefinition(
                name=name,
                digest=name,
                reads=tuple(ReadDefinition(parameter=parent, ripple=parent) for parent in parents) or reads,
            )
            for name, parents in shape.ripples.items()
        ),
        coherent="required" if shape.must_agree else True,
        retries=Retries(immediately=shape.retries.immediately, on_change=shape.retries.on_change),
    )


def _inside(key: str) -> PondKey:
    return pond_key(key, 1)


def _outside(key: str) -> PondKey:
    return PondKey(key.removesuffix(_MAJOR))


def _outside_effect(effect: Effect) -> Effect:
    return msgspec.structs.replace(effect, pond=_outside(effect.pond))


def _outside_gate(gate: Gate) -> Gate:
    fields = {
        name: _outside(value) if isinstance(value, str) else value
        for name, value in msgspec.structs.asdict(gate).items()
    }
    for name in ("by", "older"):
        keys = fields.get(name)
        if isinstance(keys, list | tuple):
            fields[name] = type(keys)(_outside(one) for one in keys)
    return msgspec.structs.replace(gate, **fields)

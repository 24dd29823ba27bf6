"""What a reactor hands to workers, as rows for the ledger that are written with the records which decided it."""

from __future__ import annotations

import msgspec

from pondage.kernel.reaction import Effect, Facts
from pondage.kernel.reaction.effects import CancelFire, Connect, Fired, StartFire, StopSource
from pondage.ledger.commit import reactor_jobs
from pondage.ledger.tables.reactors import LedgerRow, ReactorRow


class Handing:
    """Makes dispatches of graphs on Spark and of streams that Spark reads, and notes good fires that start jobs."""

    def __init__(self, row: ReactorRow) -> None:
        declared = row.declaration
        self._row = row
        self._graphs = frozenset(declared.dispatched)
        self._streams = {each.name: each.interval for each in declared.accumulators if each.is_spark}
        self._inputs: dict[int, dict[str, object]] = {}
        self.has_jobs = bool(declared.jobs)

    def rebind(self, row: ReactorRow) -> None:
        """Dispatch with the code of another deploy, from the next fire on."""
        self._row = row

    @property
    def said(self) -> frozenset[type]:
        """Answer the effects that `row_of` must see."""
        fires = {StartFire, CancelFire} if self._graphs else {StartFire} if self.has_jobs else set()
        streams = {Connect, StopSource} if self._streams else set()
        return frozenset({*fires, *streams, *({Fired} if self.has_jobs else ())})

    def begin(self, facts: Facts | None) -> LedgerRow:
        """Begin a life: what no open fire needs is cancelled, what the open one has dispatched is waited for."""
        fire = None if facts is None else facts.fire
        kept = {} if fire is None else {graph: at for graph, at in fire.pending.items() if graph in self._graphs}
        self._inputs = {} if fire is None else {fire.id: {name: each.value for name, each in fire.inputs.items()}}
        said = {
            "fire": 0 if fire is None else fire.id,
            "graphs": list(kept),
            "numbers": list(kept.values()),
            "sources": list(self._streams),
        }
        return _row("adopt", said)

    def row_of(self, effect: Effect) -> LedgerRow | None:
        """Answer what an effect means for workers; None when it means nothing."""
        match effect:
            case StartFire(fire, attempt, graphs, inputs, reason, unhealthy):
                if self.has_jobs:
                    self._inputs[fire] = inputs
                on_workers = [graph for graph in graphs if graph in self._graphs]
                if not on_workers:
                    return None
                said = {"fire": fire, "attempt": attempt, "graphs": on_workers, "reason": reason, "inputs": inputs}
                return _row("dispatch", {**self._code(), **said, "unhealthy": unhealthy})
            case CancelFire(fire, _, graphs, numbers):
                numbered = {each: at for each, at in zip(graphs, numbers, strict=True) if each in self._graphs}
                said = {"fire": fire, "graphs": list(numbered), "numbers": list(numbered.values())}
                return _row("cancel", said) if numbered else None
            case Connect(source) if source in self._streams:
                return _row("dispatch stream", {**self._code(), "source": source, "every": self._streams[source]})
            case StopSource(source) if source in self._streams:
                return _row("cancel stream", {"source": source})
            case Fired(fire, _, outcome) if self.has_jobs:
                seen = self._inputs.pop(fire, {})
                return _row(reactor_jobs.KIND, {"fire": fire, "inputs": seen}) if outcome == "ok" else None
        return None

    def _code(self) -> dict[str, object]:
        # Of the life that decided it: a deploy may have put other code into the reactor's row by now.
        return {"code": self._row.code, "entry": self._row.entry}


def _row(kind: str, said: dict[str, object]) -> LedgerRow:
    return LedgerRow(kind, msgspec.json.encode(said).decode())

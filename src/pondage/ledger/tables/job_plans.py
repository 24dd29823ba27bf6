"""Jobs as they are stored: the checked plan with the components it names, once for each digest."""

from __future__ import annotations

import hashlib
from collections import defaultdict

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.types.port import natural_order
from pondage.kernel.control import Index, JobPlan
from pondage.kernel.control.effects import Source
from pondage.kernel.control.shape import DataEdge, PlanComponent, Virtual
from pondage.kernel.streams import Limits
from pondage.ledger.database.driver import Transaction
from pondage.ledger.queue.queues import QueueKey
from pondage.plan.job.stored_job import StoredJob as StoredJob
from pondage.plan.job.stored_job import plans_of, shapes_of
from pondage.plan.job.stored_job import stored_job as stored_job


class JobVersion:
    """A stored job with its look-ups, made once by a process."""

    def __init__(self, stored: StoredJob) -> None:
        self.stored = stored
        self.index = Index(stored.plan)
        self.shapes = {shape.name: shape for shape in shapes_of(stored.plan)}
        self._read = _read_ports(stored.plan, is_fused=False)
        self._read_outside = _read_ports(stored.plan, is_fused=True)
        self._stops: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for data in stored.plan.stops:
            names = [stored.plan.components[at].name for at in (data.source, data.target)]
            self._stops[names[0]].append((data.source_port, names[1]))
        extracts = () if stored.flow is None else stored.flow.extracts.values()
        self._kept: dict[tuple[str, str], int] = {}
        for one in extracts:
            place = (one.node, one.port)
            self._kept[place] = max(self._kept.get(place, 0), one.kept_us)

    def definition(self, shape: PlanComponent) -> ComponentDefinition:
        """Answer the component that an instance is of."""
        return self.stored.components[shape.type]

    def shape_of(self, instance: str) -> PlanComponent:
        """Answer the component that an instance stands for, whichever iteration it is in."""
        return self.shapes[instance.partition("[")[0]]

    def edge(self, source: Source, component: str, port: str) -> DataEdge | None:
        """Answer the edge between an output and an input; None when a joblet lies between them."""
        ends = (self.shape_of(source.instance).name, source.port, component, port)
        for plan in plans_of(self.stored.plan):
            for data in plan.data:
                names = [plan.components[at].name for at in (data.source, data.target)]
                if (names[0], data.source_port, names[1], data.target_port) == ends:
                    return data
        return None

    def limits(self, source: Source, component: str, port: str) -> Limits:
        """Answer how far an input may be behind what it reads: by its edge, else by the job."""
        config, data = self.stored.plan.config, self.edge(source, component, port)
        rows, size = (None, None) if data is None else (data.max_in_flight_rows, data.max_in_flight_bytes)
        return Limits(rows=rows or config.max_in_flight_rows, bytes=size or config.max_in_flight_bytes)

    def code(self, shape: PlanComponent) -> str:
        """Answer the digest of the code that an execution needs; empty when every worker has it."""
        return self.definition(shape).archive or self.stored.archive

    def queue(self, names: list[str]) -> QueueKey:
        """Answer where an execution of these components waits: of one, or of a fused group, whose members are alike."""
        shapes = [self.shapes[name] for name in names]
        first = self.definition(shapes[-1])
        scaling = first.scaling
        return QueueKey(
            code=self.code(shapes[-1]),
            pool=self.stored.pool,
            labels=" ".join(sorted({*shapes[-1].labels, *first.resources.labels, *self.stored.labels})),
            # What every worker has comes along with what it does not: a group is for whoever serves the latter.
            components=" ".join(
                sorted({shape.type for shape in shapes if not self.definition(shape).is_library})
                or sorted({shape.type for shape in shapes})
            ),
            memory=" ".join(first.resources.memory),
            concurrency=scaling.max_concurrency,
            least=scaling.min,
            most=scaling.max,
        )

    def writes(self, shape: PlanComponent, *, is_fused: bool) -> tuple[str, ...]:
        """Answer the outputs that must be written: those that somebody reads outside the execution."""
        return (self._read_outside if is_fused else self._read).get(shape.name, ())

    def stops(self, component: str) -> list[tuple[str, str]]:
        """Answer what a component stops: an output of it, and whom its first row stops."""
        return self._stops.get(component, [])

    def kept_us(self, component: str, port: str) -> int | None:
        """Answer how long an output can be extracted after the end of the run; None when nobody extracts it."""
        return self._kept.get((component, port))

    def siblings(self, shape: PlanComponent) -> list[str]:
        """Answer the components of the joblet call that this one is in."""
        return [one.name for one in self.shapes.values() if shape.caller and one.caller == shape.caller]

    def producers(self, name: str, port: str) -> list[tuple[str, str]]:
        """Answer which components write an output: of a proxy, those behind it."""
        if self.shapes[name].virtual is Virtual.NONE:
            return [(name, port)]
        found = []
        for plan in plans_of(self.stored.plan):
            for data in plan.data:
                target = plan.components[data.target]
                if target.name == name and data.target_port == port:
                    found += self.producers(plan.components[data.source].name, data.source_port)
        return found


def find(tx: Transaction, job: StoredJob) -> int | None:
    """Answer the id of a job that is stored, else None."""
    return tx.row("SELECT id FROM definitions WHERE digest = :digest", int, digest=_digest(job))


def is_like(tx: Transaction, identity: int, job: StoredJob) -> bool:
    """Answer whether a stored job does the same as another one: all is equal but the archive that its code is in.

    Each component has a digest of its own code, so another archive alone means that other files of the project changed.
    """
    body = tx.one("SELECT body FROM definitions WHERE id = :id", str, id=identity)
    return _without_archive(body.encode()) == _without_archive(msgspec.json.encode(job))


def _without_archive(body: bytes) -> bytes:
    found = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    found.pop("archive", None)
    return msgspec.json.encode(found)


def store(tx: Transaction, job: StoredJob) -> int:
    """Write a job once and answer its id."""
    found = find(tx, job)
    if found is not None:
        return found
    # The order of parameters is the author's (the columns of a file, for example), so nothing is sorted.
    return tx.insert(
        "INSERT INTO definitions (digest, body) VALUES (:digest, :body)",
        digest=_digest(job),
        body=msgspec.json.encode(job).decode(),
    )


def _digest(job: StoredJob) -> str:
    return hashlib.sha256(msgspec.json.encode(job)).hexdigest()


def load(tx: Transaction, identity: int) -> JobVersion:
    """Answer a stored job."""
    (stored,) = tx.one("SELECT body FROM definitions WHERE id = :id", tuple[StoredJob], id=identity)
    return JobVersion(stored)


def _read_ports(plan: JobPlan, *, is_fused: bool) -> dict[str, tuple[str, ...]]:
    """Answer the outputs of each component that somebody reads, with `is_fused` somebody outside its group."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for one in plans_of(plan):
        _note_ports(one, found, is_fused=is_fused)
    for name, port in plan.outputs.values():
        found[name][port] = None
    return {name: tuple(natural_order(ports)) for name, ports in found.items()}


def _note_ports(plan: JobPlan, found: dict[str, dict[str, None]], *, is_fused: bool) -> None:
    groups = {at: group for group in plan.groups for at in group} if is_fused else {}
    for data in (*plan.data, *plan.stops):
        if data.is_panic:
            continue  # the ledger knows why something failed; nobody writes it
        if data.gathers:
            found[data.gathers][data.source_port.removeprefix(f"{data.gathers}.")] = None
        elif data.source not in groups or data.target not in groups[data.source]:
            found[plan.components[data.source].name][data.source_port] = None

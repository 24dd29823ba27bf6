"""A flow of three components on a ledger: a writer, an external program, a reader; the test is all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from pondage.define.job.component import ComponentDefinition, definition_of
from pondage.define.job.program import external_program
from pondage.define.types.port import Port
from pondage.define.types.segment import END, Segment
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.attempt.stream_ports import StreamPorts
from pondage.engine.programs.session import ProgramSession
from pondage.ledger.data import segments
from pondage.ledger.data.segments import Stream
from pondage.ledger.kinds.kind import Work
from pondage.program.transport import Transport
from pondage.spark.files.segments import packed, read_bytes, written
from pondage.work.component import ComponentTask
from tests.ledger.harness import World
from tests.ledger.jobs import Jobs, job

FLOW = """
job: {name: flow}
components: [{name: w, type: feed}, {name: x, type: prog, params: {factor: 3}}, {name: r, type: eat}]
connections: {data: [w.out -> x.in, x.out -> r.in]}
"""


def components(
    out: str, command: tuple[str, ...], reads: str, vars_: dict[str, str], takes: Port | None = None
) -> dict[str, ComponentDefinition]:
    """A writer whose segments are followed, and whatever the program gives."""
    prog = definition_of(
        external_program(
            "prog", command=command, transport="unix" if command else "amqp",
            inputs={"in": takes or (out if vars_ else reads)},
            outputs={"out": out}, deterministic=True, vars=vars_,
        )
    )  # fmt: skip
    assert prog is not None
    feed = ComponentDefinition(name="feed", outputs={"out": Port(type=reads)}, mode="stream")
    eat = ComponentDefinition(
        name="eat", inputs={"in": Port(type=reads if vars_ else out)}, mode="stream", deterministic=True
    )
    return {"prog": prog, "feed": feed, "eat": eat}


class Wire(Protocol):
    """A transport under test: both of its ends, and a way to say what no client would."""

    def open(self, session: ProgramSession) -> Transport:
        """Serve a session and answer a client of it."""

    def raw(self, verb: str, port: str, frame: bytes) -> None:
        """Say a verb with any bytes as its frame."""

    def is_gone(self) -> bool:
        """Is nothing left of what the worker made for its program?"""

    def close(self) -> None:
        """End the worker's end."""


class ProgramWorld:
    """What is around a program."""

    def __init__(self, world: World, folder: Path) -> None:
        self.run = Jobs(world)
        self.folder = folder
        self._held: dict[str, Work] = {}
        self._logs: list[AttemptLog] = []

    def close(self) -> None:
        for log in self._logs:
            log.close()

    def start(
        self,
        out: str = "Bytes<text/plain>",
        *,
        command: tuple[str, ...] = ("true",),
        rows: int | None = None,
        reads: str = "Stream<Any>",
        vars: dict[str, str] | None = None,  # noqa: A002 - the manifest's word
        takes: Port | None = None,
    ) -> str:
        """Begin a run; with `rows`, the reader may be that far behind; `takes` is the program's input."""
        edge = "x.out -> r.in" if rows is None else f"{{from: x.out, to: r.in, max_in_flight_rows: {rows}}}"
        return self.run.start(
            job(FLOW.replace("x.out -> r.in", edge), registry=components(out, command, reads, vars or {}, takes))
        )

    def claimed(self, node: str) -> Work:
        while node not in self._held:
            held = self.run.claim()
            assert held is not None, f"{node} cannot be claimed"
            self._held[held.claim.node] = held
        return self._held.pop(node)

    def write(self, held: Work, *datas: bytes, first: int = 0, ends: bool = True) -> None:
        """Put segments into the stream of a component, as a worker would."""
        for seq, data in enumerate(datas, first):
            self._append(held, seq, written(str(self.folder / held.claim.token), seq, data, 1))
        if ends:
            self._append(held, first + len(datas), END)

    def _append(self, held: Work, seq: int, entry: Segment) -> None:
        with self.run.world.ledger.transaction() as tx:
            segments.append(tx, held.claim, self.stream(held), seq, entry)

    def stream(self, held: Work) -> Stream:
        assert isinstance(held.task, ComponentTask)
        return Stream(held.task.run, held.claim.node, "out")

    def read(self, held: Work) -> list[bytes | None]:
        """What is in a stream by now; None is its end."""
        with self.run.world.ledger.reading() as tx:
            found = segments.read(tx, self.stream(held))
        return [None if one.is_eos else read_bytes(one) for one in found]

    def attempt(self, held: Work) -> Attempt:
        log = AttemptLog(self.folder / f"{held.claim.token}.log")
        self._logs.append(log)
        return Attempt(held, log, clock=time.monotonic, on_phase=lambda _phase: None)

    def session(self, attempt: Attempt, table: Callable[..., bytes] | None = None) -> ProgramSession:
        task = attempt.work.given(ComponentTask)
        place = self.folder / attempt.token
        ports = StreamPorts(self.run.world.ledger, attempt, task, lambda port: str(place / port))
        return ProgramSession(attempt, task, ports, table or _no_table)


def _no_table(*_given: object) -> bytes:
    raise AssertionError("there is no table here")


def arrow(**columns: object) -> bytes:
    """Rows as they travel."""
    return packed(pa.table(columns))[0]

"""Executions of a stream that Spark reads for a reactor: every micro-batch becomes one boundary."""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING

import msgspec

from pondage.define.reactor.accumulator import AnyAccumulator
from pondage.define.reactor.boundary import InvalidBoundary
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import bound
from pondage.engine.execute.bench import Bench, KindExecutor
from pondage.engine.process.code import DeployedCode
from pondage.engine.process.places import checkpoint_path
from pondage.errors import PondageError
from pondage.ledger.commit import stream_batches
from pondage.ledger.kinds.stream import AUTHORS_FAULT, STREAM_FAILED, StreamEnded, StreamTask
from pondage.ledger.ledger import Ledger
from pondage.spark.session.errors import explained, is_connection_lost

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_S = 1
"""How often a stream looks whether it is still wanted."""
NOT_OURS = ("SPARK_LOST", "CANCELLED")
"""What ends a stream without being a fault of it: Spark itself went, or somebody ended the work."""
MOST_SIGNALS = 64
"""So many signals may wait for the reactor before a stream waits for it."""


class BatchFailed(PondageError):
    """The author's functions of a stream raised, or gave something that is no boundary."""

    code = AUTHORS_FAULT


class StreamFailed(PondageError):
    """Spark cannot read a stream: not for want of a connection, so it is not tried for ever."""

    code = STREAM_FAILED


class StreamExecutor(KindExecutor):
    """Reads streams for accumulators of reactors."""

    def execute(self, attempt: Attempt, bench: Bench) -> StreamEnded:
        """Read from the stream's checkpoint on, until it is told to end or something fails."""
        task = attempt.work.given(StreamTask)
        with bench.opened(attempt) as session:
            if bench.config.spark.remote is not None:
                raise BatchFailed(
                    f"{task.source} of reactor {task.reactor} cannot be read over Spark Connect: there a micro-batch "
                    "runs on the server, which cannot write to the ledger",
                    hint="run its workers with `master` instead of `remote`",
                )
            stream = _Stream(attempt, task, _accumulator(bench.code, task), bench.ledger)
            return stream.run(session, checkpoint_path(bench.config.warehouse, place=task.place))


def _accumulator(code: DeployedCode, task: StreamTask) -> AnyAccumulator:
    found = next((each for each in code.reactor(task.entry).sources if each.name == task.source), None)
    if found is None or found.hooks.query is None or found.hooks.gather is None:
        raise BatchFailed(
            f"{task.source} of reactor {task.reactor} has no query or no gather",
            hint="declare both: @source.query and @source.gather",
        )
    return found


class _Stream:
    """One execution of a stream: from its checkpoint on, until it is told to end or something fails."""

    def __init__(self, attempt: Attempt, task: StreamTask, accumulator: AnyAccumulator, ledger: Ledger) -> None:
        self._attempt = attempt
        self._task = task
        self._accumulator = accumulator
        self._ledger = ledger
        self._fault: BatchFailed | None = None
        self._is_over = threading.Event()
        self._query_id = ""
        self._has_started = threading.Event()
        gather = accumulator.hooks.gather
        assert gather is not None
        self._takes_batch = "batch" in inspect.signature(gather).parameters

    def run(self, session: SparkSession, checkpoint: str) -> StreamEnded:
        """Read until there is a reason not to; raises BatchFailed for the author's faults, else what Spark raises."""
        try:
            return self._read(self._start(session, checkpoint))
        except PondageError:
            raise
        except Exception as error:
            if self._fault is not None:
                raise self._fault from None
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> Exception:
        """Answer what ends the stream: what Spark says, or the same as a failure that counts."""
        told = explained(error, where=f"{self._task.source} of reactor {self._task.reactor}")
        if told.code in NOT_OURS or is_connection_lost(error):
            return error
        return StreamFailed(told.message, hint=f"pondage logs {self._task.reactor}", place=told.place)

    def _read(self, query: StreamingQuery) -> StreamEnded:
        try:
            if not stream_batches.begin_stream(self._ledger, self._attempt.work, give_up=self._is_unwanted):
                return StreamEnded()
            self._attempt.log.write("INFO", f"reading {self._task.source}, query {query.id}")
            while not self._is_unwanted() and not query.awaitTermination(LOOK_S):
                pass
        finally:
            self._is_over.set()
            query.stop()
        return StreamEnded()

    def _start(self, session: SparkSession, checkpoint: str) -> StreamingQuery:
        read = self._accumulator.hooks.query
        assert read is not None
        try:
            frame = read(session)
            assert hasattr(frame, "writeStream"), "the query gave no DataFrame"
            writer = frame.writeStream.foreachBatch(self._on_batch).option("checkpointLocation", checkpoint)
        except Exception as error:
            raise BatchFailed(f"the query of {self._task.source} failed: {type(error).__name__}: {error}") from error
        if self._task.every is not None:
            writer = writer.trigger(processingTime=f"{self._task.every // 1000} milliseconds")
        query: StreamingQuery = writer.start()
        # Of the checkpoint: the same in every life of the stream.
        self._query_id = str(query.id)
        self._has_started.set()
        return query

    def _on_batch(self, rows: DataFrame, number: int) -> None:
        """Called by Spark, perhaps again after a crash: what was committed before is not committed again."""
        self._has_started.wait()
        self._wait_for_room()
        with bound(self._attempt.log):  # Spark calls from a thread of its own: what it prints belongs here.
            value = self._gathered(rows, number)
        is_ours = stream_batches.commit_batch(
            self._ledger,
            self._attempt.work,
            query=self._query_id,
            batch=number,
            value=value,
            give_up=self._is_unwanted,
        )
        if not is_ours:
            self._is_over.set()
            raise RuntimeError("this stream was given to another worker")

    def _gathered(self, rows: DataFrame, number: int) -> object:
        gather = self._accumulator.hooks.gather
        assert gather is not None
        try:
            value = gather(rows, batch=number) if self._takes_batch else gather(rows)
            checked = None if value is None else self._accumulator.check(value)
            return msgspec.json.decode(msgspec.json.encode(checked))
        except (Exception, InvalidBoundary) as error:
            self._fault = BatchFailed(
                f"{self._task.source} failed at micro-batch {number}: {type(error).__name__}: {error}"
            )
            raise

    def _wait_for_room(self) -> None:
        while stream_batches.is_crowded(self._ledger, self._attempt.work, MOST_SIGNALS):
            if self._is_unwanted() or self._is_over.wait(LOOK_S):
                raise RuntimeError("this stream was told to end")

    def _is_unwanted(self) -> bool:
        return self._is_over.is_set() or self._attempt.taken_away is not None or self._attempt.is_settled

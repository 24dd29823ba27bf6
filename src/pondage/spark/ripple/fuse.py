"""Fused Ripples: their plans inside the plan of the one that reads them, evaluated once, with errors of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from pondage.define.pond.definition import RippleDefinition
from pondage.define.pond.run import Unchanged
from pondage.errors import PondageError
from pondage.spark.files.write import check_output
from pondage.spark.session.code_lines import lines_of
from pondage.spark.session.errors import explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pondage.spark.ripple.ripple import RippleWork

    Read = Callable[[RippleWork], dict[str, DataFrame | None]]
    Call = Callable[[SparkSession, RippleWork, dict[str, DataFrame | None]], DataFrame]


class FusedPlans:
    """The fused Ripples of one work: called with their own inputs, one after the other, as their consumer needs them.

    `read` answers the tables that a work reads from snapshots, `call` the DataFrame of a Ripple.
    """

    def __init__(self, session: SparkSession, work: RippleWork, read: Read, call: Call) -> None:
        self._session = session
        self._work = work
        self._read = read
        self._call = call
        self._frames: dict[str, DataFrame] = {}
        self._works: list[RippleWork] = []

    @property
    def read_freshness(self) -> bool:
        """Answer whether one of them asked for a freshness."""
        return any(work.run.read_freshness for work in self._works)

    def result(self, work: RippleWork | None = None) -> DataFrame:
        """Answer the DataFrame of the work, with the plans of its fused Ripples inside."""
        work = work or self._work
        frames = self._read(work)
        for parameter, member in work.ripple.fused.items():
            frames[parameter] = self._member(member_work(work, member))
        return self._call(self._session, work, frames)

    def is_told(self, error: BaseException) -> bool:
        """Answer whether an error already says which fused Ripple is at fault."""
        told = tuple(_named(work, self._work) for work in self._works)
        return isinstance(error, PondageError) and error.message.startswith(told or "\0")

    def blamed(self, error: PondageError) -> PondageError:
        """Answer an error of the whole plan under the name of the fused Ripple whose code it points at."""
        for work in self._works:
            if _holds(work, error.place):
                error.message = error.message.replace(self._work.where, _named(work, self._work), 1)
                error.args = (error.message,)
        return error

    @contextmanager
    def evaluated_once(self, result: DataFrame) -> Iterator[list[str]]:
        """Keep the rows of each fused Ripple that the plan holds more than once, for as long as the block lasts.

        The block is given their names.

        Written, it would be one table. Evaluated twice, it could be two: `dropDuplicates` keeps any of the equal rows.
        """
        # Spark Connect shows no plan: there a Ripple that is declared deterministic is taken at its word.
        has_plan = bool(self._frames) and hasattr(result, "_jdf")
        plan = str(result._jdf.queryExecution().analyzed().toString()) if has_plan else ""
        doubled = {name: frame for name, frame in self._frames.items() if _times(plan, name) > 1}
        for frame in doubled.values():
            frame.persist()
        try:
            yield list(doubled)
        finally:
            for frame in doubled.values():
                frame.unpersist()

    def _member(self, work: RippleWork) -> DataFrame:
        self._works.append(work)
        named = _named(work, self._work)
        try:
            frame = self.result(work)
            check_output(frame.schema)
        except Unchanged:
            raise PondageError(
                f"{named} called run.unchanged(), but it has no rows of its own that could be unchanged",
                hint="declare it with materialize=True",
                place=_place(work),
                code="FUSED_UNCHANGED",
            ) from None
        except (Exception, SystemExit) as error:
            if self.is_told(error):
                raise
            shown = explained(error, where=named, fallback_place=_place(work))
            if shown is error:
                raise
            raise shown from error
        # The alias is how the plan says how often it holds this Ripple; the optimizer drops it.
        marked = self._frames[work.ripple.name] = frame.alias(_mark(work.ripple.name))
        return marked


def member_work(work: RippleWork, member: RippleDefinition) -> RippleWork:
    """Answer the work of a fused Ripple: its own code and parameters on its part of the consumer's inputs."""
    own = {
        read.parameter: work.inputs[member.input_name(read.parameter)]
        for read in member.reads
        if member.input_name(read.parameter) in work.inputs
    }
    return msgspec.structs.replace(
        work,
        ripple=member,
        function=work.fused.get(member.name),
        inputs=own,
        run=work.run.of_fused(member.parameters, f"pondage.ripple.{work.pond}.{member.name}"),
        checks={},
        contract=None,
        path=member.input_name(""),
    )


def _mark(name: str) -> str:
    return f"pondage_fused_{name}"


def _times(plan: str, name: str) -> int:
    return len(re.findall(rf"SubqueryAlias {_mark(name)}\b", plan))


def _named(work: RippleWork, consumer: RippleWork) -> str:
    return f"{work.where} (fused into {consumer.ripple.name})"


def _place(work: RippleWork) -> str | None:
    code = getattr(work.function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else work.place


def _holds(work: RippleWork, place: str | None) -> bool:
    code = getattr(work.function, "__code__", None)
    file, _, line = (place or "").rpartition(":")
    if code is None or file != code.co_filename or not line.isdigit():
        return False
    return int(line) in lines_of(code)

"""Probes: the cheap question of an Inlet, asked before its data is read. An equal answer means that nothing changed."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from pondage.define.pond.pond import Pond
from pondage.define.pond.run import Run
from pondage.define.pond.signature import signature_of
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_encoder = msgspec.json.Encoder(order="deterministic")


class BadProbe(PondageError):
    """A probe answered something that cannot be remembered and compared."""

    code = "BAD_PROBE"


class ProbeFailed(PondageError):
    """A probe raised. It is a failure of its Ripple, with the author's line; `trace` is for those who ask."""

    code = "PROBE_FAILED"
    trace = ""


class Probe:
    """The probe of one Ripple. One that does not ask for `spark` is answered without starting Spark."""

    def __init__(self, function: Callable[..., object], where: str) -> None:
        self._function = function
        self._where = where
        self._injects = signature_of(function).injects

    @property
    def needs_spark(self) -> bool:
        """Answer whether the function asks for a session."""
        return "spark" in self._injects

    def answer(self, run: Run, spark: SparkSession | None = None) -> str:
        """Call the author's function and answer its value as JSON; raises `ProbeFailed` or `BadProbe`."""
        given: dict[str, object] = {"run": run, "spark": spark}
        try:
            value = self._function(**{name: given[name] for name in self._injects})
        except Exception as error:
            # A refused connection here is the author's, never that to Spark.
            failed = ProbeFailed(
                f"the probe of {self._where}: {type(error).__name__}: {error}", place=self._place(error)
            )
            failed.trace = traceback.format_exc()
            raise failed from error
        try:
            return _encoder.encode(value).decode()
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise BadProbe(
                f"the probe of {self._where} answered a {type(value).__name__}, which JSON cannot hold: {error}",
                hint="answer a text, a number, or lists and dictionaries of them",
                place=self._place(),
            ) from error

    def _place(self, error: BaseException | None = None) -> str | None:
        code = getattr(self._function, "__code__", None)
        if code is None:
            return None
        frames = traceback.extract_tb(None if error is None else error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == code.co_filename]
        return f"{code.co_filename}:{lines[-1] if lines else code.co_firstlineno}"


def probe_of(pond: Pond, ripple: str) -> Probe | None:
    """Answer the probe that the author declared for a Ripple, or None."""
    function = pond.probe_of(ripple)
    return None if function is None else Probe(function, f"{pond.name}.{ripple}")

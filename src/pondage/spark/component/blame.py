"""Whose code failed, when the tables of a fused group are computed by one write at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from pondage.spark.component.inputs import Frames
from pondage.spark.session.code_lines import lines_of
from pondage.spark.session.errors import explained, places

_OF_SPARK = (PySparkException, Py4JJavaError)
"""What Spark raises: pyspark has classes for what it knows, and what fails in a task may come as it is in Java."""


def guilty(error: BaseException, functions: Mapping[str, Callable[..., object]], made: Frames) -> list[str]:
    """Answer the member whose code failed, or all of them when that cannot be told.

    An error that names lines belongs to the member whose function has the innermost of them. Where it names none, or
    one of a function that several share, the tables that the members gave are computed in turn, the last one's not:
    the first that fails in the same way is at fault. That takes as long as the group did once more, at most, for each.
    """
    found = next((names for place in places(error) if (names := _holding(functions, place))), list(functions))
    if len(found) == 1 or not isinstance(error, _OF_SPARK):
        return found if len(found) == 1 else list(functions)
    last = list(functions)[-1]
    for name in found:
        if name != last and _fails_alike(error, [frame for (one, _), frame in made.items() if one == name]):
            return [name]
    return list(functions)


def _holding(functions: Mapping[str, Callable[..., object]], place: tuple[str, int]) -> list[str]:
    """Answer the members whose functions have this line: several when they share one."""
    file, line = place
    codes = {name: getattr(function, "__code__", None) for name, function in functions.items()}
    return [
        name for name, code in codes.items() if code is not None and code.co_filename == file and line in lines_of(code)
    ]


def _fails_alike(error: BaseException, frames: list[object]) -> bool:
    for frame in frames:
        if not isinstance(frame, DataFrame):
            continue
        try:
            frame.write.format("noop").mode("overwrite").save()
        except _OF_SPARK as again:
            return _same(error, again)
    return False


def _same(error: BaseException, again: BaseException) -> bool:
    """Answer whether two failures are one, however a write wraps what failed: by its condition, or by what is said.

    A record that cannot be read is shown with the columns that were asked for, which need not be the same.
    """
    if isinstance(error, PySparkException) and isinstance(again, PySparkException):
        return error.getCondition() == again.getCondition() or _said(error) == _said(again)
    return _said(error) == _said(again)


def _said(error: BaseException) -> str:
    return explained(error, where="").message.partition(": [")[0]

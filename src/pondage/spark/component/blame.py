"""Whose code failed, when the tables of a fused group are computed by one write at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from pondage.spark.component.inputs import Frames
from pondage.spark.session.code_lines import lines_of
from pondage.spark.session.errors import places


def guilty(error: BaseException, functions: Mapping[str, Callable[..., object]], made: Frames) -> list[str]:
    """Answer the member whose code failed, or all of them when that cannot be told.

    An error that names lines belongs to the member whose function has the innermost of them. Where it names none, or
    one of a function that several share, the tables that the members gave are computed in turn, the last one's not:
    the first that fails in the same way is at fault. That takes as long as the group did once more, at most, for each.
    """
    found = next((names for place in places(error) if (names := _holding(functions, place))), list(functions))
    if len(found) == 1 or not isinstance(error, PySparkException):
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


def _fails_alike(error: PySparkException, frames: list[object]) -> bool:
    for frame in frames:
        if not isinstance(frame, DataFrame):
            continue
        try:
            frame.write.format("noop").mode("overwrite").save()
        except PySparkException as again:
            return again.getCondition() == error.getCondition()
    return False

"""Where an author wrote something: the `file:line` that every error of a declaration carries."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

# Strings, because they are compared with the raw file names of code.
_DEFINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
_OURS = (_DEFINE, os.path.join(os.path.dirname(_DEFINE), "reactors.py"))  # noqa: PTH118, PTH120


def place_of_caller() -> str:
    """Answer `file:line` of the nearest caller outside of `define`: the line that the author wrote."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def place_of_function(function: Callable[..., object]) -> str:
    """Answer `file:line` of a function, or of the caller when the object has no code of its own."""
    code = getattr(function, "__code__", None)
    if code is None:
        return place_of_caller()
    return f"{code.co_filename}:{code.co_firstlineno}"

"""What an author most likely meant by a name that Python does not know: an import, a variable or an argument."""

from __future__ import annotations

import builtins
import inspect
import re
import sys
from collections.abc import Iterable

from pondage.define.values.meant import nearest

_ARGUMENT = re.compile(r"(?P<function>\w+)\(\) got an unexpected keyword argument '(?P<name>\w+)'")
_IMPORT = re.compile(r"cannot import name '(?P<name>\w+)'")


def instead(error: BaseException) -> str | None:
    """Answer the hint for an error of an imported module; None when nothing near is known."""
    text = str(error)
    if isinstance(error, ImportError) and (found := _IMPORT.match(text)):
        return _near(found["name"], dir(sys.modules.get(error.name or "")))
    if isinstance(error, NameError) and error.name:
        return _near(error.name, _visible(error))
    if isinstance(error, TypeError) and (found := _ARGUMENT.search(text)):
        function = getattr(sys.modules["pondage"], found["function"], None)
        return _near(found["name"], inspect.signature(function).parameters) if callable(function) else None
    return None


def _visible(error: BaseException) -> set[str]:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    frame = None if trace is None else trace.tb_frame
    names = set(dir(builtins))
    return names if frame is None else names | set(frame.f_globals) | set(frame.f_locals)


def _near(wrong: str, known: Iterable[str]) -> str | None:
    found = nearest(wrong, known, likeness=0.7)
    return None if found is None else f"did you mean {found!r}?"

"""Components without data: set_globals, log_globals, sleep, fail. None of them starts Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import EXPRESSION, NAMES, TEXT, parameters, shipped
from pondage.define.job.component import component
from pondage.define.types.port import Port
from pondage.errors import PondageError
from pondage.expr import ExprError, ExprSyntax, ExprTimeout, Missing, compile_text, evaluate

if TYPE_CHECKING:
    from pondage.define.job.component_run import ComponentRun

LONGEST_S = 86_400
_TRIGGER = {"input": Port("Any", required=False)}
"""Any data may be connected, so that these can stand in the body of an iterator; a table is not read."""


class Failed(PondageError):
    """A job asked for this failure."""

    code = "FAILED"


class _Names:
    """What an expression outside of rows sees: globals by bare names or as `global.x`, and the context."""

    def __init__(self, run: ComponentRun) -> None:
        self._globals = run.globals
        self.context = run.context

    def name(self, name: str) -> object:
        if name not in self._globals:
            raise Missing(name)
        return self._globals[name]

    glob = name


def computed(text: str, run: ComponentRun) -> object:
    """Evaluate an expression over the globals and the context; raises PondageError."""
    try:
        return evaluate(compile_text(text), _Names(run))
    except ExprSyntax as error:
        raise PondageError(f"{text!r}: {error}", code="EXPR_SYNTAX") from None
    except (ExprError, ExprTimeout) as error:
        raise PondageError(f"{text!r}: {error}", code=type(error).__name__) from None
    except Missing as error:
        raise PondageError(f"{text!r}: there is no global {error}", code="ExprError") from None


@component(
    "set_globals",
    inputs=_TRIGGER,
    params=parameters(
        values={"type": "object"}, computed={"type": "object", "additionalProperties": EXPRESSION}, delete=NAMES
    ),
    after=(),
)
def set_globals(input: object = None, *, params: Mapping[str, Any], run: ComponentRun) -> None:  # noqa: A002 - the port
    """Write globals: `values: {limit: 10}` as they stand, `computed: {next: "limit + 1"}` by expressions.

    `delete` takes globals away. A later expression sees the ones before it.
    """
    del input
    for key, value in params.get("values", {}).items():
        run.globals[key] = value
    for key, text in params.get("computed", {}).items():
        run.globals[key] = computed(text, run)
    for key in params.get("delete", ()):
        run.globals.pop(key, None)


@shipped("log_globals", inputs=_TRIGGER, params=parameters(keys=NAMES))
def log_globals(input: object = None, *, params: Mapping[str, Any], run: ComponentRun) -> None:  # noqa: A002 - the port
    """Write globals to the log: those of `keys`, or all that it sees."""
    del input
    for key in params.get("keys") or sorted(run.globals):
        run.log.info("%s = %r", key, run.globals.get(key))


@shipped(
    "sleep",
    inputs=_TRIGGER,
    params=parameters("seconds", seconds={"type": "number", "minimum": 0, "maximum": LONGEST_S}),
)
def sleep(input: object = None, *, params: Mapping[str, Any], run: ComponentRun) -> None:  # noqa: A002 - the port
    """Wait for some seconds, or until it is asked to stop."""
    del input
    run.wait_stop(params["seconds"])


@shipped(
    "fail",
    inputs=_TRIGGER,
    params=parameters(message=TEXT, when=EXPRESSION),
)
def fail(input: object = None, *, params: Mapping[str, Any], run: ComponentRun) -> None:  # noqa: A002 - the port
    """Fail with a message; with `when`, only if that expression over globals and context is true."""
    del input
    if "when" not in params or computed(params["when"], run):
        raise Failed(params.get("message", "the job asked for it"))

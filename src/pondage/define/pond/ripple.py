"""Ripples and Sources as an author holds them: objects that know the functions."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from pondage.define.pond.definition import ExpectationDefinition, Scalar, SourceDefinition
from pondage.define.pond.expectation import Expectation
from pondage.define.pond.signature import Signature
from pondage.define.values.names import checked_name, parsed_minimum
from pondage.define.values.place import place_of_caller
from pondage.errors import DefinitionError


class RippleReference(msgspec.Struct, frozen=True):
    """A Ripple of a Source, as `source["name"]` answers it: what `reads=` takes."""

    pond: str
    ripple: str
    columns: tuple[str, ...] | None = None


class Source:
    """Another Pond that a Pond reads: `Source("fx", ">=1.2", required=False)`; `source["rates"]` is a Ripple of it.

    The minimum binds within its major version. A Source that is not required never holds its Sink up: as long as it has
    not published, the parameter is None. `columns` says which columns are consumed, so that the reader prunes the rest.
    """

    def __init__(
        self,
        name: str,
        minimum: str | None = None,
        *,
        required: bool = True,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.place = place_of_caller()
        self.columns = _checked_columns(columns, self.place)
        self.definition = SourceDefinition(
            pond=checked_name(name, what="Source", place=self.place),
            minimum=None if minimum is None else parsed_minimum(minimum, place=self.place),
            required=required,
        )

    @property
    def name(self) -> str:
        """Answer the name of the Pond that is read."""
        return self.definition.pond

    def __getitem__(self, ripple: str) -> RippleReference:
        checked_name(ripple, what="Ripple", place=place_of_caller())
        return RippleReference(self.name, ripple, self.columns)

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


class Ripple(msgspec.Struct, frozen=True, kw_only=True):
    """One transformation as it was declared. `function` is the author's own; None when the body is in a file.

    `reads` holds what the author said explicitly; parameters that are not in it are found by name. `changes` are tables
    that it has no parameter for.
    """

    name: str
    place: str
    function: Callable[..., object] | None = None
    sql_path: str | None = None
    job_path: str | None = None
    signature: Signature = Signature(tables=(), injects=())
    reads: Mapping[str, RippleReference | str] = {}
    changes: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    parameters: Mapping[str, Scalar] = {}
    description: str = ""
    always: bool = False
    timeout_s: float | None = None
    progress_lease_s: float | None = None
    materialize: bool | None = None
    is_deterministic: bool = True

    @property
    def kind(self) -> Literal["function", "sql", "job"]:
        """Answer what its body is."""
        return "sql" if self.sql_path is not None else "job" if self.job_path is not None else "function"

    def expectation(self, name: str) -> Expectation:
        """Answer the expectation of that name, with the author's function; raises KeyError when there is none."""
        for each in self.expectations:
            if each.name == name:
                return each
        raise KeyError(name)

    @property
    def references(self) -> tuple[ExpectationDefinition, ...]:
        """Answer the foreign keys among the expectations, each table and column once."""
        rules = (each.definition for each in self.expectations if each.definition.kind == "foreign_key")
        return tuple({rule.input: rule for rule in rules}.values())


class SqlInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader found in the file of a Ripple: the text to execute (of a job the checked job) and its tables.

    `tables` maps the name under which the text asks for a table to what the author wrote: `orders`, or `sales.clean`.
    """

    text: str
    tables: Mapping[str, str]
    source: str = ""


def checked_parameters(parameters: Mapping[str, Scalar], place: str) -> dict[str, Scalar]:
    """Answer declared parameters, or raise `DefinitionError` for a value that JSON cannot hold as it is."""
    for name, value in parameters.items():
        checked_name(name, what="parameter", place=place)
        if not isinstance(value, (str, int, float, bool, type(None))):
            raise DefinitionError(
                f"parameter {name!r} is {value!r}",
                hint="use a text, a number, a truth value or None",
                place=place,
                code="BAD_PARAMETER",
            )
    return dict(parameters)


def refuse_for_job(mode: str, expectations: tuple[Expectation, ...], place: str) -> tuple[Expectation, ...]:
    """Answer the expectations of a Ripple whose body is a job, or raise `DefinitionError` for what it cannot have."""
    own = [each.name for each in expectations if each.function is not None]
    if own:
        raise DefinitionError(
            f"the expectation {own[0]!r} is a function, and the body of this Ripple is a job",
            hint="check it with a component of the job, for example `assert`",
            place=place,
            code="BAD_EXPECTATION",
        )
    if mode not in ("replace", "auto"):
        raise DefinitionError(
            f'a Ripple whose body is a job makes its whole table, and this Pond has mode="{mode}"',
            hint='put it into a Pond with mode="replace" (or "auto", which computes it whole)',
            place=place,
            code="BAD_MODE",
        )
    return expectations


def source_text(ripple: Ripple, inputs: SqlInputs | None) -> str:
    """Answer the text that a person reads: the function's source or the SQL as written."""
    if inputs is not None:
        return inputs.source
    if ripple.function is None:
        return ""
    try:
        return textwrap.dedent(inspect.getsource(ripple.function))
    except (OSError, TypeError):
        return ""


def _checked_columns(columns: object, place: str) -> tuple[str, ...] | None:
    if columns is None:
        return None
    given = tuple(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else ()
    if not given or not all(isinstance(each, str) and each for each in given):
        raise DefinitionError(
            f"columns= takes a list of column names, not {columns!r}",
            hint='write columns=["id", "amount"]',
            place=place,
            code="BAD_COLUMNS",
        )
    return tuple(dict.fromkeys(given))

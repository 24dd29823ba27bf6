"""What a Ripple's function asks for: read from its parameters, without calling it."""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Callable

import msgspec

from pondage.define.values.place import place_of_function
from pondage.errors import DefinitionError


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter that stands for a table: `optional` when it is written `name: X | None = None`."""

    name: str
    optional: bool


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """The tables a function reads, in order, and which of `spark` and `run` it wants."""

    tables: tuple[Parameter, ...]
    injects: tuple[typing.Literal["spark", "run"], ...]


def signature_of(function: Callable[..., object]) -> Signature:
    """Answer what the function asks for; raises `DefinitionError` for parameters that nobody could fill.

    A parameter with a default other than None belongs to the author and is left alone.
    """
    place = place_of_function(function)
    tables: list[Parameter] = []
    injects: list[typing.Literal["spark", "run"]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise DefinitionError(
                f"parameter {str(parameter)!r} of {function.__name__} cannot be filled by name",
                hint="name each table as a plain parameter; no *args, **kwargs or positional-only ones",
                place=place,
                code="BAD_PARAMETER",
            )
        if parameter.name == "spark":
            injects.append("spark")
        elif parameter.name == "run":
            injects.append("run")
        elif parameter.default is parameter.empty:
            _refuse_none_without_default(function, parameter, place)
            tables.append(Parameter(name=parameter.name, optional=False))
        elif parameter.default is None:
            _refuse_default_without_none(function, parameter, place)
            tables.append(Parameter(name=parameter.name, optional=True))
    return Signature(tables=tuple(tables), injects=tuple(injects))


def _refuse_none_without_default(function: Callable[..., object], parameter: inspect.Parameter, place: str) -> None:
    if not _says_nothing(parameter) and _allows_none(parameter.annotation):
        raise DefinitionError(
            f"parameter {parameter.name!r} of {function.__name__} may be None but has no default",
            hint=f"an optional Source is written `{parameter.name}: DataFrame | None = None`",
            place=place,
            code="BAD_PARAMETER",
        )


def _refuse_default_without_none(function: Callable[..., object], parameter: inspect.Parameter, place: str) -> None:
    if not _says_nothing(parameter) and not _allows_none(parameter.annotation):
        raise DefinitionError(
            f"parameter {parameter.name!r} of {function.__name__} has the default None but its type does not allow it",
            hint=f"an optional Source is written `{parameter.name}: DataFrame | None = None`",
            place=place,
            code="BAD_PARAMETER",
        )


def _says_nothing(parameter: inspect.Parameter) -> bool:
    return parameter.annotation in (parameter.empty, typing.Any, "Any", "typing.Any")


def _allows_none(annotation: object) -> bool:
    if annotation is None or annotation is type(None):
        return True
    if isinstance(annotation, str):
        try:
            return _text_allows_none(ast.parse(annotation, mode="eval").body)
        except SyntaxError:
            return False
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return any(_allows_none(each) for each in typing.get_args(annotation))
    return False


def _text_allows_none(node: ast.expr) -> bool:
    # Under `from __future__ import annotations` types are texts, and resolving them would import Spark.
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Constant(value=str(text)):
            return _allows_none(text)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _text_allows_none(left) or _text_allows_none(right)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional")):
            return True
        case ast.Subscript(value=ast.Name(id="Union") | ast.Attribute(attr="Union"), slice=ast.Tuple(elts=parts)):
            return any(_text_allows_none(each) for each in parts)
    return False

"""The safe expression language as Columns: function by function, never as SQL text.

An expression means the same as in `expr/evaluate.py`, with what a column can hold: whole numbers have 64 bits, a row in
which the evaluator would raise an error has null, and kinds that do not belong together are refused before a row
is read. Three things remain Spark's: NaN equals itself and is the largest number, whole numbers beyond 53 bits are
compared with fractions as doubles, and `round(x, digits)` rounds the shown digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import ArrayType, StructType

from pondage.expr import ExprSyntax, compile_text
from pondage.expr.nodes import Binary, Call, Compare, Constant, Dot, Item, Logic, Name, Node, Sequence, Unary
from pondage.expr.show import shown
from pondage.spark.expr.calls import called
from pondage.spark.expr.operators import among, arithmetic, compared, contained, negative
from pondage.spark.expr.values import ExpressionType, Value, constant, guarded, of_type, truth
from pondage.spark.types.names import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def column_of(
    frame: DataFrame,
    text: str,
    *,
    globals: Mapping[str, object] | None = None,  # noqa: A002 - the rulebook's word
    context: Mapping[str, object] | None = None,
) -> Column:
    """Compile an expression over the columns of a frame; raises ExpressionType, which shows the wrong part."""
    return _compiled(frame, text, globals or {}, context or {}).column


def condition_of(
    frame: DataFrame,
    text: str,
    *,
    globals: Mapping[str, object] | None = None,  # noqa: A002 - the rulebook's word
    context: Mapping[str, object] | None = None,
) -> Column:
    """Compile a condition: true or false, and null in the rows where it cannot be told."""
    value = _compiled(frame, text, globals or {}, context or {})
    return guarded(truth(value), "bool", value).column


def _compiled(frame: DataFrame, text: str, known: Mapping[str, object], context: Mapping[str, object]) -> Value:
    try:
        tree = compile_text(text)
    except ExprSyntax as error:
        raise ExpressionType(f"{text!r}: {error}", code="EXPR_SYNTAX") from None
    return _Compiler(frame.schema, {"global": known, "context": context}).visit(tree)


class _Compiler:
    def __init__(self, schema: StructType, roots: Mapping[str, Mapping[str, object]]) -> None:
        self.schema = schema
        self.roots = roots

    def visit(self, node: Node) -> Value:
        try:
            return self.look(node)
        except ExpressionType as error:
            if not error.place:
                error.place = shown(node)
                error.message = f"{error.message}: in {error.place}"
                error.args = (error.message,)
            raise

    def look(self, node: Node) -> Value:
        match node:
            case Constant():
                return constant(node.value)
            case Name():
                return self.named(node.name)
            case Dot():
                return self.field(node.value, node.field)
            case Item():
                return self.item(node)
            case Unary():
                value = self.visit(node.value)
                return guarded(~truth(value), "bool", value) if node.operator == "not" else negative(value, node)
            case Binary():
                return arithmetic(node.operator, self.visit(node.left), self.visit(node.right))
            case Compare():
                return self.chain(node)
            case Logic():
                return self.logic(node)
            case Sequence():
                raise ExpressionType("a list can only stand on the right of `in`")
            case Call():
                return called(node, [self.visit(argument) for argument in node.arguments])

    def named(self, name: str) -> Value:
        if name in self.roots:
            raise ExpressionType(f"{name} is no value", hint=f"write {name}.NAME")
        if name not in self.schema.names:
            raise ExpressionType(f"there is no column {name!r}", hint=f"the table has {', '.join(self.schema.names)}")
        return of_type(F.col(quoted(name)), self.schema[name].dataType)

    def field(self, of: Node, name: str) -> Value:
        outside = self.outside(Dot(of, name))
        if outside is not _NOT_OUTSIDE:
            return constant(outside)
        value = self.visit(of)
        if not isinstance(value.type, StructType):
            raise ExpressionType(f"{shown(of)} has no fields")
        if name not in value.type.names:
            raise ExpressionType(f"{shown(of)} has no field {name!r}", hint=f"it has {', '.join(value.type.names)}")
        found, is_lost = value.column.getField(name), value.column.isNull()
        return of_type(found, value.type[name].dataType, fails=is_lost, weight=value.weight + 1)

    def outside(self, node: Node) -> object:
        """Give a value of `global` or `context`; those are known before the rows are."""
        match node:
            case Name() if node.name in self.roots:
                return self.roots[node.name]
            case Dot() | Item(key=Constant()):
                holder = self.outside(node.value)
                if holder is _NOT_OUTSIDE:
                    return _NOT_OUTSIDE
                key = node.field if isinstance(node, Dot) else node.key.value  # type: ignore[union-attr]
                try:
                    return holder[key]  # type: ignore[index]
                except (KeyError, IndexError, TypeError):
                    raise ExpressionType(f"{shown(node)} does not exist") from None
            case _:
                return _NOT_OUTSIDE

    def item(self, node: Item) -> Value:
        outside = self.outside(node)
        if outside is not _NOT_OUTSIDE:
            return constant(outside)
        if isinstance(node.key, Constant) and isinstance(node.key.value, str):
            return self.field(node.value, node.key.value)
        value, key = self.visit(node.value), self.visit(node.key)
        if key.kind != "int":
            raise ExpressionType("an index is a whole number")
        size = F.size(value.column) if value.kind == "list" else F.char_length(value.column)
        from_one = F.when(key.column < 0, key.column + size + 1).otherwise(key.column + 1).cast("int")
        is_there = F.coalesce((key.column >= -size) & (key.column < size), F.lit(False))
        weight = 4 * (value.weight + key.weight)
        if value.kind == "text":
            return Value(
                F.when(is_there, value.column.substr(from_one, F.lit(1))), "text", fails=~is_there, weight=weight
            )
        if not isinstance(value.type, ArrayType):
            raise ExpressionType(f"{shown(node.value)} has no elements")
        found = F.when(is_there, F.try_element_at(value.column, from_one))
        return of_type(found, value.type.elementType, fails=~is_there, weight=weight)

    def chain(self, node: Compare) -> Value:
        """`a < b < c` is `a < b and b < c`, and what follows a false part never counts."""
        links = []
        for at, operator in enumerate(node.operators):
            left, right = node.values[at], node.values[at + 1]
            if operator in ("in", "not in"):
                found = self.contained(left, right)
                links.append(found if operator == "in" else guarded(~found.column, "bool", found))
            else:
                links.append(compared(operator, self.visit(left), self.visit(right)))
        return self.decided("and", links)

    def contained(self, left: Node, right: Node) -> Value:
        value = self.visit(left)
        if isinstance(right, Sequence):
            return among(value, [self.visit(one) for one in right.values])
        outside = self.outside(right)
        if isinstance(outside, list):
            return among(value, [constant(one) for one in outside])
        return contained(value, self.visit(right))

    def logic(self, node: Logic) -> Value:
        return self.decided(node.operator, [self.visit(one) for one in node.values])

    def decided(self, operator: str, values: list[Value]) -> Value:
        """Take values from the left until one decides; the rest is not looked at, not even where it would fail."""
        kinds = {value.kind for value in values if value.kind != "null"}
        if len(kinds) > 1:
            raise ExpressionType(f"`{operator}` takes values of one kind, not {' and '.join(sorted(kinds))}",
                                 hint="make each a condition, like `name != ''`")  # fmt: skip
        result = values[-1]
        for value in reversed(values[:-1]):
            stops = truth(value) if operator == "or" else ~truth(value)
            if value.fails is not None:
                stops = stops | value.fails
            later = result.fails
            fails = None if value.fails is None and later is None else (
                F.when(stops, F.lit(False) if value.fails is None else value.fails)
                .otherwise(F.lit(False) if later is None else later))  # fmt: skip
            result = Value(
                F.when(stops, value.column).otherwise(result.column),
                value.kind if value.kind != "null" else result.kind,
                data_type=value.type or result.type,
                fails=fails,
                may_be_null=value.may_be_null or result.may_be_null,
                weight=3 * value.weight + 2 * result.weight if fails is not None else 2 * value.weight + result.weight,
            )
        return result


_NOT_OUTSIDE = object()

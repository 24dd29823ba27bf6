"""Names of tables in an SQL text, as Spark's own parser sees them, and giving them other names.

A DataFrame becomes visible to SQL as a temporary view, whose name has one part; an author or an operator writes
`pond.ripple`. So each such name is replaced where the parser says that it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from py4j.java_gateway import JavaObject, is_instance_of

from pondage.errors import PondageError
from pondage.spark.session.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_NODES = 20_000
_RELATION = "org.apache.spark.sql.catalyst.analysis.UnresolvedRelation"
_COMMON_TABLES = "org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith"
# Leaves that hold nothing to look at; walking into a schema would only cost calls.
_PASSED_OVER = ("org.apache.spark.sql.types.", "org.apache.spark.sql.util.", "java.", "scala.runtime.")


class TableName(msgspec.Struct, frozen=True, kw_only=True):
    """A table name in the text: its parts, and where it stands (`end` is the first character after it)."""

    parts: tuple[str, ...]
    start: int
    end: int
    has_options: bool = False

    @property
    def text(self) -> str:
        """Answer the name with dots."""
        return ".".join(self.parts)


class PlanNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node or value of a parsed plan: its class, whether it is an operator of the plan, and itself, in the JVM."""

    kind: str
    is_operator: bool
    node: Any


class ParsedSql:
    """An SQL text with Spark's parsed plan. Parsing looks nothing up and reads nothing."""

    def __init__(self, session: SparkSession, text: str) -> None:
        """Parse the text; raises Spark's ParseException, and `PondageError` (NO_CONNECT) where no plan is shown."""
        if is_connect(session):
            raise PondageError(
                "a Spark Connect server shows no plan, so this SQL cannot be looked at",
                code="NO_CONNECT",
                hint="read the tables by their stable names (`pondage show` prints them), or let a worker use `master`",
            )
        self.text = text
        self._gateway = session.sparkContext._gateway
        self._kinds: dict[str, tuple[bool, bool, bool]] = {}
        self._plan = session._jsparkSession.sessionState().sqlParser().parsePlan(text)
        self.nodes = self._walked()

    @property
    def tables(self) -> tuple[TableName, ...]:
        """Answer every table name, also in subqueries and also when it means a common table, by its place."""
        found = [_table(each.node) for each in self.nodes if each.kind == _RELATION]
        return tuple(sorted(found, key=lambda table: table.start))

    @property
    def common_tables(self) -> frozenset[str]:
        """Answer the names that the text itself defines with WITH, in lower case."""
        names: set[str] = set()
        for each in self.nodes:
            if each.kind == _COMMON_TABLES:
                relations = each.node.cteRelations()
                names.update(str(relations.apply(number)._1()).casefold() for number in range(relations.size()))
        return frozenset(names)

    def replaced(self, names: Mapping[tuple[str, ...], str]) -> str:
        """Answer the text with the view's name (see `view_names`) for each table name that has more than one part."""
        text = self.text
        for table in reversed(self.tables):
            new = names.get(tuple(part.casefold() for part in table.parts))
            if new is not None and len(table.parts) > 1:
                text = f"{text[: table.start]}`{new}`{text[table.end :]}"
        return text

    def _walked(self) -> list[PlanNode]:
        """Answer everything in the plan.

        The walk goes through every field of every node, so that nothing is missed because Spark does not call it a
        child: common tables, subqueries inside expressions, the script of a TRANSFORM.
        """
        found: list[PlanNode] = []
        pending: list[Any] = [self._plan]
        while pending:
            node = pending.pop()
            if not isinstance(node, JavaObject):
                continue  # a text or a number
            kind = str(node.getClass().getName())
            if kind.startswith(_PASSED_OVER):
                continue
            is_product, is_iterable, is_operator = self._kind(kind, node)
            if is_iterable:
                iterator = node.iterator()
                while iterator.hasNext():
                    pending.append(iterator.next())
            elif is_product:
                pending += [node.productElement(number) for number in range(node.productArity())]
            found.append(PlanNode(kind=kind, is_operator=is_operator, node=node))
            if len(found) > _MOST_NODES:
                raise PondageError("the SQL text is too large", code="QUERY_TOO_LARGE")
        return found

    def _kind(self, kind: str, node: JavaObject) -> tuple[bool, bool, bool]:
        if kind not in self._kinds:
            self._kinds[kind] = (
                is_instance_of(self._gateway, node, "scala.Product"),
                is_instance_of(self._gateway, node, "scala.collection.Iterable"),
                is_instance_of(self._gateway, node, "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"),
            )
        return self._kinds[kind]


def bound_names(frames: Mapping[str, DataFrame]) -> None:
    """Register each DataFrame under its name where the text cannot be parsed; raises `PondageError` (NO_CONNECT)."""
    for name, frame in frames.items():
        if "." in name:
            raise PondageError(
                f"SQL that reads {name} by two names cannot run on Spark Connect",
                code="NO_CONNECT",
                hint="give the table a name of one part with `reads={…}`",
            )
        frame.createOrReplaceTempView(f"`{name}`")


def bound_sql(parsed: ParsedSql, frames: Mapping[str, DataFrame]) -> tuple[str, frozenset[str]]:
    """Register each DataFrame as a temporary view of its session; answer the text that reads them, and their names.

    Keys are the names in the text, with one part or two (`pond.ripple`). A table of two parts gets its last part as
    the view's name where that is free, so that `ripple.column` can be written too.
    """
    names = view_names(frames, parsed.common_tables)
    for name, frame in frames.items():
        frame.createOrReplaceTempView(f"`{names[_parts(name)]}`")
    return parsed.replaced(names), frozenset(names.values())


def view_names(tables: Mapping[str, object], common_tables: frozenset[str]) -> dict[tuple[str, ...], str]:
    """Answer the view's name for the parts of each table name, all different and none hidden by a common table."""
    taken = set(common_tables) | {name.casefold() for name in tables if "." not in name}
    names = {_parts(name): name.casefold() for name in tables if "." not in name}
    for name in sorted(tables):
        if "." in name:
            last = _parts(name)[-1]
            view = last if last not in taken else "__".join(_parts(name))
            while view in taken:
                view += "_"
            taken.add(view)
            names[_parts(name)] = view
    return names


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.casefold() for part in name.split("."))


def _table(node: Any) -> TableName:
    identifier = node.multipartIdentifier()
    origin = node.origin()
    return TableName(
        parts=tuple(str(identifier.apply(number)) for number in range(identifier.size())),
        start=int(origin.startIndex().get()),
        end=int(origin.stopIndex().get()) + 1,
        has_options=not node.options().isEmpty(),
    )

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


class ParsedSql:
    """An SQL text with Spark's parsed plan. Parsing looks nothing up and reads nothing."""

    def __init__(self, session: SparkSession, text: str) -> None:
        """Parse the text; raises Spark's ParseException."""
        self.text = text
        self._gateway = session.sparkContext._gateway
        self._kinds: dict[str, tuple[bool, bool]] = {}
        self._plan = session._jsparkSession.sessionState().sqlParser().parsePlan(text)
        self.nodes = self._walked()

    @property
    def tables(self) -> tuple[TableName, ...]:
        """Answer every table name, also in subqueries, that is not a common table of the text, by its place."""
        common = self.common_tables
        found = [_table(node) for kind, node in self.nodes if kind == _RELATION]
        found = [table for table in found if len(table.parts) > 1 or table.parts[0].casefold() not in common]
        return tuple(sorted(found, key=lambda table: table.start))

    @property
    def common_tables(self) -> frozenset[str]:
        """Answer the names that the text itself defines with WITH, in lower case."""
        names: set[str] = set()
        for kind, node in self.nodes:
            if kind == _COMMON_TABLES:
                relations = node.cteRelations()
                names.update(str(relations.apply(number)._1()).casefold() for number in range(relations.size()))
        return frozenset(names)

    def replaced(self, names: Mapping[tuple[str, ...], str]) -> str:
        """Answer the text with other names for these tables (keys are lower-case parts)."""
        text = self.text
        for table in reversed(self.tables):
            new = names.get(tuple(part.casefold() for part in table.parts))
            if new is not None:
                text = f"{text[: table.start]}`{new}`{text[table.end :]}"
        return text

    def _walked(self) -> list[tuple[str, Any]]:
        """Answer class name and node of everything in the plan.

        The walk goes through every field of every node, so that nothing is missed because Spark does not call it a
        child: common tables, subqueries inside expressions, the script of a TRANSFORM.
        """
        found: list[tuple[str, Any]] = []
        pending: list[Any] = [self._plan]
        while pending:
            node = pending.pop()
            if not isinstance(node, JavaObject):
                continue  # a text or a number
            kind = str(node.getClass().getName())
            if kind.startswith(_PASSED_OVER):
                continue
            is_product, is_iterable = self._kind(kind, node)
            if is_iterable:
                iterator = node.iterator()
                while iterator.hasNext():
                    pending.append(iterator.next())
            elif is_product:
                pending += [node.productElement(number) for number in range(node.productArity())]
            found.append((kind, node))
            if len(found) > _MOST_NODES:
                raise PondageError("the SQL text is too large", code="QUERY_TOO_LARGE")
        return found

    def _kind(self, kind: str, node: JavaObject) -> tuple[bool, bool]:
        if kind not in self._kinds:
            self._kinds[kind] = (
                is_instance_of(self._gateway, node, "scala.Product"),
                is_instance_of(self._gateway, node, "scala.collection.Iterable"),
            )
        return self._kinds[kind]


def bound_sql(session: SparkSession, sql: str, frames: Mapping[str, DataFrame]) -> str:
    """Register each DataFrame as a temporary view of this session and answer the text that reads them.

    Keys are the names in the text, with one part or two (`pond.ripple`). A table of two parts gets its last part as
    the view's name where that is free, so that `ripple.column` can be written too.
    """
    names = view_names(frames, ParsedSql(session, sql).common_tables)
    for name, frame in frames.items():
        frame.createOrReplaceTempView(f"`{names[_parts(name)]}`")
    return ParsedSql(session, sql).replaced(names)


def view_names(tables: Mapping[str, object], common_tables: frozenset[str]) -> dict[tuple[str, ...], str]:
    """Answer the view's name for the parts of each table name, all different and none hidden by a common table."""
    taken = set(common_tables) | {name.casefold() for name in tables if "." not in name}
    names = {_parts(name): name.casefold() for name in tables if "." not in name}
    for name in sorted(tables):
        if "." in name:
            last = _parts(name)[-1]
            view = last if last not in taken else "__".join(_parts(name))
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

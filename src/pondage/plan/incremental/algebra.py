"""A query as plain values: the few nodes and expressions of Spark's plans that the rules of incremental work name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from functools import cached_property

import msgspec

from pondage.errors import PondageError


class NotUnderstood(PondageError):
    """The plan holds something that no rule names, so that everything must be computed; the message says what."""

    code = "NOT_INCREMENTAL"


Path = tuple[int, ...]
"""The numbers of the children that lead from the root of a plan to a node."""


class Expression(msgspec.Struct, frozen=True, kw_only=True):
    """A scalar or aggregate expression.

    `kind` is Spark's class. `id` is the attribute that it refers to or, of an alias, that it makes. `detail` has what
    tells two expressions of one kind apart, of the kinds that are ever compared.
    """

    kind: str
    children: tuple[Expression, ...] = ()
    id: int | None = None
    type: str = ""
    detail: tuple[tuple[str, str], ...] = ()

    @property
    def is_attribute(self) -> bool:
        """Answer whether it is a bare column."""
        return self.kind == "AttributeReference"

    def walk(self) -> Iterator[Expression]:
        """Go through it and everything below."""
        waiting = [self]
        while waiting:
            each = waiting.pop()
            yield each
            waiting.extend(each.children)

    def references(self) -> frozenset[int]:
        """Answer the ids of all columns in it."""
        return frozenset(each.id for each in self.walk() if each.is_attribute and each.id is not None)

    def substituted(self, meanings: Mapping[int, Expression]) -> Expression | None:
        """Answer it with each column replaced by what it means; None when one has no meaning."""
        if self.is_attribute:
            return meanings.get(-1 if self.id is None else self.id)
        children = [each.substituted(meanings) for each in self.children]
        if any(each is None for each in children):
            return None
        return msgspec.structs.replace(self, children=tuple(each for each in children if each is not None))


class Attribute(msgspec.Struct, frozen=True, kw_only=True):
    """A column that a node puts out."""

    id: int
    name: str
    type: str

    def expression(self) -> Expression:
        """Answer the reference to it."""
        return Expression(kind="AttributeReference", id=self.id, type=self.type)


class Sign(StrEnum):
    """How a table changes: rows only come, or they come and go."""

    APPEND = "append"
    CHANGE = "change"


class JoinKind(Enum):
    """The joins that the rules know."""

    INNER = "Inner"
    CROSS = "Cross"
    LEFT_OUTER = "LeftOuter"
    RIGHT_OUTER = "RightOuter"
    FULL_OUTER = "FullOuter"
    LEFT_SEMI = "LeftSemi"
    LEFT_ANTI = "LeftAnti"
    EXISTENCE = "ExistenceJoin"

    @property
    def keeps_left(self) -> bool:
        """Answer whether a row of the left side is there, or not, by itself, whatever else the right side has."""
        return self in (JoinKind.LEFT_OUTER, JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI, JoinKind.EXISTENCE)

    @property
    def is_inner(self) -> bool:
        """Answer whether only pairs that match are put out."""
        return self in (JoinKind.INNER, JoinKind.CROSS)


class Node(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """An operator. `path` are the numbers of the children that lead to it from the root.

    `source`: the table that a leaf reads; None of a leaf is a constant. `lists` has the expressions by the name of
    their field; `rows` those of an `Expand`, one list for each projection. `hidden` are the tables that subqueries in
    its expressions read: whole, and as they are now. `rounds`: it adds floats, so that one can see their order.
    """

    kind: str
    path: Path
    output: tuple[Attribute, ...]
    children: tuple[Node, ...] = ()
    source: str | None = None
    join: JoinKind | None = None
    lists: Mapping[str, tuple[Expression, ...]] = {}
    rows: tuple[tuple[Expression, ...], ...] = ()
    hidden: frozenset[str] = frozenset()
    rounds: bool = False

    def walk(self) -> Iterator[Node]:
        """Go through it and everything below, parents first, from left to right."""
        yield self
        for child in self.children:
            yield from child.walk()

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """Answer the tables that it reads, from left to right; one that is read twice is there twice."""
        return tuple(each for each in self.walk() if each.source is not None)

    @cached_property
    def sources(self) -> frozenset[str]:
        """Answer the names of all tables that it reads, in subqueries too."""
        seen = {each.source for each in self.leaves if each.source is not None}
        return frozenset(seen).union(*(each.hidden for each in self.walk()))

    @cached_property
    def all_hidden(self) -> frozenset[str]:
        """Answer the tables that subqueries in it read."""
        return frozenset[str]().union(*(each.hidden for each in self.walk()))

    def changed_as(self, kinds: Mapping[str, Sign]) -> dict[Path, Sign]:
        """Answer the tables below that change, by their paths, and how."""
        return {
            each.path: kinds[each.source] for each in self.leaves if each.source is not None and each.source in kinds
        }

    @cached_property
    def ids(self) -> frozenset[int]:
        """Answer the ids of the columns that it puts out."""
        return frozenset(each.id for each in self.output)

    def expressions(self) -> Iterator[Expression]:
        """Go through its own expressions, not those of its children."""
        for several in (*self.lists.values(), *self.rows):
            yield from several

    def meanings(self) -> dict[int, Expression]:
        """Answer what each column of a Project, Aggregate or Window that it makes itself stands for."""
        found: dict[int, Expression] = {}
        for each in self.lists.get("columns", ()):
            if each.id is not None:
                found[each.id] = each.children[0] if each.kind == "Alias" else each
        return found

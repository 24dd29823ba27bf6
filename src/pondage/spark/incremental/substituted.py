"""One query over other rows of its tables: the same plan with other leaves, and the keys that changes reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import msgspec
from pyspark.sql import DataFrame

from pondage.plan.incremental.algebra import Node, NotUnderstood, Path, Sign
from pondage.plan.incremental.linear import emptied_branches, linear_leaves
from pondage.plan.incremental.reading import read_plan, shape
from pondage.plan.incremental.slices import Group
from pondage.spark.incremental.catalyst import Catalyst
from pondage.spark.incremental.printed import printed

Read = Callable[[], DataFrame]
"""Reads rows; each call answers a DataFrame with attribute ids of its own."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table that the result is made of: as it is, as it was at the last Run, and what came and went in between.

    `plus` and `minus` are None when no row came or went.
    """

    new: Read
    old: Read
    plus: Read | None = None
    minus: Read | None = None

    @property
    def sign(self) -> Sign | None:
        """Answer how it changed, None when it did not."""
        if self.minus is not None:
            return Sign.CHANGE
        return Sign.APPEND if self.plus is not None else None


class Substituted:
    """The plan of `frame`, which was made of marked tables. No operator of it is ever rewritten."""

    def __init__(self, catalyst: Catalyst, frame: DataFrame, tables: Mapping[str, Table]) -> None:
        self.catalyst = catalyst
        self.tables = tables
        self.plan = catalyst.normalised(frame)
        text = catalyst.text(self.plan)
        fields = frame.schema.jsonValue()["fields"]
        output = [(field["name"], field["type"]) for field in fields]
        self.root = read_plan(text, output, catalyst.rounding(self.plan))
        self.shape = shape(text, catalyst.constants(self.plan))

    def matching(self, rows: Any, group: Group, keys: DataFrame, *, is_anti: bool = False) -> Any:
        """Answer the rows of a plan that have one of the group's keys; with `is_anti` the others."""
        plan = self.catalyst.analysed(keys)
        pairs = [(position, plan, number) for number, position in enumerate(group.key)]
        return self.catalyst.matching(rows, pairs, is_anti=is_anti)

    def keys(self, group: Group) -> DataFrame | None:
        """Answer the keys whose rows may have changed, by old and new versions of what changed; None when none did."""
        found: list[DataFrame] = []
        for path in group.covers:
            leaf = self._node(path)
            table = self._table(leaf)
            names = self._names(leaf)
            for read in (table.plus, table.minus):
                if read is not None:
                    parts = [each for each in group.leaves[path] if each is not None]
                    columns = [printed(each, names).alias(f"_key{number}") for number, each in enumerate(parts)]
                    found.append(read().select(*columns))
        return reduce(DataFrame.union, found).distinct() if found else None

    def restricted(self, group: Group, keys: DataFrame, *, is_old: bool) -> Any:
        """Answer the plan whose tables are restricted to the keys as far as the group names them."""
        leaves: dict[Path, DataFrame] = {}
        for leaf in self.root.leaves:
            table = self._table(leaf)
            read = table.old if is_old else table.new
            parts = group.leaves.get(leaf.path)
            if parts is None:
                if is_old and table.sign is not None:
                    leaves[leaf.path] = read()
                continue
            names = self._names(leaf)
            equal = [
                printed(each, names).eqNullSafe(keys[f"_key{number}"])
                for number, each in enumerate(parts)
                if each is not None
            ]
            leaves[leaf.path] = read().join(keys, reduce(lambda one, other: one & other, equal), "left_semi")
        return self._with(leaves)

    def terms(self, node: Node) -> Iterator[tuple[int, Any]]:
        """Theorem 1: for each changed table below the node the plan with what came, and with what went, in its place.

        The tables before it are as they are, those after it as they were.
        """
        linear = linear_leaves(node if node.kind != "Aggregate" else node.children[0])
        changed = [leaf for leaf in node.leaves if self._table(leaf).sign is not None]
        if any(leaf.path not in linear for leaf in changed):
            raise NotUnderstood("a changed table is in a place in which nothing can be added")
        for number, leaf in enumerate(changed):
            later = {other.path: self._table(other) for other in changed[number + 1 :]}
            table = self._table(leaf)
            for sign, read in ((1, table.plus), (-1, table.minus)):
                if read is None:
                    continue
                leaves = {path: other.old() for path, other in later.items()} | {leaf.path: read()}
                empty = emptied_branches(self.root, leaf.path)
                yield sign, self._with(leaves, [each.path for each in empty])

    def _with(self, leaves: Mapping[Path, DataFrame], empty: Sequence[Path] = ()) -> Any:
        others = {
            path: self.catalyst.relabelled(self.catalyst.analysed(rows), self.catalyst.at(self.plan, path))
            for path, rows in leaves.items()
        }
        plan = self.catalyst.replaced(self.plan, others)
        # From the leaves up: an empty branch may hold others, or tables that were replaced.
        for path in sorted(empty, key=len, reverse=True):
            plan = self.catalyst.replaced(plan, {path: self.catalyst.emptied(self.catalyst.at(plan, path))})
        return plan

    def _node(self, path: Path) -> Node:
        node = self.root
        for number in path:
            node = node.children[number]
        return node

    def _table(self, leaf: Node) -> Table:
        if leaf.source is None or leaf.source not in self.tables:
            raise NotUnderstood(f"{leaf.source} is not among the tables")
        return self.tables[leaf.source]

    @staticmethod
    def _names(leaf: Node) -> dict[int, str]:
        return {each.id: each.name for each in leaf.output}

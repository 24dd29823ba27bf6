"""One Run of a result that is kept up to date: the same plan over other rows of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import msgspec
from pyspark.sql import DataFrame

from pondage.plan.incremental.algebra import Node, NotUnderstood, Path, Sign
from pondage.plan.incremental.linear import emptied_branches, linear_leaves
from pondage.plan.incremental.reading import read_plan, shape
from pondage.plan.incremental.recipe import RULES, Cut, How, Recipe, decide
from pondage.plan.incremental.slices import Group
from pondage.spark.incremental.catalyst import BROKEN, Catalyst
from pondage.spark.incremental.partials import finishable, merged, partial
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


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What the next Run must know to go on from this one.

    Equal plans give equal recipes, so `cuts` only says which states there are, as tables of their own in this order.
    """

    rules: int
    shape: str
    kinds: Mapping[str, Sign]
    cuts: tuple[tuple[How, Path], ...] = ()


class Previous(msgspec.Struct, frozen=True, kw_only=True):
    """What the last Run left: its table, the states of its cuts, and what it remembered."""

    remembered: Remembered
    table: Read
    states: Sequence[Read] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a Run is to write.

    First the `states`; `table` then answers the whole result, given the states as they were written: what is computed
    from them must be what is kept. `how` is what the Run does, `reason` why. `remembered` is None when nothing can be
    gone on with.
    """

    how: str
    reason: str
    states: tuple[DataFrame, ...]
    table: Callable[[Sequence[DataFrame]], DataFrame]
    remembered: Remembered | None


def maintain(
    catalyst: Catalyst,
    frame: DataFrame,
    tables: Mapping[str, Table],
    kinds: Mapping[str, Sign],
    previous: Previous | None,
) -> Outcome:
    """Answer what a Run does whose function, called with the new versions of its marked tables, returned `frame`.

    `kinds` says how each table may change. Everything is computed when there is nothing to go on from, when the plan or
    the rules are others, when a table changed in a way that was not foreseen, or when some rule does not understand it.
    """
    try:
        return _Run(catalyst, frame, tables).outcome(kinds, previous)
    except (NotUnderstood, *BROKEN) as error:
        reason = error.message if isinstance(error, NotUnderstood) else f"Spark refused a part: {type(error).__name__}"
        return Outcome(how=How.FULL, reason=reason, states=(), table=lambda _: frame, remembered=None)


class _Run:
    def __init__(self, catalyst: Catalyst, frame: DataFrame, tables: Mapping[str, Table]) -> None:
        self._catalyst = catalyst
        self._tables = tables
        self._plan = catalyst.normalised(frame)
        text = catalyst.text(self._plan)
        fields = frame.schema.jsonValue()["fields"]
        output = [(field["name"], field["type"]) for field in fields]
        self._root = read_plan(text, output, catalyst.rounding(self._plan))
        self._shape = shape(text)

    def outcome(self, kinds: Mapping[str, Sign], previous: Previous | None) -> Outcome:
        changed = {name: table.sign for name, table in self._tables.items()}
        signs = {name: sign for name, sign in changed.items() if sign is not None and name in self._root.sources}
        stopped = self._not_going_on(signs, previous)
        if previous is None or stopped is not None:
            wider = dict(kinds) | {name: sign for name, sign in signs.items() if kinds.get(name) is not Sign.CHANGE}
            return self._everything(wider, stopped or "it is the first Run")
        remembered = previous.remembered
        if not signs:
            reason = "none of the tables that changed is read"
            return self._same(How.NOTHING, reason, previous, previous.table)
        now = decide(self._root, signs)
        recipe = self._recipe(remembered.kinds)
        if _states(recipe) != remembered.cuts:
            return self._everything(remembered.kinds, "what is kept of it is not what would be kept now")
        if not recipe.cuts and not now.cuts:
            recipe = now
        if recipe.how is How.FULL or signs.keys() & self._root.all_hidden:
            return self._everything(remembered.kinds, now.reason if now.how is How.FULL else recipe.reason)
        if recipe.cuts:
            states = tuple(
                self._continued(cut, read(), signs) for cut, read in zip(recipe.cuts, previous.states, strict=True)
            )
            return Outcome(
                how=recipe.name, reason=recipe.reason, states=states, table=self._tip(recipe), remembered=remembered,
            )  # fmt: skip
        return self._same(recipe.how, recipe.reason, previous, lambda: self._stateless(recipe, previous.table(), signs))

    def _not_going_on(self, signs: Mapping[str, Sign], previous: Previous | None) -> str | None:
        """Answer why everything must be computed although a rule may know better, None when nothing speaks for it."""
        if previous is None:
            return None
        remembered = previous.remembered
        if remembered.rules != RULES:
            return "the rules of incremental work changed"
        if remembered.shape != self._shape:
            return "the query or the columns of its tables changed"
        for name, sign in signs.items():
            if remembered.kinds.get(name) not in (sign, Sign.CHANGE):
                return f"{name} changed in a way that it was not thought to"
        return None

    def _everything(self, kinds: Mapping[str, Sign], reason: str) -> Outcome:
        recipe = self._recipe(kinds)
        remembered = Remembered(rules=RULES, shape=self._shape, kinds=kinds, cuts=_states(recipe))
        states = tuple(self._begun(cut) for cut in recipe.cuts)
        if states:
            return Outcome(how=How.FULL, reason=reason, states=states, table=self._tip(recipe), remembered=remembered)
        plan = self._plan
        return Outcome(
            how=How.FULL, reason=reason, states=(), table=lambda _: self._catalyst.frame(plan), remembered=remembered
        )

    def _recipe(self, kinds: Mapping[str, Sign]) -> Recipe:
        return decide(self._root, {name: sign for name, sign in kinds.items() if name in self._root.sources})

    @staticmethod
    def _same(how: How, reason: str, previous: Previous, table: Callable[[], DataFrame]) -> Outcome:
        """Answer an outcome that leaves the states as they were."""
        return Outcome(
            how=how, reason=reason, states=tuple(each() for each in previous.states), table=lambda _: table(),
            remembered=previous.remembered,
        )  # fmt: skip

    def _tip(self, recipe: Recipe) -> Callable[[Sequence[DataFrame]], DataFrame]:
        """Answer how the result is made of the written states."""

        def table(states: Sequence[DataFrame]) -> DataFrame:
            cuts = {cut.path: self._shown(cut, state) for cut, state in zip(recipe.cuts, states, strict=True)}
            return self._catalyst.frame(self._catalyst.replaced(self._plan, cuts))

        return table

    def _shown(self, cut: Cut, state: DataFrame) -> Any:
        node = self._catalyst.at(self._plan, cut.path)
        if cut.how is How.MERGE:
            return self._catalyst.finished(node, finishable(state, self._catalyst.functions(node)))
        return self._catalyst.relabelled(self._catalyst.analysed(state), node)

    def _begun(self, cut: Cut) -> DataFrame:
        node = self._catalyst.at(self._plan, cut.path)
        if cut.how is How.MERGE:
            return self._partial(cut, self._plan, 1)
        return self._numbered(self._catalyst.frame(node))

    def _continued(self, cut: Cut, state: DataFrame, signs: Mapping[str, Sign]) -> DataFrame:
        node = self._node(cut.path)
        if not signs.keys() & node.sources:
            return state
        if cut.how is How.KEYED:
            return self._sliced(node, cut.groups, state)
        functions = self._catalyst.functions(self._catalyst.at(self._plan, cut.path))
        if cut.groups:
            changes = self._retracted(cut, cut.groups[0])
        else:
            changes = [self._partial(cut, plan, sign) for sign, plan in self._terms(node)]
        return merged(state, changes, functions)

    def _partial(self, cut: Cut, plan: Any, sign: int) -> DataFrame:
        """Answer the partial results of what the cut aggregates in a plan with other tables."""
        node = self._catalyst.at(self._plan, cut.path)
        inputs = self._catalyst.aggregate_inputs(node, self._catalyst.at(plan, (*cut.path, 0)))
        return partial(self._catalyst.frame(inputs), self._catalyst.functions(node), sign=sign)

    def _retracted(self, cut: Cut, group: Group) -> list[DataFrame]:
        """Answer the slices of what the cut aggregates, as they are and as they were."""
        keys = self._keys(group)
        if keys is None:
            return []
        made = []
        for sign, is_old in ((1, False), (-1, True)):
            plan = self._restricted(group, keys, is_old=is_old)
            base = self._matching(self._catalyst.at(plan, cut.base), group, keys)
            made.append(self._partial(cut, self._catalyst.replaced(plan, {cut.base: base}), sign))
        return made

    def _stateless(self, recipe: Recipe, before: DataFrame, signs: Mapping[str, Sign]) -> DataFrame:
        del signs
        if recipe.how is How.KEYED:
            return self._sliced(self._root, recipe.groups, before)
        terms = list(self._terms(self._root))
        plus = [self._catalyst.frame(plan) for sign, plan in terms if sign > 0]
        minus = [self._catalyst.frame(plan) for sign, plan in terms if sign < 0]
        added = reduce(DataFrame.union, [before, *plus])
        return added.exceptAll(reduce(DataFrame.union, minus)) if minus else added

    def _sliced(self, node: Node, groups: Sequence[Group], before: DataFrame) -> DataFrame:
        """Answer the rows of a node: those of other keys as they were, those of the changed keys computed again.

        All slices are taken out before any is put in; a row that is in two comes with the first.
        """
        kept = self._catalyst.analysed(before)
        done: list[tuple[Group, DataFrame]] = []
        added: list[DataFrame] = []
        for group in groups:
            keys = self._keys(group)
            if keys is None:
                continue
            kept = self._matching(kept, group, keys, is_anti=True)
            plan = self._catalyst.at(self._restricted(group, keys, is_old=False), node.path)
            rows = self._matching(plan, group, keys)
            for other, others in done:
                rows = self._matching(rows, other, others, is_anti=True)
            added.append(self._catalyst.frame(rows))
            done.append((group, keys))
        return reduce(DataFrame.union, [self._catalyst.frame(kept), *added])

    def _matching(self, rows: Any, group: Group, keys: DataFrame, *, is_anti: bool = False) -> Any:
        plan = self._catalyst.analysed(keys)
        pairs = [(position, plan, number) for number, position in enumerate(group.key)]
        return self._catalyst.matching(rows, pairs, is_anti=is_anti)

    def _keys(self, group: Group) -> DataFrame | None:
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

    def _restricted(self, group: Group, keys: DataFrame, *, is_old: bool) -> Any:
        """Answer the plan whose tables are restricted to the keys as far as the group names them."""
        leaves: dict[Path, DataFrame] = {}
        for leaf in self._root.leaves:
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

    def _terms(self, node: Node) -> Iterator[tuple[int, Any]]:
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
                empty = emptied_branches(self._root, leaf.path)
                yield sign, self._with(leaves, [each.path for each in empty])

    def _with(self, leaves: Mapping[Path, DataFrame], empty: Sequence[Path] = ()) -> Any:
        others = {
            path: self._catalyst.relabelled(self._catalyst.analysed(rows), self._catalyst.at(self._plan, path))
            for path, rows in leaves.items()
        }
        plan = self._catalyst.replaced(self._plan, others)
        # From the leaves up: an empty branch may hold others, or tables that were replaced.
        for path in sorted(empty, key=len, reverse=True):
            plan = self._catalyst.replaced(plan, {path: self._catalyst.emptied(self._catalyst.at(plan, path))})
        return plan

    def _node(self, path: Path) -> Node:
        node = self._root
        for number in path:
            node = node.children[number]
        return node

    def _table(self, leaf: Node) -> Table:
        if leaf.source is None or leaf.source not in self._tables:
            raise NotUnderstood(f"{leaf.source} is not among the tables")
        return self._tables[leaf.source]

    @staticmethod
    def _names(leaf: Node) -> dict[int, str]:
        return {each.id: each.name for each in leaf.output}

    @staticmethod
    def _numbered(frame: DataFrame) -> DataFrame:
        """Answer the rows with names that no two columns share."""
        return frame.toDF(*(f"k{number}" for number in range(len(frame.columns))))


def _states(recipe: Recipe) -> tuple[tuple[How, Path], ...]:
    return tuple((cut.how, cut.path) for cut in recipe.cuts)

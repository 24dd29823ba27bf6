"""One Run of a result that is kept up to date: the same plan over other rows of its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import msgspec
from pyspark.sql import DataFrame

from pondage.plan.incremental.algebra import Node, NotUnderstood, Path, Sign
from pondage.plan.incremental.recipe import RULES, Cut, How, Recipe, decide
from pondage.plan.incremental.slices import Group
from pondage.spark.incremental.catalyst import BROKEN, Catalyst
from pondage.spark.incremental.partials import finishable, merged, partial
from pondage.spark.incremental.substituted import Read, Substituted, Table


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


class _Run(Substituted):
    def outcome(self, kinds: Mapping[str, Sign], previous: Previous | None) -> Outcome:
        changed = {name: table.sign for name, table in self.tables.items()}
        signs = {name: sign for name, sign in changed.items() if sign is not None and name in self.root.sources}
        stopped = self._not_going_on(signs, previous)
        if previous is None or stopped is not None:
            wider = dict(kinds) | {name: sign for name, sign in signs.items() if kinds.get(name) is not Sign.CHANGE}
            return self._everything(wider, stopped or "it is the first Run")
        remembered = previous.remembered
        if not signs:
            reason = "none of the tables that changed is read"
            return self._same(How.NOTHING, reason, previous, previous.table)
        now = decide(self.root, signs)
        recipe = self._recipe(remembered.kinds)
        if _states(recipe) != remembered.cuts:
            return self._everything(remembered.kinds, "what is kept of it is not what would be kept now")
        if not recipe.cuts and not now.cuts:
            recipe = now
        if recipe.how is How.FULL or signs.keys() & self.root.all_hidden:
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
        if remembered.shape != self.shape:
            return "the query or the columns of its tables changed"
        for name, sign in signs.items():
            if remembered.kinds.get(name) not in (sign, Sign.CHANGE):
                return f"{name} changed in a way that it was not thought to"
        return None

    def _everything(self, kinds: Mapping[str, Sign], reason: str) -> Outcome:
        recipe = self._recipe(kinds)
        remembered = Remembered(rules=RULES, shape=self.shape, kinds=kinds, cuts=_states(recipe))
        states = tuple(self._begun(cut) for cut in recipe.cuts)
        if states:
            return Outcome(how=How.FULL, reason=reason, states=states, table=self._tip(recipe), remembered=remembered)
        plan = self.plan
        return Outcome(
            how=How.FULL, reason=reason, states=(), table=lambda _: self.catalyst.frame(plan), remembered=remembered
        )

    def _recipe(self, kinds: Mapping[str, Sign]) -> Recipe:
        return decide(self.root, {name: sign for name, sign in kinds.items() if name in self.root.sources})

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
            return self.catalyst.frame(self.catalyst.replaced(self.plan, cuts))

        return table

    def _shown(self, cut: Cut, state: DataFrame) -> Any:
        node = self.catalyst.at(self.plan, cut.path)
        if cut.how is How.MERGE:
            return self.catalyst.finished(node, finishable(state, self.catalyst.functions(node)))
        return self.catalyst.relabelled(self.catalyst.analysed(state), node)

    def _begun(self, cut: Cut) -> DataFrame:
        node = self.catalyst.at(self.plan, cut.path)
        if cut.how is How.MERGE:
            return self._partial(cut, self.plan, 1)
        return self._numbered(self.catalyst.frame(node))

    def _continued(self, cut: Cut, state: DataFrame, signs: Mapping[str, Sign]) -> DataFrame:
        node = self._node(cut.path)
        if not signs.keys() & node.sources:
            return state
        if cut.how is How.KEYED:
            return self._sliced(node, cut.groups, state)
        functions = self.catalyst.functions(self.catalyst.at(self.plan, cut.path))
        if cut.groups:
            changes = self._retracted(cut, cut.groups[0])
        else:
            changes = [self._partial(cut, plan, sign) for sign, plan in self.terms(node)]
        return merged(state, changes, functions)

    def _partial(self, cut: Cut, plan: Any, sign: int) -> DataFrame:
        """Answer the partial results of what the cut aggregates in a plan with other tables."""
        node = self.catalyst.at(self.plan, cut.path)
        inputs = self.catalyst.aggregate_inputs(node, self.catalyst.at(plan, (*cut.path, 0)))
        return partial(self.catalyst.frame(inputs), self.catalyst.functions(node), sign=sign)

    def _retracted(self, cut: Cut, group: Group) -> list[DataFrame]:
        """Answer the slices of what the cut aggregates, as they are and as they were."""
        keys = self.keys(group)
        if keys is None:
            return []
        made = []
        for sign, is_old in ((1, False), (-1, True)):
            plan = self.restricted(group, keys, is_old=is_old)
            base = self.matching(self.catalyst.at(plan, cut.base), group, keys)
            made.append(self._partial(cut, self.catalyst.replaced(plan, {cut.base: base}), sign))
        return made

    def _stateless(self, recipe: Recipe, before: DataFrame, signs: Mapping[str, Sign]) -> DataFrame:
        del signs
        if recipe.how is How.KEYED:
            return self._sliced(self.root, recipe.groups, before)
        terms = list(self.terms(self.root))
        plus = [self.catalyst.frame(plan) for sign, plan in terms if sign > 0]
        minus = [self.catalyst.frame(plan) for sign, plan in terms if sign < 0]
        added = reduce(DataFrame.union, [before, *plus])
        return added.exceptAll(reduce(DataFrame.union, minus)) if minus else added

    def _sliced(self, node: Node, groups: Sequence[Group], before: DataFrame) -> DataFrame:
        """Answer the rows of a node: those of other keys as they were, those of the changed keys computed again.

        All slices are taken out before any is put in; a row that is in two comes with the first.
        """
        kept = self.catalyst.analysed(before)
        done: list[tuple[Group, DataFrame]] = []
        added: list[DataFrame] = []
        for group in groups:
            keys = self.keys(group)
            if keys is None:
                continue
            kept = self.matching(kept, group, keys, is_anti=True)
            plan = self.catalyst.at(self.restricted(group, keys, is_old=False), node.path)
            rows = self.matching(plan, group, keys)
            for other, others in done:
                rows = self.matching(rows, other, others, is_anti=True)
            added.append(self.catalyst.frame(rows))
            done.append((group, keys))
        return reduce(DataFrame.union, [self.catalyst.frame(kept), *added])

    @staticmethod
    def _numbered(frame: DataFrame) -> DataFrame:
        """Answer the rows with names that no two columns share."""
        return frame.toDF(*(f"k{number}" for number in range(len(frame.columns))))


def _states(recipe: Recipe) -> tuple[tuple[How, Path], ...]:
    return tuple((cut.how, cut.path) for cut in recipe.cuts)

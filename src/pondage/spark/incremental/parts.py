"""What one Run must compute of a result that was kept: rows that are added, or the slices that may have changed.

Nothing but the result itself is kept, so this is what can be done without states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import msgspec
from pyspark.sql import DataFrame

from pondage.plan.incremental.algebra import NotUnderstood
from pondage.plan.incremental.choices import choosing_nodes
from pondage.plan.incremental.recipe import How, Recipe, decide, full
from pondage.plan.incremental.slices import Group
from pondage.spark.incremental.catalyst import BROKEN, Catalyst
from pondage.spark.incremental.substituted import Substituted, Table

Keep = Callable[[DataFrame], DataFrame | None]
"""Writes the keys of a slice and answers them as they were written; None when there are none."""


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the result that may have changed: those that have one of the `keys` in these columns."""

    columns: tuple[str, ...]
    keys: DataFrame


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What a Run does: all `slices` are taken out of the result, then the `rows` are put in.

    `how` is FULL when everything is to be computed; `reason` says why in any case. `shape` is that of the plan, empty
    when it was not understood. `exact` are the columns with one right answer, when some may have several.
    """

    how: How
    reason: str
    shape: str = ""
    slices: tuple[Slice, ...] = ()
    rows: DataFrame | None = None
    exact: tuple[str, ...] | None = None


def part(
    catalyst: Catalyst, frame: DataFrame, tables: Mapping[str, Table], *, before: str, why_full: str, keep: Keep
) -> Part:
    """Answer what a Run does whose function, called with the new versions of its marked tables, returned `frame`.

    `before` is the shape of the plan that made the result; `why_full` says why it is not gone on from anyway, and is
    empty when nothing speaks against it.
    """
    try:
        query = Substituted(catalyst, frame, tables)
        recipe = full(why_full) if why_full else _recipe(query, before)
        return _part(query, recipe, keep)
    except (NotUnderstood, *BROKEN) as error:
        reason = error.message if isinstance(error, NotUnderstood) else f"Spark refused a part: {type(error).__name__}"
        return Part(how=How.FULL, reason=why_full or reason)


def _recipe(query: Substituted, before: str) -> Recipe:
    if before != query.shape:
        return full("the query, or the columns of its tables, changed")
    signs = {
        name: table.sign
        for name, table in query.tables.items()
        if table.sign is not None and name in query.root.sources | query.root.all_hidden
    }
    return decide(query.root, signs, has_states=False)


def _part(query: Substituted, recipe: Recipe, keep: Keep) -> Part:
    slices: tuple[Slice, ...] = ()
    rows: DataFrame | None = None
    match recipe.how:
        case How.APPEND:
            added = [query.catalyst.frame(plan) for _, plan in query.terms(query.root)]
            rows = reduce(DataFrame.union, added)
        case How.KEYED:
            slices, rows = _sliced(query, recipe.groups, keep)
    return Part(
        how=recipe.how, reason=_reason(query, recipe), shape=query.shape, slices=slices, rows=rows,
        exact=_exact(query, recipe.groups),
    )  # fmt: skip


def _reason(query: Substituted, recipe: Recipe) -> str:
    if recipe.how is not How.KEYED:
        return recipe.reason
    names = [each.name for each in query.root.output]
    keys = [", ".join(names[at] for at in group.key) for group in recipe.groups]
    return f"each row depends only on rows with the same {' or with the same '.join(keys)}"


def _sliced(query: Substituted, groups: tuple[Group, ...], keep: Keep) -> tuple[tuple[Slice, ...], DataFrame | None]:
    """Answer the slices, and the rows that they have now; a row that is in two comes with the first."""
    names = [each.name for each in query.root.output]
    done: list[tuple[Group, DataFrame]] = []
    added: list[DataFrame] = []
    for group in groups:
        found = query.keys(group)
        keys = None if found is None else keep(found)
        if keys is None:
            continue
        rows = query.matching(query.restricted(group, keys, is_old=False), group, keys)
        for other, others in done:
            rows = query.matching(rows, other, others, is_anti=True)
        added.append(query.catalyst.frame(rows))
        done.append((group, keys))
    slices = tuple(Slice(columns=tuple(names[at] for at in group.key), keys=keys) for group, keys in done)
    return slices, reduce(DataFrame.union, added) if added else None


def _exact(query: Substituted, groups: tuple[Group, ...]) -> tuple[str, ...] | None:
    """Answer the columns by which two computations may be compared: all of them (None) when each has one answer."""
    if not any(True for _ in choosing_nodes(query.root)) and not any(each.rounds for each in query.root.walk()):
        return None
    names = [each.name for each in query.root.output]
    return tuple(dict.fromkeys(names[at] for group in groups for at in group.key))

"""What a query can be when it is kept up to date: in words, before anything of it has run."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame

from pondage.plan.incremental.algebra import NotUnderstood, Sign
from pondage.plan.incremental.recipe import How, Recipe, decide
from pondage.spark.incremental.catalyst import BROKEN, Catalyst
from pondage.spark.incremental.substituted import Substituted


def outlook(frame: DataFrame, sources: Iterable[str]) -> str:
    """Answer it of the DataFrame that a function made of these marked tables; no Spark job is run."""
    try:
        query = Substituted(Catalyst(frame.sparkSession), frame, {})
        read = [name for name in sources if name in query.root.sources]
        came, both = (decide(query.root, dict.fromkeys(read, sign), has_states=False) for sign in Sign)
        names = [each.name for each in query.root.output]
    except NotUnderstood as error:
        return f"computes everything: {error.message}"
    except BROKEN as error:
        return f"computes everything: Spark refused a part: {type(error).__name__}"
    when_rows_go = _words(both, names)
    if came.how is not How.APPEND:
        return when_rows_go
    return f"append; where rows of its Sources change or go: {when_rows_go}"


def _words(recipe: Recipe, names: list[str]) -> str:
    if recipe.how is not How.KEYED:
        return f"computes everything: {recipe.reason}" if recipe.how is How.FULL else str(recipe.how)
    return f"keyed by {' and by '.join(', '.join(names[at] for at in group.key) for group in recipe.groups)}"

"""Declared columns: what a Sink says that it consumes of a table, against what the table has."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.plan.deploy.schemas import column_names
from pondage.plan.deploy.values import Problem


def has_columns(ponds: Sequence[PondDefinition]) -> bool:
    """Answer whether one of the Ponds says which columns of a Source it consumes."""
    return any(read.columns is not None for pond in ponds for ripple in pond.ripples for read in ripple.reads)


def column_problems(pond: PondDefinition, schemas: Mapping[str, str], anew: Collection[PondKey]) -> list[Problem]:
    """Answer the declared columns of a bound Pond that their tables do not have.

    `schemas` are the published ones, by table (`sales@1.clean`). What is computed `anew` may have others: it is judged
    when it is read, and before that by an analysis.
    """
    majors = {source.pond: source.major or 0 for source in pond.sources}
    problems: list[Problem] = []
    for ripple in pond.ripples:
        for read in ripple.reads:
            if read.pond is None or read.columns is None or pond_key(read.pond, majors[read.pond]) in anew:
                continue
            schema = schemas.get(f"{pond_key(read.pond, majors[read.pond])}.{read.ripple}")
            known = () if schema is None else column_names(schema)
            missing = [column for column in read.columns if column not in known]
            if known and missing:
                problems.append(
                    Problem(
                        code="NO_SUCH_COLUMN",
                        message=f"Ripple {pond.name}.{ripple.name} says that it reads column {', '.join(missing)} of "
                        f"{read.pond}.{read.ripple}, which has {', '.join(known)}",
                        pond=pond_key(pond.name, pond.major),
                        place=pond.place or None,
                        hint="correct columns= where the Source is declared",
                    )
                )
    return problems

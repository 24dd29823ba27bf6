"""The graph of an environment as it is deployed: what does not change from second to second, for whoever draws it."""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.pond.window import window_text
from pondage.define.values.names import pond_key
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, reactors
from pondage.ledger.tables.reactors import ReactorRow
from pondage.views.jobs.jobs import JobView, jobs


class GraphRipple(msgspec.Struct, frozen=True, kw_only=True):
    """A Ripple (a function, sql, a job, a feed), the siblings that it reads, and the Ponds that it reads, by name."""

    name: str
    kind: str
    parents: tuple[str, ...]
    ponds: tuple[str, ...]
    fused: tuple[str, ...]
    expectations: int


class GraphSource(msgspec.Struct, frozen=True, kw_only=True):
    """A Source under its key; one that is not required never makes its reader wait."""

    key: str
    is_required: bool


class GraphPond(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond: its Ripples in the order of the definition, its Sources and its windows in words."""

    key: str
    project: str
    owner: str
    tags: tuple[str, ...]
    windows: tuple[str, ...]
    ripples: tuple[GraphRipple, ...]
    sources: tuple[GraphSource, ...]


class GraphReactor(msgspec.Struct, frozen=True, kw_only=True):
    """A reactor: the Ponds that its accumulators read, the one that it publishes, the jobs that it starts, by name."""

    name: str
    reads: tuple[str, ...]
    publishes: str | None
    jobs: tuple[str, ...]


class GraphView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is deployed in an environment, and how it hangs together."""

    environment: str
    ponds: tuple[GraphPond, ...]
    reactors: tuple[GraphReactor, ...]
    jobs: tuple[JobView, ...]


_PONDS = """SELECT p.id AS id, p.name || '@' || p.major AS key, p.project AS project, d.body AS definition
            FROM ponds p JOIN definitions d ON d.id = p.definition
            WHERE p.environment = :environment AND p.removed_at IS NULL ORDER BY p.name, p.major"""

_SOURCES = """SELECT s.pond AS pond, s.source_name AS name, s.source_major AS major
              FROM pond_sources s WHERE s.environment = :environment ORDER BY s.pond, s.source_name, s.source_major"""


def graph(tx: Transaction, ledger: Ledger, environment: str) -> GraphView:
    """Answer the graph. An environment that nobody deployed to has an empty one."""
    found = actors.environment(tx, environment)
    if found is None:
        return GraphView(environment=environment, ponds=(), reactors=(), jobs=())
    sources: dict[int, list[tuple[str, int]]] = {}
    for pond, name, major in tx.rows(_SOURCES, tuple[int, str, int], environment=found):
        sources.setdefault(pond, []).append((name, major))
    ponds = []
    for row, key, project, definition in tx.rows(_PONDS, tuple[int, str, str, PondDefinition], environment=found):
        ponds.append(
            GraphPond(
                key=key,
                project=project,
                owner=definition.owner,
                tags=definition.tags,
                windows=tuple(window_text(window) for window in definition.windows),
                ripples=tuple(_ripple(each) for each in definition.ripples),
                sources=_sources(definition, sources.get(row, [])),
            )
        )
    return GraphView(
        environment=environment,
        ponds=tuple(ponds),
        reactors=tuple(_reactor(each) for each in reactors.deployed(tx, found) if not each.is_removed),
        jobs=jobs(tx, ledger, environment, limit=1).jobs,
    )


def _ripple(ripple: RippleDefinition) -> GraphRipple:
    return GraphRipple(
        name=ripple.name,
        kind=ripple.kind,
        parents=ripple.parents,
        ponds=tuple(dict.fromkeys(read.pond for read in ripple.reads if read.pond is not None)),
        fused=tuple(each.name for each in ripple.members),
        expectations=len(ripple.expectations),
    )


def _sources(definition: PondDefinition, bound: list[tuple[str, int]]) -> tuple[GraphSource, ...]:
    required = {source.pond: source.required for source in definition.sources}
    return tuple(GraphSource(key=pond_key(name, major), is_required=required.get(name, True)) for name, major in bound)


def _reactor(row: ReactorRow) -> GraphReactor:
    declared = row.declaration
    return GraphReactor(
        name=row.name,
        reads=tuple(dict.fromkeys(each.pond for each in declared.accumulators if each.pond is not None)),
        publishes=None if declared.publish is None else declared.publish.pond,
        jobs=tuple(PurePosixPath(each.file).stem for each in declared.jobs),
    )

"""The feed: a snapshot of an environment, then what changed, in messages that each replace what they name."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, job_runs
from pondage.ledger.upkeep import feed
from pondage.views.installation.graph import GraphView, graph
from pondage.views.jobs.jobs import JobRunView, jobs, run_view
from pondage.views.ponds.status import PondView, StatusView, status
from pondage.views.reactors.reactors import ReactorView, reactor_list
from pondage.views.runs.processes import ProcessView

MOST = 2_000
"""Steps that are read at once: whoever is further behind gets a snapshot, which costs less."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, tag="snapshot", tag_field="type"):
    """Everything as it is. Go on with `after=seq`. `graph` is there for a watcher that asked for it."""

    seq: int
    status: StatusView
    runs: tuple[JobRunView, ...]
    reactors: tuple[ReactorView, ...]
    graph: GraphView | None = None


class Changes(msgspec.Struct, frozen=True, kw_only=True, tag="changes", tag_field="type", omit_defaults=True):
    """What is different from `after` to `seq`: each object is whole and replaces the one before."""

    after: int
    seq: int
    at: int
    ponds: tuple[PondView, ...] = ()
    gone: tuple[str, ...] = ()
    runs: tuple[JobRunView, ...] = ()
    reactors: tuple[ReactorView, ...] | None = None
    processes: tuple[ProcessView, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Answer whether nothing is different but the time."""
        return not (self.ponds or self.gone or self.runs) and self.reactors is None and self.processes is None


class Reset(msgspec.Struct, frozen=True, kw_only=True, tag="reset", tag_field="type"):
    """The place that was asked for is not known any more: forget everything; a snapshot follows."""

    after: int


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader has seen of the things that make no advancement."""

    running: dict[tuple[str, str | int], tuple[object, ...]] = {}
    reactors: tuple[ReactorView, ...] = ()
    processes: tuple[tuple[str, str, int, bool], ...] = ()


def snapshot(tx: Transaction, ledger: Ledger, environment: str, *, has_graph: bool = False) -> Snapshot:
    """Answer an environment as it is, and the place from which its changes go on."""
    marks = feed.marks(tx, ledger)
    is_there = actors.environment(tx, environment) is not None
    return Snapshot(
        seq=marks.until,
        status=status(tx, ledger, environment),
        runs=jobs(tx, ledger, environment).runs if is_there else (),
        reactors=tuple(reactor_list(tx, environment)) if is_there else (),
        graph=graph(tx, ledger, environment) if has_graph else None,
    )


def changes(
    tx: Transaction, ledger: Ledger, environment: str, *, after: int, seen: Seen
) -> tuple[Changes, Seen] | None:
    """Answer what is different since `after`; None when that is not known, or is too much: then take a snapshot."""
    marks = feed.marks(tx, ledger)
    if not marks.oldest <= after <= marks.until:
        return None
    identity = actors.environment(tx, environment)
    if identity is None:
        return Changes(after=after, seq=marks.until, at=tx.now), seen
    found = feed.touched(tx, ledger, identity, after=after, until=marks.until, most=MOST)
    if found is None:
        return None
    running = feed.running(tx, identity)
    moved = {key for key in {*running, *seen.running} if running.get(key) != seen.running.get(key)}
    keys = {*found.ponds, *(str(key) for kind, key in moved if kind == "pond")}
    actors_ = {*found.runs, *(key for kind, key in moved if kind == "run" and isinstance(key, int))}
    # One statement for each thing that is shown, and none for what has not changed.
    shown = status(tx, ledger, environment, keys=keys)
    known = {pond.key for pond in shown.ponds}
    reactors = tuple(reactor_list(tx, environment))
    processes = tuple((each.id, each.state, each.busy, each.is_silent) for each in shown.processes)
    said = Changes(
        after=after,
        seq=marks.until,
        at=tx.now,
        ponds=shown.ponds,
        gone=tuple(sorted(keys - known)),
        runs=tuple(run_view(tx, ledger, job_runs.of_actor(tx, actor)) for actor in sorted(actors_)),
        reactors=reactors if reactors != seen.reactors else None,
        processes=shown.processes if processes != seen.processes else None,
    )
    return said, Seen(running=running, reactors=reactors, processes=processes)

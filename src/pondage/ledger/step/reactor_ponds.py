"""Reactors and Ponds: what a reactor publishes, what it asks of Ponds that it reads, and what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Annotated

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.reactor.boundary import SnapshotRef
from pondage.define.reactor.reaction import AccumulatorDeclaration, ReactorDeclaration
from pondage.define.values.names import PondKey, pond_key
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Asked, Event, Fed, Forgot, Stuck
from pondage.ledger.database.driver import Transaction, number, number_or_none, text
from pondage.ledger.tables import actors, letters, reactors
from pondage.ledger.tables.letters import Result
from pondage.ledger.tables.reactors import Lease, ReactorRow

KINDS = frozenset({"result", "fired", "publish", "pond failed", "demand dropped", "want", "target"})
COMMANDS = {"clear": ("revive", "resume"), "sleep": ("sleep",), "force": ("force_fire",), "kill": ("kill",)}
"""What the verbs on its Pond mean to a reactor."""
GONE = ("dropped", "dead")
LONG_AGO = 1000
"""A fire that failed so many fires ago is not tried again under its id."""


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is due to be published as one batch: the last freshness, and the rows of all good fires."""

    last: int
    freshness: int
    delay: int
    fire: int | None
    number: int = 1
    rows: list[object] = []


_Kept = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A number as a column can be."""


class _Said(msgspec.Struct):
    source: str = ""
    f: _Kept = 0
    d: _Kept = 0
    fire: _Kept | None = None
    graph: str = ""
    outcome: str = ""
    on: bool = False
    rows: msgspec.Raw = msgspec.Raw(b"[]")


def take(tx: Transaction, lease: Lease, kind: str, payload: str) -> None:
    """Take in one thing that a reactor says about Ponds."""
    said = msgspec.json.decode(payload, type=_Said)
    if kind == "result":
        tx.write(
            """INSERT INTO reactor_results (reactor, fire, graph, rows) VALUES (:reactor, :fire, :graph, :rows)
               ON CONFLICT (reactor, fire, graph) DO UPDATE SET rows = excluded.rows""",
            reactor=lease.actor, fire=said.fire, graph=said.graph, rows=bytes(said.rows).decode(),
        )  # fmt: skip
    elif kind == "fired":
        _fired(tx, lease, said)
    elif kind == "publish":
        tx.write(
            """INSERT INTO reactor_publications (reactor, freshness, delay, fire)
               VALUES (:reactor, :freshness, :delay, :fire)""",
            reactor=lease.actor, freshness=said.f, delay=said.d, fire=said.fire,
        )  # fmt: skip
    elif kind in ("want", "target"):
        _ask(tx, lease, said, is_target=kind == "target")
    else:
        key = _own_pond(tx, lease)
        if key is not None:
            _put(tx, lease.environment, Stuck(pond=key, on=said.on) if kind == "pond failed" else Forgot(pond=key))


def pond_of(declaration: ReactorDeclaration) -> PondKey | None:
    """Answer the Pond that a reactor publishes; its major version is the reactor's."""
    if declaration.publish is None:
        return None
    return pond_key(declaration.publish.pond, int(declaration.version.partition(".")[0]))


def waiting(tx: Transaction, lease: Lease) -> Publication | None:
    """Answer what is due to be published, None when nothing is."""
    due = tx.rows(
        """SELECT id AS last, freshness, delay, fire FROM reactor_publications
           WHERE reactor = :reactor ORDER BY id""",
        Publication,
        reactor=lease.actor,
    )
    if not due:
        return None
    fire = max((each.fire for each in due if each.fire is not None), default=None)
    found = tx.rows(
        """SELECT rows FROM reactor_results WHERE reactor = :reactor AND is_ok = 1 AND fire <= :fire
           ORDER BY fire, graph""",
        list[object],
        reactor=lease.actor,
        fire=-1 if fire is None else fire,
    )
    newest = max(due, key=lambda each: each.freshness)
    rows = list(chain.from_iterable(found))
    return msgspec.structs.replace(newest, last=due[-1].last, fire=fire, number=len(due), rows=rows)


def first_due(tx: Transaction, lease: Lease) -> str | None:
    """Name the first publication that is due; None when none is."""
    statement = "SELECT min(id) FROM reactor_publications WHERE reactor = :reactor"
    first = tx.row(statement, int, reactor=lease.actor)
    return None if first is None else f"{letters.PUBLICATION}{first}"


def results(tx: Transaction, reactor: int, *, after: int, to: int) -> list[Result]:
    """Answer what good fires gave that wait to be published."""
    found = tx.rows(
        """SELECT fire, graph, rows FROM reactor_results
           WHERE reactor = :reactor AND is_ok = 1 AND fire > :after AND fire <= :to ORDER BY fire, graph""",
        reactor=reactor,
        after=after,
        to=to,
    )
    return [Result(fire=number(row, "fire"), graph=text(row, "graph"), rows=text(row, "rows")) for row in found]


def set_aside(tx: Transaction, lease: Lease, unfit: Sequence[tuple[Result, str]]) -> bool:
    """Keep results that no file can hold as dead letters, so that the others are published; False: no longer ours."""
    if tx.row("SELECT id FROM actors WHERE token = :token /*lock*/", token=lease.token) is None:
        return False
    for result, error in unfit:
        letters.keep(
            tx,
            lease,
            letter=f"{letters.RESULT}{result.fire}.{result.graph}",
            error=error,
            body=letters.of_results([result]),
        )
        _forget(tx, lease.actor, result)
    return True


def skip(tx: Transaction, row: ReactorRow, publication: int) -> bool:
    """Take one publication out of those that are due, with its results as a dead letter; False: it is not due."""
    place = {"reactor": row.actor, "id": publication}
    found = tx.row("SELECT fire FROM reactor_publications WHERE reactor = :reactor AND id = :id", **place)
    if found is None:
        return False
    fire, before = (
        number_or_none(found, "fire"),
        tx.row(
            "SELECT max(fire) AS fire FROM reactor_publications WHERE reactor = :reactor AND id < :id", int, **place
        ),
    )
    taken = [] if fire is None else results(tx, row.actor, after=-1 if before is None else before, to=fire)
    letters.keep(
        tx,
        row,
        letter=f"{letters.PUBLICATION}{publication}",
        error="skipped",
        body=letters.of_results(taken),
    )
    for each in taken:
        _forget(tx, row.actor, each)
    tx.write("DELETE FROM reactor_publications WHERE reactor = :reactor AND id = :id", **place)
    reactors.goes_on(tx, row.actor)
    return True


def _forget(tx: Transaction, reactor: int, result: Result) -> None:
    tx.write(
        "DELETE FROM reactor_results WHERE reactor = :reactor AND fire = :fire AND graph = :graph",
        reactor=reactor,
        fire=result.fire,
        graph=result.graph,
    )


def publish(tx: Transaction, lease: Lease, due: Publication, batch: str | None) -> bool:
    """Hand a publication to the Pond, once; False when it is no longer ours, or was made already."""
    if tx.row("SELECT id FROM actors WHERE token = :token /*lock*/", token=lease.token) is None:
        return False
    gone = tx.change(
        "DELETE FROM reactor_publications WHERE reactor = :reactor AND id <= :last", reactor=lease.actor, last=due.last
    )
    if gone == 0:
        return False
    if gone != due.number:
        raise LedgerError(f"a publication of {lease.name} was skipped while it was written: the rest is written anew")
    if due.fire is not None:
        tx.write(
            """DELETE FROM reactor_results
               WHERE reactor = :reactor AND fire <= :fire AND (is_ok = 1 OR fire <= :long_ago)""",
            reactor=lease.actor,
            fire=due.fire,
            long_ago=due.fire - LONG_AGO,
        )
    key = _own_pond(tx, lease)
    if key is not None:
        _put(tx, lease.environment, Fed(pond=key, freshness=due.freshness, delay=due.delay, batch=batch))
    return True


def forget_results(tx: Transaction, lease: Lease) -> None:
    """Forget what fires of a former life gave: a reactor in memory counts its fires anew."""
    tx.write("DELETE FROM reactor_results WHERE reactor = :reactor", reactor=lease.actor)


def tell(tx: Transaction, environment: int, definition: PondDefinition, payloads: Sequence[object]) -> None:
    """Tell the reactor behind a Pond something; nobody is told when it is not deployed."""
    assert definition.feed is not None
    row = reactors.find(tx, environment, definition.feed.reactor)
    if row is not None:
        for payload in payloads:
            reactors.signal(tx, actor=row.actor, payload=payload)


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """What a Pond source has for its reactor: Runs that it has not seen, oldest first, and whether it is blocked."""

    source: str
    is_blocked: bool
    runs: list[SnapshotRef]


def followed(
    tx: Transaction, environment: int, declaration: ReactorDeclaration, offsets: dict[str, int | None]
) -> list[Followed]:
    """Answer what the Pond sources of a reactor have beyond these offsets; with Latest only the newest Run of each."""
    found = []
    for each in declaration.accumulators:
        row = None if each.kind != "pond" else _pond(tx, environment, each)
        if row is None:
            continue
        limit = " LIMIT 1" if declaration.strategy == "latest" else ""
        order = "DESC" if declaration.strategy == "latest" else "ASC"
        runs = tx.rows(
            f"""SELECT public_id, freshness, delay FROM runs WHERE pond = :pond AND state = 'completed'
                AND rollback_of IS NULL AND freshness > :offset ORDER BY freshness {order}, id{limit}""",
            tuple[str, int, int],
            pond=row.id,
            offset=-1 if (offset := offsets.get(each.name)) is None else offset,
        )
        refs = [SnapshotRef(freshness, delay, run) for run, freshness, delay in runs]
        is_blocked = msgspec.json.decode(row.state, type=_Blocked).is_blocked
        found.append(Followed(source=each.name, is_blocked=is_blocked, runs=refs))
    return found


class _Blocked(msgspec.Struct):
    is_blocked: bool = False


def _fired(tx: Transaction, lease: Lease, said: _Said) -> None:
    place = {"reactor": lease.actor, "fire": said.fire}
    if said.outcome == "ok":
        tx.write("UPDATE reactor_results SET is_ok = 1 WHERE reactor = :reactor AND fire = :fire", **place)
    elif said.outcome in GONE:
        tx.write("DELETE FROM reactor_results WHERE reactor = :reactor AND fire = :fire", **place)


def _ask(tx: Transaction, lease: Lease, said: _Said, *, is_target: bool) -> None:
    declared = reactors.find(tx, lease.environment, lease.name)
    sources = [] if declared is None else declared.declaration.accumulators
    source = next((each for each in sources if each.name == said.source), None)
    row = None if source is None else _pond(tx, lease.environment, source)
    if row is not None:
        asked = Asked(pond=row.key, target=said.f) if is_target else Asked(pond=row.key, want=said.f)
        _put(tx, lease.environment, asked)


def _own_pond(tx: Transaction, lease: Lease) -> PondKey | None:
    row = reactors.find(tx, lease.environment, lease.name)
    return None if row is None else pond_of(row.declaration)


def _put(tx: Transaction, environment: int, event: Event) -> None:
    row = actors.pond(tx, environment, event.pond)
    if row is not None:
        actors.put_signal(
            tx,
            actor=row.actor,
            kind=type(event).__name__.lower(),
            pond=event.pond,
            payload=msgspec.json.encode(event).decode(),
        )


def _pond(tx: Transaction, environment: int, source: AccumulatorDeclaration) -> actors.PondRow | None:
    """Answer the Pond that a source reads: of the major version that it is bound to, else the newest."""
    name = source.pond or ""
    major = tx.row(
        """SELECT max(major) AS major FROM ponds WHERE environment = :environment AND name = :name
           AND removed_at IS NULL AND (:major < 0 OR major = :major)""",
        int,
        environment=environment,
        name=name,
        major=-1 if source.bound_major is None else source.bound_major,
    )
    return None if major is None else actors.pond(tx, environment, pond_key(name, major))

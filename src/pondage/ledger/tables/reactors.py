"""Deployed reactors: their rows, the lease by which one live host owns each, signals to them, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from pondage.define.reactor.reaction import ReactorDeclaration
from pondage.ledger.database.driver import Transaction, text
from pondage.ledger.queue import processes
from pondage.ledger.tables import history

OWN_TABLES = (
    "reactor_log", "reactor_results", "reactor_publications", "reactor_letters", "reactor_streams", "reactor_fires",
    "reactors",
)  # fmt: skip
ALONE_AFTER = 2
"""After so many deaths of its hosts while its code was called a reactor is started in a process of its own."""
LATELY_US = 3_600_000_000
"""Deaths further apart than this have nothing to do with each other."""
NEVER_DUE = 1 << 62
"""When a signal to a reactor is due for an advancement: never. Its owner reads it, whoever advances actors does not."""


class LedgerRow(NamedTuple):
    """Something that a reactor has to say to the ledger: what it is, and a JSON text."""

    kind: str
    payload: str


class Place(NamedTuple):
    """The place of a row in the order of a journal: the number of its commit, and its place inside."""

    seq: int
    place: int


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """One host's ownership of a reactor: only this epoch may write."""

    actor: int
    environment: int
    name: str
    epoch: int
    token: str


class ReactorRow(msgspec.Struct, frozen=True, kw_only=True):
    """A deployed reactor, and who owns it now."""

    actor: int
    environment: int
    environment_name: str
    name: str
    project: str
    declaration: ReactorDeclaration
    entry: str
    digest: str
    code: str
    health: str
    epoch: int
    owner: int | None
    address: str
    is_removed: bool
    jobs: tuple[str, ...] = ()
    """For each of the declaration's jobs the planned job, as JSON."""
    basis: str = ""
    """The digest of everything but its graphs."""
    host: str = ""
    """The code whose live hosts run it; other than `code` when only its graphs were deployed since."""
    secret: str = ""
    machine: str = ""
    deaths: int = 0
    stuck: str | None = None
    stuck_at: int | None = None

    @property
    def is_alone(self) -> bool:
        """Answer whether it runs in a process of its own, because hosts died while its code was called."""
        return self.deaths >= ALONE_AFTER

    @property
    def where(self) -> str:
        """Answer where its live host is, and how other machines reach it; empty without one."""
        if not self.address:
            return ""
        place = self.address.partition(" tls:")[2].partition("@")[2]
        how = f"reached at {place} (TLS)" if place else "reached from that machine only"
        return f"on {self.machine}, {how}"


class ReactorSignal(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a reactor, from the ledger's side; `payload` is a list as events are written."""

    id: int
    payload: str


_SELECT = """SELECT r.actor AS actor, r.environment AS environment, e.name AS environment_name, r.name AS name,
                    r.project AS project, r.declaration AS declaration, r.entry AS entry, r.digest AS digest,
                    r.code AS code, r.basis AS basis, r.host AS host, r.jobs AS jobs, r.health AS health,
                    a.epoch AS epoch, a.owner AS owner,
                    r.deaths AS deaths, r.stuck AS stuck, r.stuck_at AS stuck_at,
                    coalesce(p.address, '') AS address, coalesce(p.secret, '') AS secret,
                    coalesce(p.machine, '') AS machine, r.removed_at IS NOT NULL AS is_removed
             FROM reactors r JOIN actors a ON a.id = r.actor JOIN environments e ON e.id = r.environment
             LEFT JOIN processes p ON p.id = a.owner AND p.dead_at IS NULL """


def put(
    tx: Transaction,
    *,
    environment: int,
    project: str,
    declaration: ReactorDeclaration,
    entry: str = "",
    digest: str = "",
    code: str = "",
    jobs: Sequence[str] = (),
    basis: str = "",
    host: str | None = None,
) -> int:
    """Deploy a reactor, or another declaration or code of one; answer its actor. Its state stays.

    Live hosts of the code `host` (when none is given, of its own) run it.
    """
    tx.write(
        """INSERT INTO actors (environment, kind, key) VALUES (:environment, 'reactor', :name)
           ON CONFLICT DO NOTHING""",
        environment=environment,
        name=declaration.name,
    )
    actor = tx.one(
        "SELECT id FROM actors WHERE environment = :environment AND kind = 'reactor' AND key = :name",
        int,
        environment=environment,
        name=declaration.name,
    )
    tx.write(
        """INSERT INTO reactors (actor, environment, name, project, declaration, entry, digest, basis, code, host,
                                 jobs, deployed_at)
           VALUES (:actor, :environment, :name, :project, :declaration, :entry, :digest, :basis, :code, :host,
                   :jobs, :now)
           ON CONFLICT (actor) DO UPDATE SET project = excluded.project, declaration = excluded.declaration,
             entry = excluded.entry, digest = excluded.digest, basis = excluded.basis, code = excluded.code,
             host = excluded.host, jobs = excluded.jobs, deployed_at = excluded.deployed_at, removed_at = NULL,
             deaths = CASE WHEN reactors.code = excluded.code THEN reactors.deaths ELSE 0 END""",
        actor=actor,
        environment=environment,
        name=declaration.name,
        project=project,
        declaration=msgspec.json.encode(declaration).decode(),
        entry=entry,
        digest=digest,
        basis=basis,
        code=code,
        host=code if host is None else host,
        jobs=msgspec.json.encode(list(jobs)).decode(),
    )
    return actor


def remove(tx: Transaction, actor: int) -> None:
    """Take a reactor out of service: its owner drains it, and then its state goes."""
    tx.write("UPDATE reactors SET removed_at = :now WHERE actor = :actor AND removed_at IS NULL", actor=actor)


def forget(tx: Transaction, lease: Lease) -> None:
    """Delete everything of a removed reactor that its last owner has drained."""
    for table in OWN_TABLES:
        column = "actor" if table == "reactors" else "reactor"
        tx.write(f"DELETE FROM {table} WHERE {column} = :actor", actor=lease.actor)
    tx.write("DELETE FROM signals WHERE actor = :actor", actor=lease.actor)
    tx.write("UPDATE actors SET owner = NULL, token = NULL, version = 0, state = NULL WHERE id = :actor",
             actor=lease.actor)  # fmt: skip


def deployed(tx: Transaction, environment: int | None = None) -> list[ReactorRow]:
    """Answer every reactor that is deployed, or removed but not drained yet."""
    where = "" if environment is None else "WHERE r.environment = :environment "
    values = {} if environment is None else {"environment": environment}
    return tx.rows(_SELECT + where + "ORDER BY r.actor", ReactorRow, **values)


def find(tx: Transaction, environment: int, name: str) -> ReactorRow | None:
    """Answer one reactor by name."""
    return tx.row(
        _SELECT + "WHERE r.environment = :environment AND r.name = :name AND r.removed_at IS NULL",
        ReactorRow,
        environment=environment,
        name=name,
    )


def claim(tx: Transaction, *, actor: int, process: int, token: str) -> Lease | None:
    """Own a reactor that nobody owns, under the next epoch. None when somebody does, or when we are taken for dead.

    The token is chosen before, so that after a lost answer `claimed` tells whether the claim was made.
    """
    if not processes.is_alive(tx, process):
        return None
    tx.change(
        """UPDATE actors SET owner = :process, token = :token, epoch = epoch + 1
           WHERE id = :actor AND kind = 'reactor' AND owner IS NULL""",
        process=process,
        token=token,
        actor=actor,
    )
    return claimed(tx, token=token)


def claimed(tx: Transaction, *, token: str) -> Lease | None:
    """Answer the lease that was claimed with a token, when it stands."""
    return tx.row(
        "SELECT id AS actor, environment, key AS name, epoch, token FROM actors WHERE token = :token",
        Lease,
        token=token,
    )


def release(tx: Transaction, lease: Lease) -> bool:
    """Give a reactor back. False when it was another's already."""
    changed = tx.change(
        "UPDATE actors SET owner = NULL, token = NULL WHERE id = :actor AND token = :token",
        actor=lease.actor,
        token=lease.token,
    )
    return changed == 1


def take_over(tx: Transaction, actor: int, *, token: str) -> Lease:
    """Fence whoever owns a reactor, and hold its lease until a live host claims it: nobody owns it meanwhile."""
    tx.change(
        "UPDATE actors SET owner = NULL, token = :token, epoch = epoch + 1 WHERE id = :actor", token=token, actor=actor
    )
    lease = claimed(tx, token=token)
    assert lease is not None, f"the actor {actor} vanished within a transaction"
    return lease


def raise_epoch(tx: Transaction, lease: Lease, epoch: int) -> None:
    """Go beyond an epoch that a journal knows already: the ledger is a copy that was put back, the journal is not.

    Nothing happens when the lease is another's: then the newer epoch is that owner's.
    """
    tx.write(
        "UPDATE actors SET epoch = :epoch WHERE id = :actor AND token = :token AND epoch < :epoch",
        epoch=epoch,
        actor=lease.actor,
        token=lease.token,
    )


def free(tx: Transaction, process: int) -> int:
    """Free every reactor that a dead process owned: any live host may claim it at once."""
    return tx.change("UPDATE actors SET owner = NULL, token = NULL WHERE owner = :process", process=process)


def blame(tx: Transaction, actor: int) -> bool:
    """Count the death of a host while code of this reactor was called; answer whether it gets its own host by that."""
    tx.write(
        """UPDATE reactors SET died_at = :now,
                  deaths = CASE WHEN died_at IS NULL OR died_at < :now - :lately THEN 1 ELSE deaths + 1 END
           WHERE actor = :actor""",
        lately=LATELY_US,
        actor=actor,
    )
    row = tx.row(
        "SELECT environment, name, deaths FROM reactors WHERE actor = :actor", tuple[int, str, int], actor=actor
    )
    if row is None or row[2] != ALONE_AFTER:
        return False
    said = {"reactor": row[1], "deaths": row[2]}
    history.record(tx, environment=row[0], kind="reactor alone", payload=said)
    return True


def cannot_start(tx: Transaction, lease: Lease, error: str, *, item: str = "start") -> None:
    """Note why a reactor does not run: what `why` and `reactor list` show. Said once for each reason."""
    health = msgspec.json.encode({"state": "Starting", "sources": [], "error": error}).decode()
    changed = tx.change(
        "UPDATE reactors SET health = :health WHERE actor = :actor AND health <> :health",
        health=health,
        actor=lease.actor,
    )
    if changed:
        said = {"reactor": lease.name, "error": error}
        history.record(tx, environment=lease.environment, kind="reactor not started", payload=said)
    cannot_go_on(tx, lease, item, error)


def cannot_go_on(tx: Transaction, lease: Lease, item: str, error: str) -> None:
    """Note what of a reactor is stuck; since when is kept until something goes on."""
    stuck = msgspec.json.encode({"item": item, "error": error}).decode()
    tx.write(
        """UPDATE reactors SET stuck = :stuck, stuck_at = coalesce(stuck_at, :now)
           WHERE actor = :actor AND (stuck IS NULL OR stuck <> :stuck)""",
        stuck=stuck,
        actor=lease.actor,
    )


def goes_on(tx: Transaction, actor: int, *, is_pardoned: bool = False) -> None:
    """Forget what was stuck: it went on, or was put aside. `is_pardoned`: it may share a process again, too."""
    tx.write(
        """UPDATE reactors SET stuck = NULL, stuck_at = NULL,
                  deaths = CASE WHEN :is_pardoned = 1 THEN 0 ELSE deaths END
           WHERE actor = :actor AND (stuck IS NOT NULL OR :is_pardoned = 1)""",
        actor=actor,
        is_pardoned=int(is_pardoned),
    )


def cannot_rebind(tx: Transaction, lease: Lease, error: str) -> None:
    """Note why a reactor goes on with the graphs of the deploy before."""
    said = {"reactor": lease.name, "error": error}
    history.record(tx, environment=lease.environment, kind="reactor not rebound", payload=said)


def listen(tx: Transaction, process: int, address: str, *, secret: str = "") -> None:
    """Write down where a live host listens, and what those who come from other machines must know."""
    tx.write(
        "UPDATE processes SET address = :address, secret = :secret WHERE id = :id",
        address=address,
        secret=secret,
        id=process,
    )


def signal(tx: Transaction, *, actor: int, payload: object) -> None:
    """Tell a reactor something through the ledger; its owner reads it soon."""
    tx.write(
        """INSERT INTO signals (actor, kind, payload, due_at) VALUES (:actor, 'reactor', :payload, :due)""",
        actor=actor,
        payload=msgspec.json.encode(payload).decode(),
        due=NEVER_DUE,
    )


def signals(tx: Transaction, actor: int) -> list[ReactorSignal]:
    """Answer what the ledger has to tell a reactor, in order."""
    return tx.rows("SELECT id, payload FROM signals WHERE actor = :actor ORDER BY id", ReactorSignal, actor=actor)


def faults(tx: Transaction, actor: int) -> dict[str, str]:
    """Answer what each stream of a reactor ended with when it last failed, as JSON."""
    rows = tx.rows(
        """SELECT d.node AS node, e.error AS error FROM executions e JOIN dispatches d ON d.id = e.dispatch
           WHERE d.actor = :actor AND d.kind = 'stream' AND e.outcome = 'failed' AND e.error IS NOT NULL
           ORDER BY e.id""",
        actor=actor,
    )
    return {text(row, "node"): text(row, "error") for row in rows}

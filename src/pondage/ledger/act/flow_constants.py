"""Constants that trees name by their digest: stored once, and put into the plan of each flow that names them."""

from __future__ import annotations

import base64
import hashlib

import msgspec

from pondage.define.job.flow import CONST, FlowRefused
from pondage.define.job.job import JobProblem, Place
from pondage.define.values.schema import pointed
from pondage.errors import LedgerError
from pondage.kernel.control import JobPlan
from pondage.kernel.control.shape import PlanComponent
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, history
from pondage.ledger.tables.history import Caller
from pondage.plan.job.stored_job import StoredJob

MAX_BYTES = 8 * 1_048_576
"""How large a constant may be: it travels with the plan."""


def store(ledger: Ledger, environment: str, data: bytes, *, by: Caller | None = None) -> str:
    """Keep a constant for as long as runs are kept, and answer what a tree calls it; raises `LedgerError`."""
    if len(data) > MAX_BYTES:
        raise LedgerError(
            f"{len(data):,} bytes are more than a constant may have ({MAX_BYTES:,})",
            hint="put it into a location and read it from there",
            code="LIMIT",
        )
    digest = hashlib.sha256(data).hexdigest()
    with ledger.transaction() as tx:
        limit = tx.now - int(ledger.durability.retention_days * 86_400_000_000)
        tx.change("DELETE FROM constants WHERE stored_at < :limit", limit=limit)
        tx.change(
            """INSERT INTO constants (digest, data, stored_at) VALUES (:digest, :data, :now)
               ON CONFLICT (digest) DO UPDATE SET stored_at = excluded.stored_at""",
            digest=digest,
            data=data,
        )
        identity = actors.made_environment(tx, environment)
        history.audit(tx, by, environment=identity, verb="flow store", target=f"sha256:{digest}")
    return f"sha256:{digest}"


def resolved(tx: Transaction, job: StoredJob) -> StoredJob:
    """Answer a flow with the constants that it names in it; raises FlowRefused with those that nobody has stored."""
    named = refs(job.plan)
    if not named:
        return job
    require_stored(tx, job.plan)
    found = {name: data_of(tx, ref) for name, ref in named.items()}
    components = tuple(
        one if found.get(one.name) is None else _with(one, found[one.name] or b"") for one in job.plan.components
    )
    return msgspec.structs.replace(job, plan=msgspec.structs.replace(job.plan, components=components))


def refs(plan: JobPlan) -> dict[str, str]:
    """Answer what the nodes of a flow that are stored constants call them."""
    return {
        one.name: str(one.params["ref"]) for one in plan.components if one.type == CONST.name and "ref" in one.params
    }


def require_stored(tx: Transaction, plan: JobPlan) -> None:
    """Refuse a flow that names a constant which nobody has stored; raises FlowRefused with all of those."""
    problems = [missing(name) for name, ref in refs(plan).items() if data_of(tx, ref) is None]
    if problems:
        raise FlowRefused(problems)


def data_of(tx: Transaction, ref: str) -> bytes | None:
    """Answer the bytes of a constant; None when nobody has stored it, or it was long ago."""
    digest = ref.removeprefix("sha256:")
    return tx.row("SELECT data FROM constants WHERE digest = :digest", bytes, digest=digest)


def _with(one: PlanComponent, data: bytes) -> PlanComponent:
    params = {key: value for key, value in one.params.items() if key != "ref"}
    return msgspec.structs.replace(one, params={**params, "bytes": base64.b64encode(data).decode()})


def missing(node: str) -> JobProblem:
    """Answer the problem of a node whose constant nobody has stored."""
    path = f"{pointed('/nodes', node)}/const/ref"
    return JobProblem(
        code="UNKNOWN_REF",
        message=f"{node}: nobody has stored this constant, or it was long ago: pondage flow store FILE",
        path=path,
        place=Place(path=path),
    )

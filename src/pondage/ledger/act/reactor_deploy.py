"""Deploying reactors: part of a deploy's one transaction. A live host sees the rows, and starts, drains or restarts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.define.pond.contract import require_contract
from pondage.define.pond.definition import PondDefinition
from pondage.define.reactor.reaction import ReactorDeclaration, ReactorDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors, environments, reactors
from pondage.plan.deploy.reactor_binding import bound_reactors
from pondage.plan.deploy.reactors import DeployedReactor, check_reactors, is_same_but_for_graphs
from pondage.plan.job.stored_job import StoredJob


def deployed_reactors(tx: Transaction, environment: str) -> list[DeployedReactor]:
    """Answer the reactors that are deployed in an environment: what a plan is compared with."""
    identity = actors.environment(tx, environment)
    if identity is None:
        return []
    return [
        DeployedReactor(declaration=row.declaration, digest=row.digest, project=row.project, basis=row.basis)
        for row in reactors.deployed(tx, identity)
        if not row.is_removed
    ]


def former_reactors(
    tx: Transaction, environment: str, *, project: str, parent: str | None = None
) -> dict[str, ReactorDeclaration]:
    """Answer what the sources of a project's reactors are bound by: as they are deployed here, else above."""
    identity = actors.environment(tx, environment)
    row = None if identity is None else environments.find(tx, environment)
    above = parent if row is None or row.parent is None else actors.environment_name(tx, row.parent)
    return {
        each.declaration.name: each.declaration
        for name in (above, environment)
        if name is not None
        for each in deployed_reactors(tx, name)
        if each.project == project
    }


def put_reactors(
    tx: Transaction,
    definitions: Sequence[ReactorDefinition],
    *,
    environment: int,
    environment_name: str,
    project: str,
    code: str,
    ponds: Sequence[PondDefinition] = (),
    others: Sequence[PondDefinition] = (),
) -> None:
    """Put a project's reactors in force, inside the transaction of a deploy; raises RegistryError.

    One whose functions and declaration are as they were keeps its code, and goes on undisturbed. One of which only the
    graphs are others stays with its live host, which binds them while it runs. Sources are bound to the majors of the
    project's `ponds` and the `others` that are deployed.
    """
    definitions = bound_reactors(definitions, former_reactors(tx, environment_name, project=project), ponds, others)
    check_reactors(definitions, deployed_reactors(tx, environment_name), project=project, environment=environment_name)
    before = {row.name: row for row in reactors.deployed(tx, environment) if row.project == project}
    for each in definitions:
        known = before.pop(each.name, None)
        is_there = known is not None and not known.is_removed
        if known is None or not is_there or known.digest != each.digest:
            is_rebound = known is not None and is_there and is_same_but_for_graphs(known.basis, each.basis)
            reactors.put(
                tx,
                environment=environment,
                project=project,
                declaration=each.declaration,
                entry=each.entry,
                digest=each.digest,
                code=each.code or code,
                jobs=[_with_code(job, each.code or code) for job in each.jobs],
                basis=each.basis,
                host=known.host if known is not None and is_rebound else None,
            )
    for row in before.values():
        reactors.remove(tx, row.actor)


def reactors_of(tx: Transaction, environment: int, project: str) -> list[ReactorDefinition]:
    """Answer the reactors that are in force for a project, as a later deploy could bring them back."""
    return [
        ReactorDefinition(
            declaration=row.declaration,
            entry=row.entry,
            digest=row.digest,
            jobs=row.jobs,
            code=row.code,
            basis=row.basis,
        )
        for row in reactors.deployed(tx, environment)
        if row.project == project and not row.is_removed
    ]


def fed_schemas(tx: Transaction, environment: str, definitions: Sequence[PondDefinition]) -> dict[PondKey, str]:
    """Answer what the major versions of Ponds that reactors feed have published so far, as schemas."""
    identity = actors.environment(tx, environment)
    found: dict[PondKey, str] = {}
    for each in [] if identity is None else definitions:
        key = pond_key(each.name, each.major)
        row = None if each.feed is None or identity is None else actors.pond(tx, identity, key)
        schema = None if row is None else snapshots.schema_of(tx, pond=row.id, ripple=each.ripples[0].name)
        if schema is not None:
            found[key] = schema
    return found


def require_fed_contracts(tx: Transaction, environment: int, definitions: Sequence[PondDefinition]) -> None:
    """Refuse rows of a reactor's Pond that are narrower than what its major version has; raises ContractBroken."""
    for each in definitions:
        row = None if each.feed is None else actors.pond(tx, environment, pond_key(each.name, each.major))
        if row is not None and each.feed is not None and each.feed.schema:
            before = snapshots.schema_of(tx, pond=row.id, ripple=each.ripples[0].name)
            require_contract(before, each.feed.schema, where=f"Pond {each.name} of reactor {each.feed.reactor}")


def _with_code(job: str, code: str) -> str:
    """Answer a planned job whose components run with this code."""
    stored = msgspec.json.decode(job, type=StoredJob)
    return msgspec.json.encode(msgspec.structs.replace(stored, archive=code)).decode()

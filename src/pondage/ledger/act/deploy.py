"""Deploying: definitions and code become rows, catchments are joined or split, the machine is told. One transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from pondage.define.job.exposed import Exposed
from pondage.define.pond.definition import PondDefinition, Triggers
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.errors import LedgerError
from pondage.kernel.agreement.diamonds import tracked
from pondage.kernel.demand.events import Calm, Deploy, Event, Remove, Resume, Tide, Wake, Wave
from pondage.kernel.demand.state import Pacing
from pondage.ledger.act.branching import deployed, newest_definition
from pondage.ledger.act.exposed import row_of
from pondage.ledger.act.job_deploys import put_jobs
from pondage.ledger.act.reactor_deploy import put_reactors, reactors_of, require_fed_contracts
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import pools
from pondage.ledger.step import advance
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import actors, environments, history, schedules
from pondage.ledger.tables.archives import store_archive
from pondage.ledger.tables.history import Caller
from pondage.ledger.tables.job_plans import StoredJob
from pondage.ledger.tables.pond_shape import follow_of
from pondage.plan.deploy.values import Deployed


def begin(ledger: Ledger, environment: str, parent: str) -> None:
    """Make the environment, even when nothing differs from the one above yet: it can be read then."""
    with ledger.reading() as tx:
        is_there = actors.environment(tx, environment) is not None
    if not is_there:
        with ledger.transaction() as tx:
            environments.ensure(tx, environment, parent)


def deploy(
    ledger: Ledger,
    environment: str,
    *,
    project: str,
    definitions: list[PondDefinition],
    removed: list[PondKey],
    archive: bytes,
    summary: str,
    expected: list[Deployed],
    reactors: Sequence[ReactorDefinition] | None = None,
    restored: int | None = None,
    pool_sizes: Mapping[str, int] | None = None,
    parent: str | None = None,
    exposed: Exposed | None = None,
    jobs: Mapping[str, StoredJob] | None = None,
    by: Caller | None = None,
) -> str:
    """Put bound definitions in force and take Ponds away; answer the digest of the code archive.

    `expected` is what the plan was made against: when somebody else deployed since, this refuses and changes nothing.
    Raises `LedgerError` then. `reactors` of None leaves the reactors as they are. `restored` is the older deployment
    that a rollback brings back. `parent` is the environment that a new one reads where it has no Ponds of its own.
    `exposed` of None leaves what the project gives to trees as it is, and `jobs` of None its jobs.
    """
    digest = hashlib.sha256(archive).hexdigest()
    with ledger.transaction() as tx:
        identity = environments.ensure(tx, environment, parent).id
        actors.lock_environment(tx, identity)
        _lock_touched(tx, identity, {_key(one): one for one in definitions}, removed)
        before = deployed(tx, ledger, environment)
        if before != expected:
            raise LedgerError(
                "somebody else has deployed since this plan was made", hint="pondage plan", code="PLAN_OUTDATED"
            )
        pools.resize(tx, pool_sizes or {})
        _refuse_unknown_pools(definitions, set(pools.sizes(tx)))
        store_archive(tx, digest, archive)
        require_fed_contracts(tx, identity, definitions)
        if jobs is not None:
            put_jobs(tx, environment, identity, project=project, jobs=jobs, archive=archive)
        if reactors is not None:
            put_reactors(
                tx,
                reactors,
                environment=identity,
                environment_name=environment,
                project=project,
                code=digest,
                ponds=definitions,
                others=[one.definition for one in before if one.key not in removed],
            )
        former = {one.key: one.definition for one in before}
        stored: dict[PondKey, tuple[int, PondDefinition]] = {}
        for declared in definitions:
            # What comes back keeps the code that it had: not all of it need be from the same deploy.
            code = digest if restored is None else declared.archive or digest
            complete = msgspec.structs.replace(declared, archive=code, project=project)
            stored[_key(complete)] = (_store(tx, complete), complete)
        own = {key: one for key, (_, one) in stored.items()}
        borrowed, returned = _borrow(tx, ledger, identity, former, own, removed)
        homes = _rehome(tx, ledger, identity, borrowed | own, [*removed, *returned])
        for key in [*removed, *returned]:
            put_event(tx, actor=homes[key], event=Remove(pond=key))
        for key, one in borrowed.items():
            put_event(tx, actor=homes[key], event=Deploy(pond=key, definition=str(_store(tx, one))))
            put_event(tx, actor=homes[key], event=Wake(pond=key))
        for key, (definition_id, complete) in stored.items():
            put_event(tx, actor=homes[key], event=Deploy(pond=key, definition=str(definition_id)))
            for event in _trigger_changes(key, former.get(key), complete.triggers):
                put_event(tx, actor=homes[key], event=event)
        for actor in sorted({homes[key] for key in [*stored, *removed, *borrowed, *returned]}):
            advance.inline(tx, ledger, actor, process=None)
        for key, (_, complete) in stored.items():
            row = actors.pond(tx, identity, key)
            if row is None:
                # Its catchment has locked itself up: a step raised, and raises again with this deploy in it.
                raise LedgerError(
                    f"{key} cannot be deployed: the Ponds that it is connected with are halted",
                    hint="pondage why names the error; pondage clear POND lets them go on",
                    code="CATCHMENT_HALTED",
                )
            schedules.put(tx, "pond", row.id, complete.triggers.schedules)
        _track_diamonds(tx, ledger, environment, identity)
        environments.relink(tx)
        kept = [definition_id for definition_id, _ in stored.values()]
        untouched = [one for key, one in former.items() if key not in stored and key not in removed]
        kept += [_store(tx, one) for one in untouched if one.project == project]
        if exposed is not None and restored is None:
            exposed = exposed.with_code(digest)
        _record(
            tx, identity, project, digest, summary, by, definitions=kept, exposed=row_of(exposed), restored=restored
        )
    return digest


def _lock_touched(
    tx: Transaction, environment: int, declared: dict[PondKey, PondDefinition], removed: list[PondKey]
) -> None:
    """Wait for whoever steps one of the catchments that this deploy touches, and keep the others from stepping them.

    In the order of their ids, behind the environment's lock: two deploys cannot wait for each other.
    """
    homes = _homes(tx, environment)
    # What is borrowed for these may join any of the others.
    touched = {*declared, *removed} if len(environments.chain(tx, environment)) == 1 else {*declared, *homes}
    groups = _connected(homes, _edges(tx, environment, declared), declared)
    for actor in sorted(
        {homes[key][1] for group in groups if not touched.isdisjoint(group) for key in group if key in homes}
    ):
        actors.lock(tx, actor, is_waiting=True)


def _track_diamonds(tx: Transaction, ledger: Ledger, environment: str, identity: int) -> None:
    own = [one.definition for one in deployed(tx, ledger, environment)]
    now = [*own, *_above(tx, ledger, identity, own)]
    sources = {
        _key(one): [pond_key(source.pond, source.major) for source in one.sources if source.major is not None]
        for one in now
    }
    actors.save_tracks(tx, identity, tracked(sources, [_key(one) for one in now if one.coherent]))


def _above(tx: Transaction, ledger: Ledger, environment: int, own: list[PondDefinition]) -> list[PondDefinition]:
    """Answer the Ponds of the environments above that these stand on, directly or not."""
    if not ledger.has_parent(tx, environment):
        return []
    found: dict[PondKey, PondDefinition] = {}
    known, pending = {_key(one) for one in own}, environments.sources_of(own)
    while pending:
        key = pending.pop()
        origin = None if key in found or key in known else environments.above(tx, environment, key)
        if origin is not None:
            found[key] = newest_definition(tx, ledger, origin.row)
            pending.extend(environments.sources_of([found[key]]))
    return list(found.values())


def _borrow(
    tx: Transaction,
    ledger: Ledger,
    environment: int,
    former: Mapping[PondKey, PondDefinition],
    declared: Mapping[PondKey, PondDefinition],
    removed: Sequence[PondKey],
) -> tuple[dict[PondKey, PondDefinition], list[PondKey]]:
    """Answer what is borrowed anew for the Ponds that read it, and what nobody here reads any more."""
    if not ledger.has_parent(tx, environment):
        return {}, []
    own = {key: one for key, one in former.items() if key not in removed} | dict(declared)
    held = {row.key for row in actors.ponds(tx, environment) if row.borrows is not None}
    wanted = [key for key in environments.sources_of(own.values()) if key not in own]
    borrowed: dict[PondKey, PondDefinition] = {}
    for key in wanted:
        origin = None if key in held else environments.above(tx, environment, key)
        if origin is not None:
            borrowed[key] = environments.borrowing(origin, newest_definition(tx, ledger, origin.row))
    return borrowed, sorted(held - set(wanted) - set(own))


def _refuse_unknown_pools(definitions: list[PondDefinition], known: set[str]) -> None:
    for one in definitions:
        if one.pool is not None and one.pool not in known:
            raise LedgerError(
                f"{one.name} wants the pool {one.pool}, which nobody has declared",
                hint=f"write [pools] and under it {one.pool} = 4 into pondage.toml",
                place=one.place or None,
                code="NO_SUCH_POOL",
            )


def _key(definition: PondDefinition) -> PondKey:
    return pond_key(definition.name, definition.major)


def _store(tx: Transaction, complete: PondDefinition) -> int:
    digest = hashlib.sha256(msgspec.json.encode(complete)).hexdigest()
    return actors.store_definition(tx, complete, digest)


def _trigger_changes(key: PondKey, former: PondDefinition | None, declared: Triggers) -> list[Event]:
    """Answer what makes the standing triggers those of the code. Triggers that people set by hand stay."""
    before = Triggers() if former is None else former.triggers
    events: list[Event] = []
    is_other = before.pacing != declared.pacing or before.wave_follow != declared.wave_follow
    if declared.wave and (not before.wave or is_other):
        events.append(Wave(pond=key, pacing=Pacing(declared.pacing), follow=follow_of(declared.wave_follow)))
    elif before.wave and not declared.wave:
        events.append(Calm(pond=key, name="wave"))
    names = {tide.name for tide in declared.tides}
    events.extend(Calm(pond=key, name=tide.name) for tide in before.tides if tide.name not in names)
    events.extend(
        Tide(pond=key, limit=tide.limit_us, name=tide.name, follow=follow_of(tide.follow))
        for tide in declared.tides
        if tide not in before.tides
    )
    # One that is paused stays so, unless it is another now.
    events.extend(Resume(pond=key, name=each.name) for each in declared.schedules if each not in before.schedules)
    return events


def _rehome(
    tx: Transaction,
    ledger: Ledger,
    environment: int,
    declared: dict[PondKey, PondDefinition],
    removed: list[PondKey],
) -> dict[PondKey, int]:
    """Give every connected graph of Ponds one actor, moving Ponds and their signals, and answer each Pond's actor."""
    homes = _homes(tx, environment)
    groups = _connected(homes, _edges(tx, environment, declared), declared)
    taken: set[int] = set()
    answer = {key: homes[key][1] for key in removed}
    for group in groups:
        known = sorted({homes[key][1] for key in group if key in homes} - taken)
        home = known[0] if known else _create(tx, ledger, environment)
        taken.add(home)
        moving = [key for key in group if key in homes and homes[key][1] != home]
        for actor in sorted({home, *(homes[key][1] for key in moving)} if moving else ()):
            actors.edit(tx, actor)
        for key in moving:
            _move(tx, key, homes[key], home)
        answer.update(dict.fromkeys(group, home))
    for old in {actor for _, actor in homes.values()} - taken:
        successor = next(
            (answer[key] for key, (_, actor) in homes.items() if actor == old and answer[key] != old), None
        )
        if successor is not None:
            tx.change("UPDATE actors SET moved = :moved WHERE id = :id", id=old, moved=successor)
    return answer


def _create(tx: Transaction, ledger: Ledger, environment: int) -> int:
    return actors.create(tx, environment_id=environment, kind="catchment", key=ledger.ids.new("c"))


def _homes(tx: Transaction, environment: int) -> dict[PondKey, tuple[int, int]]:
    """Answer id and actor of every deployed Pond."""
    rows = tx.rows(
        """SELECT name || '@' || major AS key, id, actor FROM ponds
           WHERE environment = :environment AND removed_at IS NULL""",
        tuple[PondKey, int, int],
        environment=environment,
    )
    return {key: (identity, actor) for key, identity, actor in rows}


def _edges(tx: Transaction, environment: int, declared: dict[PondKey, PondDefinition]) -> list[tuple[PondKey, PondKey]]:
    edges = tx.rows(
        """SELECT p.name || '@' || p.major AS key, s.source_name || '@' || s.source_major AS source
           FROM pond_sources s JOIN ponds p ON p.id = s.pond
           WHERE s.environment = :environment AND p.removed_at IS NULL""",
        tuple[PondKey, PondKey],
        environment=environment,
    )
    for key, one in declared.items():
        edges.extend((key, pond_key(source.pond, source.major)) for source in one.sources if source.major is not None)
    return edges


def _connected(
    homes: dict[PondKey, tuple[int, int]],
    edges: list[tuple[PondKey, PondKey]],
    declared: dict[PondKey, PondDefinition],
) -> list[list[PondKey]]:
    """Answer the connected graphs, the largest first, so that a split leaves most Ponds where they are.

    A Pond that is being removed stays in the graph: active Runs of its neighbours still end together with it.
    """
    leader = {key: key for key in [*homes, *declared]}

    def find(key: PondKey) -> PondKey:
        while leader[key] != key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    for one, other in edges:
        if one in leader and other in leader:
            leader[find(one)] = find(other)
    groups: dict[PondKey, list[PondKey]] = {}
    for key in leader:
        groups.setdefault(find(key), []).append(key)
    return sorted((sorted(group) for group in groups.values()), key=lambda group: (-len(group), group))


def _move(tx: Transaction, key: PondKey, home: tuple[int, int], to: int) -> None:
    pond, old = home
    actors.move_pond(tx, pond, to)
    tx.change("UPDATE signals SET actor = :new WHERE actor = :old AND pond = :pond", new=to, old=old, pond=key)


def _record(
    tx: Transaction,
    environment: int,
    project: str,
    digest: str,
    summary: str,
    by: Caller | None,
    *,
    definitions: list[int],
    exposed: str | None,
    restored: int | None,
) -> None:
    tx.change(
        """INSERT INTO deployments (environment, project, archive, plan, definitions, reactors, exposed, restored,
                                    deployed_at)
           VALUES (:environment, :project, :archive, :plan, :definitions, :reactors, :exposed, :restored, :now)""",
        environment=environment,
        project=project,
        archive=digest,
        plan=summary,
        definitions=msgspec.json.encode(definitions).decode(),
        reactors=msgspec.json.encode(reactors_of(tx, environment, project)).decode(),
        exposed=exposed,
        restored=restored,
    )
    history.record(tx, environment=environment, kind="deployment", payload={"project": project, "archive": digest})
    history.audit(tx, by, environment=environment, verb="deploy" if restored is None else "rollback", target=project)

"""What the doctor looks at in the ledger: claims, actors, processes, schema, clock, and the recorded history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from pondage.engine.process import identity
from pondage.engine.process.config import EngineConfig, shown_url
from pondage.errors import PondageError
from pondage.ledger.database.migrate import migrations, schema
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables.actors import environment
from pondage.ledger.upkeep import health
from pondage.ledger.upkeep.replay import replay

CLOCK_SLACK_US = 5_000_000
STRANDED_US = 60_000_000


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; `hint` says what to do when it is not well."""

    check: str
    ok: bool
    detail: str
    hint: str | None = None


def ledger_findings(config: EngineConfig, *, is_replaying: bool) -> Iterator[Finding]:
    """Look at everything, one after the other; what cannot be looked at is a finding, too."""
    try:
        ledger = config.open_ledger()
    except PondageError as error:
        yield Finding(check="ledger", ok=False, detail=error.message, hint=error.hint)
        return
    try:
        yield Finding(check="ledger", ok=True, detail=shown_url(config.ledger))
        looks = {
            "schema": _schema,
            "claims": _claims,
            "work": _work,
            "actors": _actors,
            "signals": _signals,
            "outbox": _outbox,
            "processes": _processes,
            "clock": _clock,
        }
        for check, look in looks.items():
            yield _looked(check, look, ledger)
        if is_replaying:
            yield _looked("replay", lambda opened: _replay(opened, config.environment), ledger)
    finally:
        ledger.close()


def _looked(check: str, look: Callable[[Ledger], Finding], ledger: Ledger) -> Finding:
    try:
        return look(ledger)
    except PondageError as error:
        return Finding(check=check, ok=False, detail=error.message, hint=error.hint)


def _schema(ledger: Ledger) -> Finding:
    found, shipped = schema(ledger.driver), migrations(ledger.driver.dialect)
    foreign = [each.name for each in shipped if found.checksums.get(each.version) != each.checksum]
    newest = shipped[-1].version
    newer = "" if found.version <= newest else f", made by a newer Pondage (this one knows {newest})"
    return Finding(
        check="schema",
        ok=not foreign,
        detail=f"{found.version}{newer}" if not foreign else f"{', '.join(foreign)} was not what made this ledger",
        hint="it was made by an unreleased Pondage: deploy into a new ledger, or go back to the one that made it",
    )


def _anew(ponds: Iterable[str | None]) -> str:
    """Answer the commands that begin stuck work anew; questions have no Pond and are simply asked again."""
    named = sorted({name for name in ponds if name is not None})
    return "; ".join(f"pondage kill {name} && pondage force {name}" for name in named) or "ask the question again"


def _claims(ledger: Ledger) -> Finding:
    with ledger.reading() as tx:
        leaked = health.leaked_claims(tx)
    names = ", ".join(f"{each.node} (process {each.process})" for each in leaked)
    return Finding(
        check="claims",
        ok=not leaked,
        detail=f"held by dead processes: {names}" if leaked else "no claim is held by a dead process",
        hint=f"this is a defect, please report it; to go on: {_anew(each.pond for each in leaked)}",
    )


def _work(ledger: Ledger) -> Finding:
    with ledger.reading() as tx:
        stuck = health.stuck_work(tx)
    return Finding(
        check="work",
        ok=not stuck,
        detail="; ".join(f"{each.node}: {each.reason}" for each in stuck) or "nothing is stuck",
        hint=f"this is a defect or a foreign write; to go on: {_anew(each.pond for each in stuck)}",
    )


def _actors(ledger: Ledger) -> Finding:
    with ledger.reading() as tx:
        halted = health.halted_actors(tx)
    return Finding(
        check="actors",
        ok=not halted,
        detail="; ".join(f"{each.key}: {each.reason}" for each in halted) or "none is halted",
        hint="once the cause is gone: " + "; ".join(sorted({_released(each) for each in halted})),
    )


def _released(halted: health.HaltedActor) -> str:
    """Answer the command that lets an actor go on, or ends it: only a Pond can be cleared."""
    if halted.run is not None:
        return f"pondage job kill {halted.run}"
    return f"pondage why {halted.key}" if halted.pond is None else f"pondage clear {halted.pond}"


def _outbox(ledger: Ledger) -> Finding:
    with ledger.reading() as tx:
        failing = health.failing_outbox(tx)
    return Finding(
        check="outbox",
        ok=not failing,
        detail="; ".join(failing) or "the outside was told everything",
        hint="remove the cause: it is tried again by itself, at least every five minutes",
    )


def _signals(ledger: Ledger) -> Finding:
    with ledger.reading() as tx:
        stranded = health.stranded_signals(tx, older_than_us=STRANDED_US)
    return Finding(
        check="signals",
        ok=not stranded,
        detail=f"waiting for actors that moved: {', '.join(stranded)}" if stranded else "none is stranded",
        hint="start `pondage dev` or `pondage worker`: its timer hands them on",
    )


def _processes(ledger: Ledger) -> Finding:
    limit_us = int(ledger.durability.reap_after_s * 1e6)
    here = identity.machine()
    with ledger.reading() as tx:
        rows = processes.alive(tx)
        silent = {row.id for row in processes.stale(tx, older_than_us=limit_us, not_id=None)}
        boot = tx.boot
    for row in rows:
        is_here = row.machine == here and row.boot == boot
        if is_here and not identity.is_running(row.pid, row.pid_started):
            silent.add(row.id)
    names = ", ".join(f"{row.role} {row.public_id}" for row in rows if row.id in silent)
    return Finding(
        check="processes",
        ok=not silent,
        detail=f"silent or gone: {names}" if silent else f"{len(rows)} alive",
        hint="start `pondage dev` or `pondage worker`: it takes back what they held",
    )


def _clock(ledger: Ledger) -> Finding:
    with ledger.reading() as tx:
        ahead_us = health.newest_time(tx) - tx.now
    return Finding(
        check="clock",
        ok=ahead_us <= CLOCK_SLACK_US,
        detail="not behind the ledger" if ahead_us <= CLOCK_SLACK_US else f"{ahead_us / 1e6:.0f} s behind the ledger",
        hint="the clock was set back: set it right, or wait until the time has passed again",
    )


def _replay(ledger: Ledger, name: str) -> Finding:
    with ledger.reading() as tx:
        found = environment(tx, name)
        replayed = None if found is None else replay(tx, ledger, found)
    if replayed is None:
        return Finding(check="replay", ok=True, detail="nothing was ever deployed")
    if not replayed.is_complete and not replayed.runs:
        detail = f"the beginning of the history is gone: {replayed.advancements} steps are kept, which say nothing"
        return Finding(check="replay", ok=True, detail=detail)
    different = ", ".join([*(each.pond for each in replayed.differences), *replayed.runs])
    return Finding(
        check="replay",
        ok=not different,
        detail=f"{different} is not what its history gives"
        if different
        else f"{replayed.advancements} recorded steps give the stored states",
        hint="somebody else wrote to the ledger, or this is a defect: keep a copy (pondage backup FILE) and report it",
    )

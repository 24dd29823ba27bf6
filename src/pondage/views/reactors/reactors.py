"""Reactors as people and programs read them: the list, their history, and why one does not fire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from pondage.define.reactor.reaction import ReactorDeclaration
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.tables import actors, reactors
from pondage.ledger.tables.letters import JOURNAL, PUBLICATION
from pondage.ledger.tables.reactors import ReactorRow
from pondage.views import find
from pondage.views.reactors.words import happened_text
from pondage.views.words import moment_text


class ReactorView(msgspec.Struct, frozen=True, kw_only=True):
    """A deployed reactor. `state` is what its last owner said; without an owner nothing of it runs.

    `is_rebound`: its graphs are those of a later deploy, bound while it runs. `is_alone`: it has a process of its own,
    because hosts died while its code was called. `stuck` is what does not go on since `stuck_at`.
    """

    name: str
    version: str
    project: str
    state: str
    waiting_for: tuple[str, ...]
    is_owned: bool
    epoch: int
    criteria: str
    strategy: str
    durable: str
    sources: tuple[str, ...]
    graphs: tuple[str, ...]
    is_rebound: bool = False
    is_alone: bool = False
    error: str | None = None
    stuck: str | None = None
    stuck_at: int | None = None


class RepairView(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to a reactor that could not go on: the dead letters with what was put aside."""

    reactor: str
    letters: tuple[str, ...]


class HistoryLine(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a reactor: a recovery, a hold, a start that failed; `text` says it in words."""

    at: int
    kind: str
    text: str
    details: dict[str, object]


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One reason why a reactor does not fire, or fires less than one thinks, and what to type."""

    gate: str
    text: str
    hint: str | None = None


class ReactorWhyView(msgspec.Struct, frozen=True, kw_only=True):
    """A reactor and everything between it and its next fire."""

    reactor: str
    environment: str
    state: str
    reasons: tuple[Reason, ...]
    where: str = ""
    """Where its live host is, and how other machines reach it."""


class _Fault(msgspec.Struct):
    message: str = ""


class _Health(msgspec.Struct):
    state: str = "Stopped"
    sources: list[str] = []
    error: str | None = None


def reactor_row(tx: Transaction, environment: str, name: str) -> ReactorRow:
    """Answer a deployed reactor; raises `NotFound` with the nearest name that exists."""
    identity = find.environment_id(tx, environment)
    row = reactors.find(tx, identity, name)
    if row is None:
        known = [each.name for each in reactors.deployed(tx, identity) if not each.is_removed]
        close = nearest(name, known)
        raise NotFound(
            f"no reactor {name} is loaded in environment {environment}",
            hint=f"pondage reactor state {close}" if close else "pondage reactor list",
            code="NOT_LOADED",
        )
    return row


def reactor_list(tx: Transaction, environment: str) -> list[ReactorView]:
    """Answer every reactor of an environment by name. An environment that nobody deployed to has none."""
    identity = actors.environment(tx, environment)
    if identity is None:
        return []
    rows = [row for row in reactors.deployed(tx, identity) if not row.is_removed]
    return [_view(row) for row in sorted(rows, key=lambda row: row.name)]


def reactor_history(tx: Transaction, row: ReactorRow, *, limit: int) -> list[HistoryLine]:
    """Answer the newest lines about a reactor, oldest first."""
    rows = tx.rows(
        """SELECT at, kind, payload FROM history
           WHERE environment = :environment AND kind LIKE 'reactor %' AND payload LIKE :about ESCAPE '!'
           ORDER BY id DESC LIMIT :limit""",
        tuple[int, str, dict[str, object]],
        environment=row.environment,
        about=_begin_of_payload(row.name),
        limit=limit,
    )
    return [_history_line(*each) for each in reversed(rows)]


def _begin_of_payload(name: str) -> str:
    """Answer the pattern of what is said of this reactor: its name is the first thing in it."""
    return f'{{"reactor":"{name.replace("_", "!_")}",%'


def _history_line(at: int, kind: str, details: dict[str, object]) -> HistoryLine:
    details.pop("reactor", None)
    kind = kind.removeprefix("reactor ")
    return HistoryLine(at=at, kind=kind, text=happened_text(kind, details), details=details)


def named_reactor(tx: Transaction, environment: int, name: str) -> ReactorRow | None:
    """Answer the reactor of this name, or the one that publishes the Pond of this name."""
    found = reactors.find(tx, environment, name)
    if found is not None:
        return found
    pond = name.partition("@")[0]
    for row in reactors.deployed(tx, environment):
        if not row.is_removed and row.declaration.publish is not None and row.declaration.publish.pond == pond:
            return row
    return None


def state_of(said: object) -> dict[str, object]:
    """Answer what a live host said of a reactor as an object."""
    return msgspec.convert(said, dict[str, object])


def stream_faults(tx: Transaction, row: ReactorRow) -> dict[str, str]:
    """Answer what ended each stream that Spark reads for a reactor, when it last failed."""
    found = reactors.faults(tx, row.actor)
    return {source: msgspec.json.decode(error, type=_Fault).message for source, error in found.items()}


def why_reactor(
    row: ReactorRow,
    state: Mapping[str, object] | None,
    faults: Mapping[str, str] | None = None,
    *,
    answer: str | None = None,
) -> ReactorWhyView:
    """Explain a reactor from its row and, when its owner answered, from its state; `faults` are those of streams.

    `answer` is what the owner said when it could not say the state.
    """
    health = _health(row)
    reasons = list(_stuck_reasons(row, state))
    if answer is not None:
        reasons.append(Reason(gate="no answer", text=answer, hint="pondage reactor history " + row.name))
        said = health.state
    elif state is None:
        reasons += _unreachable(row, health)
        said = health.state
    else:
        reasons += _reasons(row.declaration, state, faults or {})
        said = str(state["state"])
    if row.is_alone:
        text = f"it has a process of its own: {row.deaths} hosts died while its code was called"
        reasons.append(Reason(gate="alone", text=text, hint=f"pondage reactor history {row.name}"))
    return ReactorWhyView(
        reactor=row.name, environment=row.environment_name, state=said, reasons=tuple(reasons), where=row.where
    )


def stuck_of(row: ReactorRow) -> dict[str, str]:
    """Answer what does not go on (`item`) and why (`error`)."""
    return msgspec.json.decode(row.stuck or "{}", type=dict[str, str])


def _stuck_reasons(row: ReactorRow, state: Mapping[str, object] | None) -> Iterator[Reason]:
    journal = None if state is None else state.get("stuck")
    if isinstance(journal, dict):
        yield _stuck_reason(row, str(journal["item"]), str(journal["error"]), journal["since"])
    elif row.stuck is not None:
        said = stuck_of(row)
        yield _stuck_reason(row, said["item"], said["error"], row.stuck_at)


def _stuck_reason(row: ReactorRow, item: str, error: str, since: object) -> Reason:
    when = f" since {moment_text(since)}" if isinstance(since, int) else ""
    name, is_item = row.name, item.startswith((JOURNAL, PUBLICATION))
    hint = f"pondage reactor skip {name} {item} (or: pondage reactor reset {name} --to empty)" if is_item else None
    if item == "start":
        hint = f"pondage deploy (or: pondage reactor reset {name} --to empty)"
    return Reason(gate="stuck", text=f"{item} does not go on{when}: {error}", hint=hint)


def _unreachable(row: ReactorRow, health: _Health) -> Iterator[Reason]:
    if health.error is not None:
        yield Reason(gate="not started", text=f"it could not be started: {health.error}", hint="pondage deploy")
    elif row.owner is None or not row.address:
        yield Reason(gate="no host", text="no live host runs it", hint="pondage dev (or pondage live)")
    else:
        text = f"its live host {row.where}, epoch {row.epoch}, does not answer; when it is dead another one takes over"
        yield Reason(gate="no answer", text=text, hint="pondage status")


def _reasons(declared: ReactorDeclaration, state: Mapping[str, object], faults: Mapping[str, str]) -> Iterator[Reason]:
    name, sources = declared.name, msgspec.convert(state["sources"], dict[str, dict[str, object]])
    unhealthy = msgspec.convert(state["unhealthy"], list[str])
    condition = state["state"]
    bad = [each for each, source in sources.items() if source["health"] == "Failed"]
    if condition in ("Starting", "Warming"):
        waits = ", ".join(f"{each} is {_health_of(sources, each)}" for each in unhealthy) or "it has just begun"
        hint = f"pondage reactor revive {name}" if bad else None
        yield Reason(gate="warming", text=f"it is {str(condition).lower()} and does not fire yet: {waits}", hint=hint)
    elif condition == "Failed":
        what = f"its source {', '.join(bad)} crashed too often" if bad else "it crashed too often"
        yield Reason(gate="failed", text=f"it has failed: {what}", hint=f"pondage reactor revive {name}")
    elif condition == "Degraded":
        text = f"it fires without news from: {', '.join(unhealthy) or 'its journal'}"
        if bad:
            text += f"; {', '.join(bad)} crashed too often and is not started again"
        hint = f"pondage reactor {'revive' if bad else 'history'} {name}"
        yield Reason(gate="degraded", text=text, hint=hint)
    elif condition in ("Stopping", "Stopped"):
        yield Reason(gate="stopped", text=f"it is {str(condition).lower()}")
    for each, source in sources.items():
        if each in faults and source["health"] in ("Crashed", "Failed", "Disconnected"):
            yield Reason(gate="stream", text=f"Spark last said: {faults[each]}", hint=f"pondage logs {name}")
    if state["hold"] is not None:
        yield Reason(
            gate="held", text=f"it is {state['hold']}: nothing starts by itself", hint=f"pondage reactor resume {name}"
        )
    if not declared.graphs:
        yield Reason(gate="no graph", text="no graph is bound to it", hint="declare one with @reactor.graph")
    if isinstance(running := state["running"], dict):
        yield Reason(gate="running", text=f"fire {running['fire']} runs now, attempt {running['attempt']}")
    elif state["retry_at"] is not None:
        yield Reason(gate="retry", text="the last fire failed; it is tried again after a while")
    yield from _criteria(declared, sources)
    if state["dead"]:
        letters = msgspec.convert(state["dead"], list[object])
        kept = "1 dead letter is kept" if len(letters) == 1 else f"{len(letters)} dead letters are kept"
        yield Reason(gate="dead", text=kept, hint=f"pondage reactor dead {name}")


def _criteria(declared: ReactorDeclaration, sources: Mapping[str, Mapping[str, object]]) -> Iterator[Reason]:
    required = [each.name for each in declared.accumulators if not each.optional]
    fresh = [each for each, source in sources.items() if source["dirty"]]
    missing = [each for each in required if each not in fresh]
    if declared.criteria == "all" and missing:
        have = f"; {', '.join(fresh)} has" if fresh else ""
        yield Reason(
            gate="missing", text=f"it needs something new of every source: {', '.join(missing)} has none{have}"
        )
    elif declared.criteria == "any" and not fresh:
        yield Reason(gate="idle", text="nothing has arrived that no fire has taken")
    if declared.gate == "demand":
        yield Reason(gate="demand", text="it fires only when somebody wants its Pond")
    for each, source in sources.items():
        if source["buffered"]:
            yield Reason(gate="batch", text=f"{each} holds {source['buffered']} items of a batch that is not full")


def _health_of(sources: Mapping[str, Mapping[str, object]], name: str) -> str:
    return str(sources[name]["health"]) if name in sources else "unhealthy"


def _health(row: ReactorRow) -> _Health:
    return msgspec.json.decode(row.health, type=_Health) if row.health else _Health()


def _view(row: ReactorRow) -> ReactorView:
    health, declared = _health(row), row.declaration
    is_owned = row.owner is not None and bool(row.address)
    return of_row(
        ReactorView,
        row,
        version=declared.version,
        state=health.state if is_owned else "Stopped",
        waiting_for=tuple(health.sources),
        is_owned=is_owned,
        criteria=declared.criteria,
        strategy=declared.strategy,
        durable="no" if declared.durable is False else "process" if declared.durable is True else str(declared.durable),
        sources=tuple(each.name for each in declared.accumulators),
        graphs=declared.graphs,
        is_rebound=row.host != row.code,
        is_alone=row.is_alone,
        error=health.error,
        stuck=None if row.stuck is None else stuck_of(row)["item"],
    )

"""One thing in full: a Pond with its contract and its neighbours, or a snapshot. (A Run: `runs.py`.)"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pondage.define.pond.definition import Coherence, PondDefinition, ReadDefinition, RippleDefinition
from pondage.define.pond.window import window_text
from pondage.define.values.names import PondKey, split_key, table_key
from pondage.errors import NotFound
from pondage.kernel.demand.state import PondState, decode_state
from pondage.ledger.data import manifests
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.tables import actors, environments
from pondage.ledger.tables.actors import PondRow
from pondage.views import find
from pondage.views.plans.schema import ColumnView, columns
from pondage.views.pond_names import PondNames, pond_names
from pondage.views.ponds.partitions import PartitionsView, partitions_view
from pondage.views.ponds.rules import expectation_text
from pondage.views.runs.runs import CodeView, RunDetailView, code_of, detail
from pondage.views.runs.upkeep import UpkeepView, upkeep_view
from pondage.work.snapshot import ExpectationResult, SnapshotContent


class PondReference(msgspec.Struct, frozen=True, kw_only=True):
    """A neighbour of a Pond. `minimum` and `is_required` are null for a Sink."""

    key: str
    is_deployed: bool
    is_required: bool | None = None
    minimum: str | None = None


class PublishedView(msgspec.Struct, frozen=True, kw_only=True):
    """What readers of a Ripple see now. `path` holds the files; `stable` and `link` never change their names.

    `stable` and `link` are relative to the warehouse; `table` is the name in `pondage query`. A table that grows has
    `batches`, the newest with `batch_rows` rows, and no link: its files are in many places.
    """

    snapshot: str
    run: str
    freshness: int
    delay: int
    rows: int
    bytes: int
    batches: int | None = None
    batch_rows: int | None = None
    path: str
    stable: str
    link: str | None
    columns: tuple[ColumnView, ...]
    expectations: tuple[ExpectationResult, ...]
    upkeep: UpkeepView | None = None
    """What the Run did that wrote it last, of a table that is kept up to date."""


class RippleShow(msgspec.Struct, frozen=True, kw_only=True):
    """A Ripple as it is declared and as it was last published. `fused` are those whose plans are part of it.

    `formats` are the table formats it is shown in, each with its place in the warehouse.
    """

    name: str
    kind: str
    table: str
    description: str
    reads: tuple[str, ...]
    expectations: tuple[str, ...]
    is_outlet: bool
    fused: tuple[str, ...]
    digest: str
    source: str
    timeout_s: float | None
    published: PublishedView | None
    formats: tuple[str, ...] = ()
    partitions: PartitionsView | None = None


class OlderRun(msgspec.Struct, frozen=True, kw_only=True):
    """The Run that a Pond shows again, because somebody rolled it back: its data describes this older freshness."""

    id: str
    number: int
    freshness: int
    delay: int


class PondShow(msgspec.Struct, frozen=True, kw_only=True):
    """A deployed Pond in full."""

    environment: str
    at: int
    key: str
    name: str
    version: str
    project: str
    description: str
    owner: str
    tags: tuple[str, ...]
    place: str
    entry: str
    archive: str
    mode: str
    coherent: Coherence
    pool: str | None
    labels: tuple[str, ...]
    retries_immediately: int
    retries_on_change: int
    windows: tuple[str, ...]
    wave: str | None
    tides: dict[str, int]
    schedules: tuple[str, ...]
    sources: tuple[PondReference, ...]
    sinks: tuple[PondReference, ...]
    freshness: int | None
    delay: int | None
    current_run: str | None
    current_number: int | None
    ripples: tuple[RippleShow, ...]
    read_from: str | None = None
    """The environment whose current Run readers see, when it is not this one's."""
    is_spliced: bool = False
    """Did the current Run read Sources that do not agree?"""
    spliced_from: tuple[str, ...] = ()
    """The nearest Runs above the current one that did."""
    rolled_back_to: OlderRun | None = None
    """What readers see is older than the `freshness` that demand goes by: that of this Run."""


class InputView(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot that was read, and where it came from."""

    snapshot: str
    table: str
    run: str
    freshness: int
    delay: int


class SnapshotShow(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable table: which Run and which code made it, from which inputs, and its files.

    `digest` covers the Ripple's code and everything that it uses; `read` says of each input where it came from, and
    leaves out what retention has taken away.
    """

    environment: str
    at: int
    id: str
    pond: str
    ripple: str
    run: str
    freshness: int
    delay: int
    kind: str
    path: str
    files: tuple[str, ...]
    rows: int
    bytes: int
    columns: tuple[ColumnView, ...]
    expectations: tuple[ExpectationResult, ...]
    inputs: dict[str, str | None]
    read: dict[str, InputView]
    code: CodeView
    digest: str
    source: str
    created_at: int
    is_deleted: bool


Shown = PondShow | RunDetailView | SnapshotShow


def show(tx: Transaction, environment: str, subject: str) -> Shown:
    """Answer what the subject names: a Pond, a Run or a snapshot. Raises `NotFound` with the nearest Pond."""
    found = find.environment_id(tx, environment)
    run = find.run_id(tx, found, subject)
    if run is not None:
        return detail(tx, environment, run)
    snapshot = find.snapshot_id(tx, found, subject)
    if snapshot is not None:
        return _snapshot(tx, environment, snapshot)
    if "#" in subject:
        raise NotFound(f"there is no Run {subject!r}", hint=f"pondage runs {subject.split('#')[0]}", code="NO_RUN")
    return show_pond(tx, environment, find.pond(tx, found, subject))


def show_pond(tx: Transaction, environment: str, row: PondRow) -> PondShow:
    """Answer a deployed Pond in full."""
    definition = actors.definition(tx, row.definition)
    state = decode_state(row.state)
    found = find.environment_id(tx, environment)
    origin = environments.read_from(tx, found, row)
    current = tx.row(
        """SELECT id, public_id, number, is_spliced, spliced_from FROM runs
           WHERE pond = :pond AND state = 'completed' ORDER BY id DESC LIMIT 1""",
        tuple[int, str, int, bool, tuple[str, ...]],
        pond=origin.row.id,
    )
    older = None if current is None else tx.row(_OLDER, OlderRun, run=current[0])
    return of_row(
        PondShow,
        definition,
        environment=environment,
        at=tx.now,
        key=row.key,
        project=row.project,
        mode=definition.mode_text,
        retries_immediately=definition.retries.immediately,
        retries_on_change=definition.retries.on_change,
        windows=tuple(window_text(window) for window in definition.windows),
        wave=None if state.wave is None else str(state.wave),
        tides=dict(state.tides),
        schedules=tuple(f"{each.name}: {each.cron} ({each.tz})" for each in definition.triggers.schedules),
        sources=_sources(tx, found, definition, state),
        sinks=tuple(PondReference(key=key, is_deployed=True) for key in actors.sinks(tx, found, row.key)),
        freshness=state.end_f if state.end_f >= 0 else None,
        delay=state.end_delay if state.end_f >= 0 else None,
        current_run=None if current is None else current[1],
        current_number=None if current is None else current[2],
        is_spliced=current is not None and current[3],
        spliced_from=() if current is None else current[4],
        ripples=_ripples(
            tx,
            origin.environment,
            row,
            definition,
            None if current is None else current[0],
            older,
            pond_names(tx, found, [row.key, *state.sources]),
        ),
        rolled_back_to=older,
        read_from=None if origin.environment == environment else origin.environment,
    )


def _sources(
    tx: Transaction, environment: int, definition: PondDefinition, state: PondState
) -> tuple[PondReference, ...]:
    declared = {source.pond: source for source in definition.sources}
    found = []
    for key in state.sources:
        source = declared.get(split_key(key)[0])
        neighbour = actors.pond(tx, environment, key)
        found.append(
            PondReference(
                key=key,
                is_deployed=neighbour is not None,
                is_required=source.required if source else True,
                minimum=".".join(str(part) for part in source.minimum) if source and source.minimum else None,
            )
        )
    return tuple(found)


def outlets(definition: PondDefinition) -> tuple[str, ...]:
    """Answer the Ripples that no other Ripple of the Pond reads: its results."""
    inner = {parent for each in definition.ripples for parent in each.parents}
    return tuple(each.name for each in definition.ripples if each.name not in inner)


def table_name(definition: PondDefinition, ripple: str, called: str) -> str:
    """Answer how a query calls a published Ripple: by the Pond alone when it has that name or is the only result.

    The Pond is `called` with its major version where there are several, and quoted then, as Spark wants it.
    """
    name = f"`{called}`" if "@" in called else called
    names = {each.name for each in definition.ripples}
    is_alone = definition.name not in names and outlets(definition) == (ripple,)
    return name if ripple == definition.name or is_alone else f"{name}.{ripple}"


_OLDER = """SELECT o.public_id AS id, o.number AS number, o.freshness AS freshness, o.delay AS delay
            FROM runs r JOIN runs o ON o.id = r.rollback_of WHERE r.id = :run"""

_PUBLISHED = """SELECT o.node AS node, o.freshness AS freshness, s.public_id AS snapshot, s.content AS content,
                       r.public_id AS run, r.delay AS delay, s.id AS id
                FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot JOIN runs r ON r.id = o.run
                WHERE o.run = :run ORDER BY o.id"""


class _PublishedRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    node: str
    snapshot: str
    run: str
    freshness: int
    delay: int
    content: SnapshotContent


def _ripples(
    tx: Transaction,
    environment: str,
    row: PondRow,
    definition: PondDefinition,
    current: int | None,
    older: OlderRun | None,
    names: PondNames,
) -> tuple[RippleShow, ...]:
    published: dict[str, _PublishedRow] = {}
    if current is not None:
        published = {each.node: each for each in tx.rows(_PUBLISHED, _PublishedRow, run=current)}
    results = outlets(definition)
    name, major = split_key(row.key)
    called = names(row.key)
    majors = {source.pond: names(f"{source.pond}@{source.major}") for source in definition.sources}
    return tuple(
        of_row(
            RippleShow,
            ripple,
            table=table_name(definition, ripple.name, called),
            reads=tuple(dict.fromkeys(_read_text(read, majors) for read in ripple.reads)),
            expectations=tuple(expectation_text(each) for each in ripple.expectations),
            is_outlet=ripple.name in results,
            fused=tuple(each.name for each in ripple.members),
            published=_published(
                tx, published.get(ripple.name), older, f"tables/{environment}/{name}/v{major}/{ripple.name}"
            ),
            partitions=_partitions(tx, definition, ripple, published.get(ripple.name)),
            formats=tuple(
                f"{each.kind} tables/{environment}/{name}/v{major}/{ripple.name}/{each.kind}"
                for each in definition.publish
                if not each.ripples or ripple.name in each.ripples
            ),
        )
        for ripple in definition.ripples
    )


def _partitions(
    tx: Transaction, definition: PondDefinition, ripple: RippleDefinition, row: _PublishedRow | None
) -> PartitionsView | None:
    if row is None or definition.partition is None:
        return None
    return partitions_view(tx, definition, ripple, manifests.newest(tx, [row.id]).get(row.id))


def _published(tx: Transaction, row: _PublishedRow | None, older: OlderRun | None, folder: str) -> PublishedView | None:
    if row is None:
        return None
    content, manifest = row.content, manifests.newest(tx, [row.id]).get(row.id)
    return of_row(
        PublishedView,
        row,
        freshness=row.freshness if older is None else older.freshness,
        delay=row.delay if older is None else older.delay,
        rows=content.rows if manifest is None else manifest.rows,
        bytes=content.bytes if manifest is None else manifest.bytes,
        batches=None if manifest is None or content.by else len(manifest.members),
        batch_rows=None if manifest is None or content.by else content.rows,
        path=content.path,
        stable=f"{folder}/CURRENT.json",
        link=f"{folder}/current" if manifest is None else None,
        columns=columns(content.schema),
        expectations=content.expectations,
        upkeep=upkeep_view(content),
    )


def _read_text(read: ReadDefinition, called: Mapping[str, str]) -> str:
    what = read.ripple if read.pond is None else f"{called.get(read.pond, read.pond)}.{read.ripple}"
    return f"{what} (optional)" if read.optional else what


_SNAPSHOT = """SELECT s.public_id AS id, s.freshness AS freshness, s.kind AS kind, s.content AS content,
                      s.inputs AS inputs, s.created_at AS created_at, s.tombstoned_at IS NOT NULL AS is_deleted,
                      r.public_id AS run, r.delay AS delay, t.ripple AS ripple, p.name || '@' || p.major AS pond,
                      d.body AS definition
               FROM snapshots s JOIN runs r ON r.id = s.run JOIN datasets t ON t.id = s.dataset
               JOIN ponds p ON p.id = t.pond JOIN definitions d ON d.id = r.definition WHERE s.id = :id"""


class _SnapshotRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    pond: PondKey
    ripple: str
    run: str
    freshness: int
    delay: int
    kind: str
    content: SnapshotContent
    inputs: dict[str, int | None]
    definition: PondDefinition
    created_at: int
    is_deleted: bool


def _snapshot(tx: Transaction, environment: str, identity: int) -> SnapshotShow:
    row = tx.one(_SNAPSHOT, _SnapshotRow, id=identity)
    content = row.content
    inputs: dict[str, str | None] = {}
    read: dict[str, InputView] = {}
    for parameter, snapshot in row.inputs.items():
        found = None if snapshot is None else tx.row(_SNAPSHOT, _SnapshotRow, id=snapshot)
        inputs[parameter] = None if found is None else found.id
        if found is not None:
            read[parameter] = of_row(InputView, found, snapshot=found.id, table=table_key(found.pond, found.ripple))
    ripple = next((each for each in row.definition.ripples if each.name == row.ripple), None)
    return of_row(
        SnapshotShow,
        row,
        environment=environment,
        at=tx.now,
        path=content.path,
        files=tuple(file.name for file in content.files),
        rows=content.rows,
        bytes=content.bytes,
        columns=columns(content.schema),
        expectations=content.expectations,
        inputs=inputs,
        read=read,
        code=code_of(tx, environment, row.definition),
        digest="" if ripple is None else ripple.digest,
        source="" if ripple is None else ripple.source,
    )

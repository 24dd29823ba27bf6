"""Files that land: what a table has taken, what waits, and taking a file again."""

from __future__ import annotations

import time
from collections.abc import Container
from typing import Annotated

import msgspec

from pondage.connect.landing.asked import PREFIX
from pondage.connect.landing.decision import Decision
from pondage.define.values.names import PondKey
from pondage.errors import NotFound, PondageError
from pondage.ledger.data import landed
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.operations.demand import PondRequest
from pondage.operations.operation import Context, Count, Level, Request, operation
from pondage.views import find


class FilesRequest(Request, frozen=True, kw_only=True):
    """Whose files: only those with this in their path, at most so many, the newest first."""

    pond: str
    path: str = ""
    most: Count = 100


class ForgetRequest(PondRequest, frozen=True, kw_only=True):
    """The paths, as the list of files shows them."""

    paths: Annotated[list[Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]], msgspec.Meta(min_length=1)]


class FileView(msgspec.Struct, frozen=True, kw_only=True):
    """One file: `state` is taken, aside, ignored, gone, forgotten or waiting; `why` says why it was set aside."""

    path: str
    state: str
    size: int
    modified: int
    at: int
    run: str = ""
    why: str = ""


class FolderView(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that a Ripple reads. `counts` has how many files are in each state; `files` are some of them."""

    ripple: str
    folder: str
    counts: dict[str, int]
    bytes: int
    files: tuple[FileView, ...]


class FilesView(msgspec.Struct, frozen=True, kw_only=True):
    """The folders of a Pond, and what its newest tables have taken of them."""

    pond: str
    at: int
    folders: tuple[FolderView, ...]


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """The files that the next Run takes again."""

    pond: str
    paths: tuple[str, ...]


class _Source(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of a Ripple: up to where its newest table has taken it, and where its lists are."""

    ripple: str
    dataset: int
    place: str
    decision: Decision


@operation("GET /v1/ponds/{pond}/files", Level.READ, FilesRequest)
def files_list(context: Context, asked: FilesRequest) -> FilesView:
    """What a Pond has taken of the folders that it reads, when and by which Run; what was set aside, what waits."""
    with context.ledger.reading() as tx:
        key, sources = _sources(tx, context, asked.pond)
    return FilesView(
        pond=key, at=time.time_ns() // 1_000, folders=tuple(_folder(each, asked) for each in sources)
    )  # fmt: skip


@operation("POST /v1/ponds/{pond}/files/forget", Level.OPERATE, ForgetRequest)
def files_forget(context: Context, asked: ForgetRequest) -> Forgotten:
    """Let the next Run take files again; what was taken of them before stays in the table."""
    from pondage.connect.landing.taken_lists import entries

    wanted = set(asked.paths)
    with context.ledger.reading() as tx:
        key, sources = _sources(tx, context, asked.pond)
    known: dict[int, set[str]] = {}
    for each in sources:
        known.setdefault(each.dataset, set()).update(wanted & entries(each.place, each.decision.lists).keys())
    missing = wanted.difference(*known.values())
    if missing:
        raise NotFound(
            f"{key} has taken no file {sorted(missing)[0]}", hint=f"pondage files {asked.pond}", code="NO_SUCH_FILE"
        )
    with context.ledger.transaction() as tx:
        for dataset, paths in known.items():
            landed.forget(tx, dataset, sorted(paths))
        context.audit(tx, "files forget", key, detail=", ".join(sorted(wanted))[:500])
    return Forgotten(pond=key, paths=tuple(sorted(wanted)))


def _sources(tx: Transaction, context: Context, name: str) -> tuple[PondKey, list[_Source]]:
    row = find.pond(tx, find.environment_id(tx, context.environment), name)
    found: list[_Source] = []
    for each in landed.newest(tx, row.id):
        # The lists of a table lie beside its snapshots: data/<dataset>/taken.
        place = f"{each.content.path.rsplit('/', 2)[0]}/taken"
        found += [
            _Source(
                ripple=each.ripple, dataset=each.dataset, place=place,
                decision=msgspec.json.decode(said, type=Decision),
            )
            for key, said in each.content.positions.items() if key.startswith(PREFIX)
        ]  # fmt: skip
    if not found:
        raise NotFound(
            f"{row.key} has taken no files: none of its Ripples has read a folder by sources.files yet",
            hint=f"pondage show {name}",
            code="NO_FILES",
        )
    return PondKey(row.key), found


def _folder(source: _Source, asked: FilesRequest) -> FolderView:
    from pondage.connect.landing.taken_lists import entries

    known = entries(source.place, source.decision.lists)
    files = [of_row(FileView, each) for each in known.values()]
    files += _waiting(source, known.keys())
    chosen = sorted((each for each in files if asked.path in each.path), key=lambda each: -each.modified)
    counts: dict[str, int] = {}
    for each in files:
        counts[each.state] = counts.get(each.state, 0) + 1
    return FolderView(
        ripple=source.ripple,
        folder=source.decision.folder.path,
        counts=counts,
        bytes=sum(max(each.size, 0) for each in files if each.state == "taken"),
        files=tuple(chosen[: asked.most]),
    )


def _waiting(source: _Source, known: Container[str]) -> list[FileView]:
    """Answer what is there and was not taken; nothing where the folder cannot be seen from here."""
    from pondage.connect.landing.listing import look

    try:
        seen = look(
            source.decision.folder, now_us=time.time_ns() // 1_000, wanted=lambda each: each.path not in known
        )  # fmt: skip
    except PondageError:
        return []
    waiting = [
        FileView(path=each.path, state="waiting", size=each.size, modified=each.modified, at=0) for each in seen.files
    ]
    settling = [
        FileView(path=each, state="waiting", size=-1, modified=0, at=0, why="it is not complete yet")
        for each in seen.settling
    ]
    return [*waiting, *settling]

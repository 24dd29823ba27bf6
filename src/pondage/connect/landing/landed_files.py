"""`sources.files`: what has landed in a folder since. Each file is taken by exactly one batch of the table.

What was taken is part of the snapshot that took it, by lists that it names (`taken_lists`): so a crash neither skips
nor repeats a file, and a table that is rolled back takes again what came after.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, get_args

import msgspec

from pondage.connect.files import declared
from pondage.connect.landing.asked import PREFIX, Asked, Bad, Drift, Format, Replaced
from pondage.connect.landing.decision import Decision, Folder, Group
from pondage.connect.landing.drift import Unfit, reconciled
from pondage.connect.landing.file_schemas import TYPED, schemas_of
from pondage.connect.landing.listing import LandedFile, folder_values, found_files, look
from pondage.connect.landing.reading import Reading, file_name, rows_of
from pondage.connect.landing.taken_lists import Entry, Taken, entries, read, write
from pondage.define.pond.partition import Chunk
from pondage.define.pond.run import FILE_COLUMN, Run
from pondage.define.values.duration import parsed_duration
from pondage.define.values.size import data_bytes
from pondage.errors import DefinitionError, PondageError
from pondage.spark.files.layout import selected
from pondage.spark.files.storage import spark_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

NAMED = 10
_ENDINGS: dict[str, Format] = {
    "parquet": "parquet", "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "orc": "orc",
    "txt": "text", "log": "text", "avro": "avro",
}  # fmt: skip
_PACKED = (".gz", ".bz2", ".zst", ".snappy")


class FilesRefused(PondageError):
    """Files that landed cannot be taken as they are."""

    code = "FILES"


def rows_that_landed(spark: SparkSession, run: Run, asked: Asked) -> DataFrame:
    """Answer the rows of the files that the table has not taken; ends the Ripple as unchanged when there are none."""
    checked(asked)
    folder = Folder(
        path=asked.path, glob=asked.glob, marker=asked.marker,
        settle_us=0 if asked.settle is None else parsed_duration(asked.settle, what="settle"),
        ignores_replaced=asked.replaced == "ignore",
    )  # fmt: skip
    key = f"{PREFIX}{asked.name or asked.path}"
    place, given = _place(run), run.position(key)
    before = None if given is None else msgspec.convert(given, Decision)
    if run.chunk is not None:
        return _taken_again(spark, run, asked, before, place, run.chunk)
    is_decided_now = False

    def decide() -> object:
        nonlocal is_decided_now
        is_decided_now = True
        return msgspec.to_builtins(_decided(spark, run, folder, asked, before, place))

    decision = msgspec.convert(run.read_to(key, decide), Decision)
    run.leave(key, decision.more)
    if asked.replaced == "replace":
        run.exchange(key, decision.again)
    for each in decision.lists:
        run.keep_list(each.name)
    if decision.batch is None and before is not None:
        run.unchanged()
    entries = [] if decision.batch is None else read(place, decision.batch)
    taken = [each for each in entries if each.state in ("taken", "aside")]
    if not is_decided_now:
        _require_unchanged(folder.path, taken)
    reading = Reading(
        session=spark, form=_form(asked, [each.path for each in taken]), folder=asked.path, options=asked.options,
        header=asked.header, schema=decision.schema, groups=decision.groups, keep=asked.keep, bad=asked.bad,
        has_folders=asked.folders,
    )  # fmt: skip
    return rows_of(reading, run, taken)


def _taken_again(
    spark: SparkSession, run: Run, asked: Asked, before: Decision | None, place: str, chunk: Chunk
) -> DataFrame:
    """Answer the rows of all files that the table was made of, less what is seen to be of other partitions."""
    if before is None:
        raise FilesRefused(f"the table has taken no file of {asked.path} yet", code="NO_FILE", hint="run the Pond once")
    known = [each for each in entries(place, before.lists).values() if _may_hold(each.path, asked, chunk)]
    plain = msgspec.structs.replace(before.folder, settle_us=0, marker=None)
    there = {each.path: each for each in look(plain, now_us=0).files}
    gone = sorted(each.path for each in known if each.path not in there)
    if gone:
        raise FilesRefused(
            f"{len(gone)} files that the table was made of are not in {asked.path} any more: {_named(gone)}",
            code="FILE_GONE",
            hint="put them back, or branch on run.chunk and read these partitions from elsewhere",
        )
    files = [there[each.path] for each in known]
    form, paths = _form(asked, [each.path for each in files]), [each.path for each in files]
    found = schemas_of(spark, form, asked.path, paths, options=asked.options, header=asked.header)
    table, groups, taken = _grouped(files, found, _table(before, asked.schema), asked, form)
    reading = Reading(
        session=spark, form=form, folder=asked.path, options=asked.options, header=asked.header, schema=table.json(),
        groups=tuple(groups), keep=asked.keep, bad=asked.bad, has_folders=asked.folders,
    )  # fmt: skip
    rows, shared = rows_of(reading, run, taken), chunk.among(table.json())
    return rows if shared is None else rows.where(selected(table.json(), *shared))


def _may_hold(path: str, asked: Asked, chunk: Chunk) -> bool:
    """Answer whether a file may have rows of a chunk: the folders that it is in may say that it has none."""
    named = folder_values(path) if asked.folders else {}
    schema = '{"fields":[' + ",".join(f'{{"name":{json.dumps(each)},"type":"string"}}' for each in named) + "]}"
    shared = chunk.among(schema)
    return shared is None or tuple(named[each.column] for each in shared[0]) in shared[1]


def is_quiet(position: str, place: str, forgotten: Callable[[int], tuple[int, tuple[str, ...]]]) -> bool:
    """Answer, without Spark, whether a Run that goes on from this position would find nothing to do."""
    decision = msgspec.json.decode(position, type=Decision)
    if decision.more:
        return False
    taken = Taken(place, decision.lists)
    # A wish to take a file again that is gone is one for later.
    taken.forget(forgotten(decision.forgotten)[1])
    seen = look(
        decision.folder, now_us=time.time_ns() // 1_000,
        wanted=lambda each: taken.is_new(each) or taken.is_replaced(each),
    )  # fmt: skip
    if seen.settling:
        return False
    return all(decision.folder.ignores_replaced and not taken.is_new(each) for each in seen.files)


def _decided(
    spark: SparkSession,
    run: Run,
    folder: Folder,
    asked: Asked,
    before: Decision | None,
    place: str,
) -> Decision:
    lists = () if before is None else before.lists
    taken = Taken(place, lists)
    last, again = (0, ()) if run.outside is None else run.outside.forgotten(0 if before is None else before.forgotten)
    taken.forget(again)
    seen = look(
        folder, now_us=time.time_ns() // 1_000, see=taken.see,
        wanted=lambda each: taken.is_new(each) or taken.is_replaced(each),
    )  # fmt: skip
    new = [each for each in seen.files if taken.is_new(each)]
    other = [each for each in seen.files if taken.is_replaced(each)]
    before_now = {each.path for each in other}.union(again)
    if other and asked.replaced == "fail":
        raise _replaced(other, folder)
    if asked.replaced in ("append", "replace"):
        new = sorted([*new, *other])
    chosen = _bounded(new, asked)
    table = _table(before, asked.schema or ("value string" if asked.form == "text" else None))
    if not chosen:
        known = _required(table, asked.path)
        return Decision(folder=folder, schema=known.json(), lists=lists, waiting=len(seen.settling), forgotten=last)
    form = _form(asked, [each.path for each in chosen])
    try:
        found = schemas_of(
            spark, form, folder.path, [each.path for each in chosen], options=asked.options, header=asked.header
        )
    except FileNotFoundError as error:
        raise FilesRefused(
            f"a file of {folder.path} went after it was listed: {error}",
            code="FILE_GONE",
            hint="let the next Run look at the folder anew: pondage clear POND",
        ) from error
    table, groups, entries = _grouped(chosen, found, table, asked, form)
    gone = taken.gone()
    if gone:
        run.logger.warning("%d files of %s are gone: %s", len(gone), folder.path, _named([each.path for each in gone]))
    ignored = other if asked.replaced == "ignore" else []
    run.logger.info("takes %d files of %s, %d are left", len(chosen), folder.path, len(new) - len(chosen))
    batch, lists = write(
        place,
        [
            *entries,
            *(Entry(path=each.path, size=each.size, modified=each.modified, state="ignored") for each in ignored),
            *gone,
            # A wish that cannot be granted now is kept: whenever the file is there, it is a new one.
            *(
                Entry(path=each, size=0, modified=0, state="forgotten")
                for each in sorted(set(again).difference((each.path for each in seen.files), seen.settling))
            ),
        ],
        lists,
        at=time.time_ns() // 1_000,
        run="" if run.outside is None else run.outside.run_id,
    )
    return Decision(
        folder=folder, schema=table.json(), groups=tuple(groups), lists=lists, batch=batch.name, files=len(chosen),
        bytes=sum(each.size for each in chosen), more=len(new) - len(chosen), waiting=len(seen.settling),
        forgotten=last, again=tuple(
            file_name(f"{folder.path}/{each.path}")
            for each in chosen if asked.replaced == "replace" and each.path in before_now
        ),
    )  # fmt: skip


def _require_unchanged(folder: str, taken: Sequence[Entry]) -> None:
    """Raise when files are not as they were when an earlier try of this Run decided to take them."""
    now = {each.path: each for each in found_files(folder, [each.path for each in taken])}
    changed = [
        each.path
        for each in taken
        if (found := now.get(each.path)) is None or (found.size, found.modified) != (each.size, each.modified)
    ]
    if changed:
        raise FilesRefused(
            f"{len(changed)} files of {folder} that this Run had begun to take are gone or others now: "
            f"{_named(changed)}",
            code="FILE_GONE",
            hint="put them back; or let the next Run look at the folder anew: pondage clear POND",
        )


def _grouped(
    chosen: Sequence[LandedFile], found: Sequence[object], table: StructType | None, asked: Asked, form: Format
) -> tuple[StructType, list[Group], list[Entry]]:
    """Answer the table with what the files add to it, the different schemas of files, and an entry for each file."""
    from pyspark.sql.types import StringType, StructField, StructType

    numbers: dict[tuple[str, str], int] = {}
    entries: list[Entry] = []
    for file, said in zip(chosen, found, strict=True):
        own = said if isinstance(said, StructType) else StructType()
        names = list(folder_values(file.path)) if asked.folders else []
        if table is None and not isinstance(said, Unfit) and said is not None:
            table = StructType([StructField(each.name, each.dataType) for each in own.fields])
        why = said.why if isinstance(said, Unfit) else ""
        if not why and said is not None and table is not None and own.fields:
            fitted = reconciled(table, own, asked.drift, folders=names, is_typed=form in TYPED)
            why = fitted.why if isinstance(fitted, Unfit) else ""
            table = table if isinstance(fitted, Unfit) else fitted
        if why and asked.bad == "fail":
            raise FilesRefused(
                f"{asked.path}/{file.path}: {why}",
                code="DRIFT" if own.fields else "BAD_FILE",
                hint='say drift="add", "cast" or "ignore", or bad="quarantine" to set such files aside',
            )
        known = {each.name.casefold() for each in (table.fields if table is not None else ())}
        if table is not None:
            table = StructType([
                *table.fields,
                *(StructField(each, StringType()) for each in names if each.casefold() not in known),
            ])  # fmt: skip
        group = numbers.setdefault((own.json(), ",".join(names)), len(numbers))
        entries.append(
            Entry(
                path=file.path, size=file.size, modified=file.modified, state="aside" if why else "taken", group=group,
                why=why,
            )
        )  # fmt: skip
    groups = [Group(own=own, folders=tuple(filter(None, names.split(",")))) for own, names in numbers]
    return _required(table, asked.path), groups, entries


def _table(before: Decision | None, schema: str | StructType | None) -> StructType | None:
    """Answer the columns that the table has: those that were declared, and those that files have added since."""
    from pyspark.sql.types import StructType

    own = None if schema is None else declared(schema)
    if before is None:
        return own
    known = StructType.fromJson(json.loads(before.schema))
    if own is None:
        return known
    names = {each.name.casefold() for each in own.fields}
    return StructType([*own.fields, *(each for each in known.fields if each.name.casefold() not in names)])


def _required(table: StructType | None, path: str) -> StructType:
    if table is None:
        raise FilesRefused(
            f"there is no file in {path} that says which columns there are",
            code="NO_SCHEMA",
            hint='declare them: sources.files(…, schema="id bigint, at timestamp")',
        )
    return table


def _bounded(new: Sequence[LandedFile], asked: Asked) -> Sequence[LandedFile]:
    """Answer the oldest files up to the bound, at least one."""
    if isinstance(asked.most, int):
        return new[: asked.most]
    bound = None if asked.most is None else data_bytes(asked.most, what="most")
    total = 0
    for position, each in enumerate(new):
        total += each.size
        if position and bound is not None and total > bound:
            return new[:position]
    return new


def _replaced(other: Sequence[LandedFile], folder: Folder) -> FilesRefused:
    return FilesRefused(
        f"{len(other)} files of {folder.path} were taken and are others now: {_named([each.path for each in other])}",
        code="FILE_REPLACED",
        hint='say what to do: replaced="append" takes them again beside their old rows, "ignore" leaves them, and '
        '"replace" exchanges their rows in a table with mode="partition"',
    )


def _named(names: Sequence[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def checked(asked: Asked) -> None:
    """Raise `DefinitionError` for a word that is not one of those that can be said."""
    said = {"drift": Drift, "bad": Bad, "replaced": Replaced} | ({} if asked.form is None else {"form": Format})
    for what, known in said.items():
        value = getattr(asked, what)
        if value not in get_args(known):
            shown = "format" if what == "form" else what
            raise DefinitionError(
                f"sources.files: {shown}={value!r}", hint=f"say one of {', '.join(get_args(known))}", code="BAD_OPTION"
            )
    if isinstance(asked.most, int) and (isinstance(asked.most, bool) or asked.most < 1):
        raise DefinitionError(
            f"sources.files: most={asked.most!r}", hint='give a number of files from 1, or "10 GB"', code="BAD_SIZE"
        )
    if asked.replaced == "replace" and FILE_COLUMN not in asked.keep:
        raise DefinitionError(
            f'sources.files: replaced="replace" without {FILE_COLUMN}',
            hint=f'keep the column that says which rows are to be exchanged: keep=["{FILE_COLUMN}"]',
            code="BAD_OPTION",
        )
    unknown = sorted(set(asked.keep) - {"_file", "_landed_at"})
    if unknown:
        raise DefinitionError(
            f"sources.files: keep has {unknown[0]!r}", hint='it may have "_file" and "_landed_at"', code="BAD_OPTION"
        )


def _form(asked: Asked, paths: Sequence[str]) -> Format:
    """Answer the format that was given, or that of the first file's ending."""
    if asked.form is not None or not paths:
        return asked.form or "parquet"
    plain = paths[0].lower()
    for ending in _PACKED:
        plain = plain.removesuffix(ending)
    found = _ENDINGS.get(plain.rpartition(".")[2])
    if found is None:
        raise DefinitionError(
            f"sources.files: the ending of {paths[0]} tells no format",
            hint=f'say it: format="csv" (or {", ".join(get_args(Format))})',
            code="BAD_OPTION",
        )
    return found


def _place(run: Run) -> str:
    """Answer where lists are kept; in a test, which has no past, a directory that goes with its `run`."""
    if run.outside is not None:
        return spark_path(run.outside.place)
    place = tempfile.mkdtemp(prefix="pondage-landed-")
    weakref.finalize(run, shutil.rmtree, place, ignore_errors=True)
    return place

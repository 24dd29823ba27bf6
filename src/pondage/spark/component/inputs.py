"""What a component's function is called with: tables, elements of iterators, outputs of earlier members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.types.port import Port, declared_port
from pondage.errors import PondageError
from pondage.spark.types.values import accepted, is_plain, panic_frame, plain_value
from pondage.work.component import Given, Input, Made, Member, Panicked, Stored, Streamed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

Frames = dict[tuple[str, str], object]
"""What members gave so far: DataFrames, and plain values of the types Value and Bytes."""


def arguments(
    member: Member, definition: ComponentDefinition, made: Frames, session: Callable[[], SparkSession]
) -> dict[str, object]:
    """Answer an argument for each port: a DataFrame, a list of them (multi), a plain value, or None.

    The concrete ports of a wild card come under their own names. A port of the type `Value<…>` takes the element of an
    iterator as it is; one of the type `Any` too, and otherwise nothing: it only waits for its data.
    """
    given: dict[str, object] = {}
    for name, port in definition.inputs.items():
        if not name.endswith("*"):
            given[name] = _argument(name, port, member.inputs.get(name, ()), made, session, definition.vars)
    for name, found in member.inputs.items():
        if name not in given:
            port = declared_port(definition.inputs, name) or Port()
            given[name] = _argument(name, port, found, made, session, definition.vars)
    return given


def _argument(
    name: str,
    port: Port,
    found: tuple[Input, ...],
    made: Frames,
    session: Callable[[], SparkSession],
    variables: Mapping[str, str],
) -> object:
    values = [converted(name, port, one, made, session, variables) for one in found]
    if port.multi:
        return values
    return values[0] if values else None


def converted(
    name: str,
    port: Port,
    one: Input,
    made: Frames,
    session: Callable[[], SparkSession],
    variables: Mapping[str, str],
) -> object:
    """Answer one input as its port says: of its type, and of the columns that it accepts."""
    value = _typed(name, port, one, made, session)
    return accepted(value, port, variables) if hasattr(value, "columns") else value  # type: ignore[arg-type]


def _typed(name: str, port: Port, one: Input, made: Frames, session: Callable[[], SparkSession]) -> object:
    wants_value = port.type.startswith("Value") or port.type == "Any"
    if port.type == "Any" and not isinstance(one, Given):
        return None
    match one:
        case Given(value=value):
            return value if wants_value else frame_of(session(), value)
        case Stored(content=content):
            from pondage.spark.files.read import read_snapshot

            frame = read_snapshot(session(), content)
            return plain_value(name, port.type, frame) if is_plain(port.type) else frame
        case Streamed(segments=segments, rows=rows):
            assert segments is not None, f"{name} is read segment by segment"
            from pondage.spark.files.whole_streams import whole_stream

            return whole_stream(session(), segments, port.type, rows=rows)
        case Made(instance=instance, port=source):
            return made[instance, source]
        case Panicked(panic=panic):
            return panic_frame(session(), panic)


def frame_of(session: SparkSession, value: object) -> DataFrame:
    """Answer the element of an iterator as a table: a row, the rows of a group, or a single value.

    An element has gone through JSON, so its columns are texts, numbers, booleans and what is made of them.
    """
    from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

    rows = value if isinstance(value, list) else [value]
    plain = [row if isinstance(row, Mapping) else {"value": row} for row in rows]
    names = list(dict.fromkeys(name for row in plain for name in row))
    if not names:
        raise PondageError("an element without columns is no table", code="BAD_INPUT")
    kinds = {name: _kind([row.get(name) for row in plain]) for name in names}
    schema = T.StructType([T.StructField(name, kind) for name, kind in kinds.items()])
    data = [tuple(_fitted(row.get(name), kinds[name]) for name in names) for row in plain]
    return session.createDataFrame(data, schema).coalesce(1)


def _kind(values: list[object]) -> T.DataType:
    from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return T.BooleanType()
    if known and all(isinstance(value, int) for value in known):
        return T.LongType()
    if known and all(isinstance(value, int | float) for value in known):
        return T.DoubleType()
    if known and all(isinstance(value, list) for value in known):
        return T.ArrayType(_kind([one for value in known if isinstance(value, list) for one in value]))
    if known and all(isinstance(value, dict) for value in known):
        rows = [value for value in known if isinstance(value, dict)]
        names = dict.fromkeys(name for row in rows for name in row)
        return T.StructType([T.StructField(name, _kind([row.get(name) for row in rows])) for name in names])
    return T.StringType()


def _fitted(value: object, kind: T.DataType) -> object:
    from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

    if value is None:
        return None
    if isinstance(kind, T.DoubleType):
        return float(value)  # type: ignore[arg-type]
    if isinstance(kind, T.ArrayType) and isinstance(value, list):
        return [_fitted(one, kind.elementType) for one in value]
    if isinstance(kind, T.StructType) and isinstance(value, dict):
        return tuple(_fitted(value.get(field.name), field.dataType) for field in kind.fields)
    if isinstance(kind, T.StringType) and not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    return value

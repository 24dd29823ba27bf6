"""What clients ask about the catalogue: tables of Arrow, as the protocol describes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec
import pyarrow as pa

from pondage import __version__
from pondage.connect.arrow_rows import arrow_schema
from pondage.embedded.fence import SCHEMA
from pondage.embedded.question import TableFiles
from pondage.embedded.views import columns_of
from pondage.server.sql import wire
from pondage.server.sql.wire import Fields

KIND = "TABLE"
_REQUIRED = {"nullable": False}
CATALOGS = pa.schema([pa.field("catalog_name", pa.string(), **_REQUIRED)])
SCHEMAS = pa.schema([pa.field("catalog_name", pa.string()), pa.field("db_schema_name", pa.string(), **_REQUIRED)])
KINDS = pa.schema([pa.field("table_type", pa.string(), **_REQUIRED)])
TABLES = pa.schema(
    [
        pa.field("catalog_name", pa.string()),
        pa.field("db_schema_name", pa.string()),
        pa.field("table_name", pa.string(), **_REQUIRED),
        pa.field("table_type", pa.string(), **_REQUIRED),
    ]
)
WITH_COLUMNS = TABLES.append(pa.field("table_schema", pa.binary(), **_REQUIRED))
PRIMARY_KEYS = pa.schema(
    [
        pa.field("catalog_name", pa.string()),
        pa.field("db_schema_name", pa.string()),
        pa.field("table_name", pa.string(), **_REQUIRED),
        pa.field("column_name", pa.string(), **_REQUIRED),
        pa.field("key_name", pa.string()),
        pa.field("key_sequence", pa.int32(), **_REQUIRED),
    ]
)
FOREIGN_KEYS = pa.schema(
    [
        *(pa.field(f"{side}_{name}", pa.string()) for side in ("pk", "fk")
          for name in ("catalog_name", "db_schema_name", "table_name", "column_name")),
        pa.field("key_sequence", pa.int32(), **_REQUIRED),
        pa.field("fk_key_name", pa.string()),
        pa.field("pk_key_name", pa.string()),
        pa.field("update_rule", pa.uint8(), **_REQUIRED),
        pa.field("delete_rule", pa.uint8(), **_REQUIRED),
    ]
)  # fmt: skip
TYPES = pa.schema(
    [
        pa.field("type_name", pa.string(), **_REQUIRED), pa.field("data_type", pa.int32(), **_REQUIRED),
        pa.field("column_size", pa.int32()), pa.field("literal_prefix", pa.string()),
        pa.field("literal_suffix", pa.string()),
        pa.field("create_params", pa.list_(pa.field("item", pa.string(), **_REQUIRED))),
        pa.field("nullable", pa.int32(), **_REQUIRED), pa.field("case_sensitive", pa.bool_(), **_REQUIRED),
        pa.field("searchable", pa.int32(), **_REQUIRED), pa.field("unsigned_attribute", pa.bool_()),
        pa.field("fixed_prec_scale", pa.bool_(), **_REQUIRED), pa.field("auto_increment", pa.bool_()),
        pa.field("local_type_name", pa.string()), pa.field("minimum_scale", pa.int32()),
        pa.field("maximum_scale", pa.int32()), pa.field("sql_data_type", pa.int32(), **_REQUIRED),
        pa.field("datetime_subcode", pa.int32()), pa.field("num_prec_radix", pa.int32()),
        pa.field("interval_precision", pa.int32()),
    ]
)  # fmt: skip
_XDBC = (
    ("BIGINT", -5, 19, False), ("BLOB", -3, None, False), ("BOOLEAN", -7, 1, False), ("DATE", 91, 10, False),
    ("DECIMAL", 3, 38, False), ("DOUBLE", 8, 53, False), ("FLOAT", 7, 24, False), ("INTEGER", 4, 10, False),
    ("SMALLINT", 5, 5, False), ("TIMESTAMP", 93, 26, False), ("TIMESTAMPTZ", 93, 32, False),
    ("TINYINT", -6, 3, False), ("VARCHAR", 12, None, True),
)  # fmt: skip
_INFO_TYPE = pa.dense_union(
    [
        pa.field("string_value", pa.string()),
        pa.field("bool_value", pa.bool_()),
        pa.field("bigint_value", pa.int64()),
        pa.field("int32_bitmask", pa.int32()),
        pa.field("string_list", pa.list_(pa.string())),
        pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32()))),
    ]
)
INFO = pa.schema([pa.field("info_name", pa.uint32(), **_REQUIRED), pa.field("value", _INFO_TYPE)])
_TEXT, _FLAG, _LARGE, _BITS, _LIST = range(5)
_SAID: tuple[tuple[int, int, object], ...] = (
    (0, _TEXT, "Pondage"), (1, _TEXT, str(__version__)), (2, _TEXT, pa.__version__), (3, _FLAG, True), (4, _FLAG, True),
    (5, _FLAG, False), (8, _BITS, 0), (9, _FLAG, True), (10, _FLAG, False),
    (500, _FLAG, False), (501, _FLAG, False), (502, _FLAG, False), (503, _LARGE, 3), (504, _TEXT, '"'),
    (505, _LARGE, 3), (507, _BITS, 3), (508, _LIST, []), (509, _LIST, []), (510, _LIST, []), (511, _LIST, []),
    (512, _LIST, []), (518, _FLAG, True), (542, _LARGE, 63),
)  # fmt: skip
"""Facts by their numbers in the protocol: who serves, read only, no transactions, quotes around names."""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """An environment that the caller may see, and what gives its tables."""

    name: str
    tables: Callable[[], Sequence[TableFiles]]


def catalogs(rooms: Iterable[Room]) -> pa.Table:
    """Answer the environments."""
    return CATALOGS.empty_table() if not (names := _names(rooms)) else pa.table([names], schema=CATALOGS)


def _names(rooms: Iterable[Room]) -> list[str]:
    return sorted(each.name for each in rooms)


def schemas(rooms: Iterable[Room], asked: Fields) -> pa.Table:
    """Answer the one schema of each environment that is asked for."""
    names = _names(_chosen(rooms, asked))
    if not _matches(wire.text(asked, 2), SCHEMA):
        names = []
    return pa.table([names, [SCHEMA] * len(names)], schema=SCHEMAS)


def kinds() -> pa.Table:
    """Answer the one kind of tables that there is."""
    return pa.table([[KIND]], schema=KINDS)


def tables(rooms: Iterable[Room], asked: Fields) -> pa.Table:
    """Answer the tables that are asked for, with their columns when these are."""
    has_columns = wire.flag(asked, 5)
    wanted = wire.texts(asked, 4)
    found: list[tuple[str, TableFiles]] = []
    if _matches(wire.text(asked, 2), SCHEMA) and (not wanted or KIND in wanted):
        for room in sorted(_chosen(rooms, asked), key=lambda each: each.name):
            some = [each for each in room.tables() if _matches(wire.text(asked, 3), each.name)]
            found += [(room.name, each) for each in sorted(some, key=lambda each: each.name)]
    columns: list[list[str] | list[bytes]] = [
        [room for room, _ in found],
        [SCHEMA] * len(found),
        [each.name for _, each in found],
        [KIND] * len(found),
    ]
    if not has_columns:
        return pa.table(columns, schema=TABLES)
    shapes = [described(room, each).serialize().to_pybytes() for room, each in found]
    return pa.table([*columns, shapes], schema=WITH_COLUMNS)


def described(catalog: str, table: TableFiles) -> pa.Schema:
    """Answer the columns of a table: types, and what its author says of them."""
    plain = arrow_schema(table.schema)
    fields = []
    for field, column in zip(plain, columns_of(table.schema), strict=True):
        said = {
            "ARROW:FLIGHT:SQL:CATALOG_NAME": catalog,
            "ARROW:FLIGHT:SQL:DB_SCHEMA_NAME": SCHEMA,
            "ARROW:FLIGHT:SQL:TABLE_NAME": table.name,
            "ARROW:FLIGHT:SQL:TYPE_NAME": column.type or "VARCHAR",
            "ARROW:FLIGHT:SQL:IS_READ_ONLY": "1",
        }
        if column.comment:
            said |= {"comment": column.comment, "ARROW:FLIGHT:SQL:REMARKS": column.comment}
        fields.append(field.with_metadata(said))
    return pa.schema(fields)


def types(asked: Fields) -> pa.Table:
    """Answer the types of columns, by number and name."""
    only = wire.numbers(asked, 1)
    rows = [
        {
            "type_name": name, "data_type": number, "column_size": size, "nullable": 1, "case_sensitive": is_text,
            "searchable": 3, "fixed_prec_scale": False, "sql_data_type": number, "local_type_name": name,
        }
        for name, number, size, is_text in sorted(_XDBC, key=lambda each: (each[1], each[0]))
        # Negative numbers travel as 64 bits.
        if not only or number in {each - (1 << 64) if each >= 1 << 63 else each for each in only}
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=TYPES)


def info(asked: Fields) -> pa.Table:
    """Answer facts about the server: all, or those whose numbers are asked for."""
    only = set(wire.numbers(asked, 1))
    said = [each for each in _SAID if not only or each[0] in only]
    kinds_ = [kind for _, kind, _ in said]
    children: list[list[object]] = [[] for _ in range(6)]
    offsets = []
    for _, kind, value in said:
        offsets.append(len(children[kind]))
        children[kind].append(value)
    union = pa.UnionArray.from_dense(
        pa.array(kinds_, pa.int8()),
        pa.array(offsets, pa.int32()),
        [pa.array(each, _INFO_TYPE.field(at).type) for at, each in enumerate(children)],
        [_INFO_TYPE.field(at).name for at in range(6)],
    )
    return pa.table([pa.array([each[0] for each in said], pa.uint32()), union], schema=INFO)


def _chosen(rooms: Iterable[Room], asked: Fields) -> list[Room]:
    catalog = wire.text(asked, 1)
    return [each for each in rooms if catalog is None or each.name == catalog]


def _matches(pattern: str | None, name: str) -> bool:
    """Answer whether a name is like a pattern of SQL, in which `%` stands for anything and `_` for one character."""
    if pattern is None:
        return True
    parts = re.split(r"(\\.|%|_)", pattern)
    regular = "".join(
        ".*"
        if each == "%"
        else "."
        if each == "_"
        else re.escape(each[1:] if each.startswith("\\") and len(each) == 2 else each)
        for each in parts
    )
    return re.fullmatch(regular, name, re.DOTALL | re.IGNORECASE) is not None

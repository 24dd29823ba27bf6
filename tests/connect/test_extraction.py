"""Outputs of flows as bytes: every format gives the rows back, from any offset the same bytes, or says why not."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from pondage.connect import extraction
from pondage.define.job.flow import Extract, Format
from pondage.define.types.segment import Segment
from pondage.errors import LedgerError
from pondage.ledger.act.extracts import Extractable
from pondage.ledger.tables.job_runs import JobRunRow
from pondage.work.snapshot import DataFile, SnapshotContent

FIELDS = {
    "id": "long", "name": "string", "born": "date", "at": "timestamp", "score": "decimal(7,2)", "ok": "boolean",
    "data": "binary",
}  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": 'Ada, "Countess"', "born": date(1815, 12, 10), "at": datetime(2026, 1, 31, 12, tzinfo=UTC),
     "score": Decimal("10.50"), "ok": True, "data": b"\x00\xff"},
    {"id": 2, "name": "", "born": None, "at": None, "score": None, "ok": False, "data": None},
    {"id": 3, "name": None, "born": None, "at": None, "score": Decimal("-1.00"), "ok": None, "data": b""},
]  # fmt: skip


def schema_of(fields: dict[str, Any]) -> str:
    found = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields.items()]
    return json.dumps({"type": "struct", "fields": found})


def table(place: Path, fields: dict[str, Any], *files: list[dict[str, Any]]) -> SnapshotContent:
    schema = schema_of(fields)
    place.mkdir()
    names = []
    for number, rows in enumerate(files):
        names.append(DataFile(name=f"part-{number}.parquet", rows=len(rows), bytes=1))
        pq.write_table(pa.Table.from_pylist(rows, extraction.arrow_schema(schema)), place / names[-1].name)
    return SnapshotContent(path=str(place), files=tuple(names), schema=schema, rows=sum(map(len, files)), bytes=1)


def run() -> JobRunRow:
    return JobRunRow(
        id=1, public_id="f1", environment=1, actor=1, job="j", definition=1, context={}, resumed_from=None,
        dispatch=None, reason="", state="OK", code=None, started_at=0, ended_at=None,
    )  # fmt: skip


def one(form: Format, type_: str = "Table<{id: bigint}>") -> Extractable:
    return Extractable(run=run(), name="x", extract=Extract(node="n", port="out", format=form), type=type_)


def encoded(form: Format, *pieces: SnapshotContent | Segment, type_: str = "Table<{id: bigint}>") -> bytes:
    return b"".join(extraction._encoded(one(form, type_), iter(pieces)))


def test_arrow_and_parquet_give_the_rows_back_in_the_order_of_the_files(tmp_path: Path) -> None:
    content = table(tmp_path / "t", FIELDS, ROWS[:2], ROWS[2:])
    with pa.ipc.open_stream(encoded("arrow", content)) as reader:
        assert reader.read_all().to_pylist() == ROWS
    assert pq.read_table(pa.BufferReader(encoded("parquet", content))).to_pylist() == ROWS


def test_lines_of_json_and_csv_say_every_value_exactly(tmp_path: Path) -> None:
    content = table(tmp_path / "t", FIELDS, ROWS)
    lines = [json.loads(line) for line in encoded("ndjson", content).splitlines()]
    assert lines[0] == {
        "id": 1, "name": 'Ada, "Countess"', "born": "1815-12-10", "at": "2026-01-31T12:00:00Z", "score": "10.50",
        "ok": True, "data": "AP8=",
    }  # fmt: skip
    assert [line["name"] for line in lines] == ['Ada, "Countess"', "", None]
    flat = {name: kind for name, kind in FIELDS.items() if name != "data"}
    text = encoded("csv", table(tmp_path / "c", flat, [{key: row[key] for key in flat} for row in ROWS])).decode()
    assert list(csv.reader(io.StringIO(text)))[:2] == [
        list(flat), ["1", 'Ada, "Countess"', "1815-12-10", "2026-01-31T12:00:00Z", "10.50", "true"],
    ]  # fmt: skip
    assert text.splitlines()[2:] == ['2,"",,,,false', "3,,,,-1.00,"], "null and the empty text differ"


def test_nested_rows_become_nested_json(tmp_path: Path) -> None:
    kinds = {
        "ok": {"type": "struct", "fields": json.loads(schema_of({"a": "integer", "t": "timestamp_ntz"}))["fields"]},
        "tags": {"type": "array", "elementType": "string", "containsNull": True},
        "by": {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
    }  # fmt: skip
    row = {"ok": {"a": 1, "t": datetime.fromisoformat("2026-01-31T01:00:00")}, "tags": ["x", None], "by": [("k", 2)]}
    (line,) = encoded("ndjson", table(tmp_path / "t", kinds, [row])).splitlines()
    assert json.loads(line) == {"ok": {"a": 1, "t": "2026-01-31T01:00:00"}, "tags": ["x", None], "by": {"k": 2}}


def test_a_table_without_rows_or_files_still_has_its_columns(tmp_path: Path) -> None:
    for number, files in enumerate(([], [[]])):
        content = table(tmp_path / str(number), FIELDS, *files)
        assert encoded("ndjson", content) == b""
        assert encoded("csv", content) == ",".join(FIELDS).encode() + b"\n"
        with pa.ipc.open_stream(encoded("arrow", content)) as reader:
            assert reader.read_all().schema.names == list(FIELDS)
        assert pq.read_table(pa.BufferReader(encoded("parquet", content))).schema.names == list(FIELDS)


def test_a_value_is_one_line_and_bytes_are_bytes(tmp_path: Path) -> None:
    value = table(tmp_path / "v", {"json": "string"}, [{"json": '{"a": 1}'}])
    assert encoded("ndjson", value, type_="Value<{a: int}>") == b'{"a": 1}\n'
    octets = table(tmp_path / "b", {"bytes": "binary"}, [{"bytes": b"\x00\x01"}])
    assert encoded("bytes", octets, type_="Bytes<image/png>") == b"\x00\x01"


def stored(place: Path, rows: pa.Table) -> Segment:
    with pa.OSFile(str(place), "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return Segment(ref=str(place), rows=rows.num_rows, sha256=hashlib.sha256(place.read_bytes()).hexdigest())


def segment(place: Path, *ids: int) -> Segment:
    return stored(place, pa.table({"id": pa.array(ids, pa.int64())}))


def test_segments_of_a_stream_are_put_together_in_their_order(tmp_path: Path) -> None:
    pieces = [segment(tmp_path / str(number), number) for number in range(3)]
    assert encoded("ndjson", *pieces) == b'{"id":0}\n{"id":1}\n{"id":2}\n'
    with pa.ipc.open_stream(encoded("arrow", *pieces)) as reader:
        assert reader.read_all().to_pydict() == {"id": [0, 1, 2]}


@pytest.mark.parametrize("form", ["arrow", "parquet", "ndjson", "csv"])
def test_the_same_bytes_come_from_every_offset(tmp_path: Path, form: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = {"id": "long", "name": "string"}
    rows = [{"id": number, "name": f"n{number}"} for number in range(25)]
    content = table(tmp_path / "t", flat, rows[:10], rows[10:])
    monkeypatch.setattr(extraction, "BATCH_ROWS", 4)
    monkeypatch.setattr(extraction, "_pieces", lambda *_: iter([content]))
    ledger: Any = None
    whole = b"".join(extraction.extracted(ledger, one(form)))
    assert len(whole) > 100
    for offset in (0, 1, 7, len(whole) // 2, len(whole) - 1, len(whole), len(whole) + 5):
        assert b"".join(extraction.extracted(ledger, one(form), offset=offset)) == whole[offset:]


def test_a_stream_without_any_segment_has_the_columns_of_its_type() -> None:
    type_ = "Stream<{id: bigint, name: string}>"
    assert encoded("csv", type_=type_) == b"id,name\n"
    assert pq.read_table(pa.BufferReader(encoded("parquet", type_=type_))).schema.names == ["id", "name"]
    with pa.ipc.open_stream(encoded("arrow", type_=type_)) as reader:
        assert reader.read_all().num_rows == 0
    assert encoded("ndjson", type_=type_) == b""


@pytest.mark.parametrize("type_", ["Stream<{id: bigint, name: string}>", "infer"])
@pytest.mark.parametrize("form", ["arrow", "parquet", "ndjson", "csv"])
def test_segments_that_differ_in_what_they_say_of_nulls_are_one_table(tmp_path: Path, form: Format, type_: str) -> None:
    columns = {"id": [1], "name": ["x"]}
    never = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])
    wide = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.large_string(), nullable=False)])
    pieces = [stored(tmp_path / str(at), pa.table(columns, schema=one)) for at, one in enumerate((never, wide))]
    found = encoded(form, *pieces, type_=type_)
    match form:
        case "arrow":
            with pa.ipc.open_stream(found) as reader:
                assert reader.read_all().to_pylist() == [{"id": 1, "name": "x"}] * 2
        case "parquet":
            assert pq.read_table(pa.BufferReader(found)).to_pylist() == [{"id": 1, "name": "x"}] * 2
        case "ndjson":
            assert found == b'{"id":1,"name":"x"}\n' * 2
        case "csv":
            assert found == b"id,name\n1,x\n1,x\n"


def test_segments_of_an_unknown_type_with_other_columns_are_told(tmp_path: Path) -> None:
    pieces = [stored(tmp_path / name, pa.table({name: [1]})) for name in ("a", "b")]
    with pytest.raises(pa.ArrowInvalid, match="has the columns b, and others have a"):
        encoded("parquet", *pieces, type_="infer")


@pytest.mark.parametrize("type_", ["Stream<{id: bigint}>", "Bytes<text/plain>", "table"])
def test_files_that_have_gone_or_were_changed_are_an_error_with_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type_: str
) -> None:
    if type_ == "table":
        content = table(tmp_path / "t", {"id": "long"}, [{"id": 1}])
        piece, file = content, tmp_path / "t" / content.files[0].name
    else:
        piece, file = segment(tmp_path / "0", 1), tmp_path / "0"
    monkeypatch.setattr(extraction, "_pieces", lambda *_: iter([piece]))
    ledger: Any = None
    extract = one("ndjson", type_)

    def code() -> str:
        with pytest.raises(LedgerError) as caught:
            list(extraction.extracted(ledger, extract))
        assert "x of flow f1" in str(caught.value)
        return caught.value.code

    assert list(extraction.extracted(ledger, extract))
    file.write_bytes(b"something else")
    assert code() == "EXTRACT_DAMAGED"
    file.unlink()
    assert code() == "EXTRACT_GONE"


def test_a_place_that_nobody_can_read_is_told() -> None:
    content = SnapshotContent(
        path="nowhere://x", files=(DataFile(name="a.parquet", rows=1, bytes=1),), schema=schema_of({"id": "long"}),
        rows=1, bytes=1,
    )  # fmt: skip
    with pytest.raises(Exception, match="cannot be read from here"):
        encoded("ndjson", content)
    assert msgspec.json.encode(content)

"""An external program: rows that have an id become results, the others errors. Started by the host of programs."""

from __future__ import annotations

import io

import pyarrow as pa

from pondage.program import Job, serve

ERROR = pa.struct([("code", pa.string()), ("message", pa.string()), ("detail", pa.string())])


def results(data: bytes) -> bytes:
    """Answer a segment of rows as one of results, their columns with the id first."""
    with pa.ipc.open_stream(data) as reader:
        table = reader.read_all()
    table = table.select(["id", *(name for name in table.column_names if name != "id")])
    rows = [
        {"ok": row, "err": None} if row["id"] is not None else {"ok": None, "err": {"code": "NO_ID"}}
        for row in table.to_pylist()
    ]
    schema = pa.schema([("ok", pa.struct(list(table.schema))), ("err", ERROR)])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema))
    return sink.getvalue()


def work(job: Job) -> None:
    """Turn every segment."""
    for data in job.inputs["in"]:
        job.outputs["out"].put(results(data))
    job.close()


if __name__ == "__main__":
    serve(work)

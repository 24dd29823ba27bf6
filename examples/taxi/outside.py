"""Reads a day of the mart without Pondage and without Spark: once as Delta, once as Iceberg."""

import json
from datetime import date
from pathlib import Path

from deltalake import DeltaTable
from pyiceberg.table import StaticTable

TABLE = Path(".pondage/warehouse/tables/main/fares/v1/fares")


def newest(folder: Path) -> str:
    """The newest description of an Iceberg table."""
    return str(max(folder.glob("*.metadata.json"), key=lambda path: json.loads(path.read_text())["last-updated-ms"]))


delta = DeltaTable(TABLE / "delta").to_pyarrow_table(filters=[("day", "=", date(2026, 3, 10))])
iceberg = StaticTable.from_metadata(newest(TABLE / "iceberg" / "metadata")).scan("day = '2026-03-10'").to_arrow()
for name, table in (("Delta", delta), ("Iceberg", iceberg)):
    print(name, table.num_rows, "boroughs,", sum(table["trips"].to_pylist()), "trips")

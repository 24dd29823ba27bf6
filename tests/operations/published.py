"""A project with a ledger whose Ponds have published real files, made without Spark."""

from __future__ import annotations

from pathlib import Path

import duckdb

from pondage.kernel.demand.events import Pulse
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import Written
from pondage.work.snapshot import DataFile, SnapshotContent
from tests.embedded.tables import schema
from tests.ledger.harness import SECOND, World

SCHEMA = schema(n="long", name="string", amount="decimal(10,2)", at="timestamp")
ROWS = """SELECT range AS n, '{name} ' || range AS name, (range / 4)::DECIMAL(10, 2) AS amount,
          TIMESTAMPTZ '2026-05-04 06:00:00+00' + range * INTERVAL 1 HOUR AS at FROM range({rows})"""


def publish(world: World, root: Path, pond: str, *, rows: int = 10) -> None:
    """Pulse a Pond, and write each of its Ripples as one file of so many rows."""
    world.send(Pulse(pond=f"{pond}@1"))
    worker = world.worker()
    while (held := worker.claim()) is not None:
        path = root / "warehouse" / held.claim.token
        path.mkdir(parents=True)
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone='UTC'")
            select = ROWS.format(name=held.claim.node, rows=rows)
            connection.execute(f"COPY ({select}) TO '{path}/part-0.parquet' (FORMAT parquet)")
        size = (path / "part-0.parquet").stat().st_size
        content = SnapshotContent(
            path=f"file:{path}",
            files=(DataFile(name="part-0.parquet", rows=rows, bytes=size),),
            schema=SCHEMA,
            rows=rows,
            bytes=size,
        )
        assert guarded.commit(world.ledger, held, Written(content), process=worker.id)
        world.clock.time += SECOND

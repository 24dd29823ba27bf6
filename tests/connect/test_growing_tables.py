"""Tables of which a version keeps files of the one before: batches that are added, and merges that keep the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from pondage.connect.delta import DeltaTable
from pondage.connect.iceberg import IcebergTable, open_catalogue
from pondage.connect.tables import FormattedTable, LinkedFile, publish_table
from pondage.ledger.upkeep.publications import Shown, Version
from pondage.work.snapshot import SnapshotContent
from tests.connect.market import write

FIRST = pa.table({"n": [1, 2]})
SECOND = pa.table({"n": [3]})
THIRD = pa.table({"n": [4], "name": ["d"]})


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FormattedTable]:
    if request.param == "delta":
        yield DeltaTable(tmp_path / "table")
        return
    with closing(open_catalogue(f"sqlite:///{tmp_path / 'iceberg.db'}")) as catalogue:
        yield IcebergTable(catalogue, ("main", "orders", "v1", "orders"), tmp_path / "table")


class Batches:
    """Snapshots of one table, each of which is a list of batches."""

    def __init__(self, table: FormattedTable, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.table = table
        self.path = path
        self.batches: dict[str, SnapshotContent] = {}
        self._monkeypatch = monkeypatch

    def publish(self, snapshot: str, batches: Sequence[tuple[str, pa.Table]]) -> None:
        """Publish a snapshot of these batches; a batch that was there before is the same files."""
        contents = []
        for name, rows in batches:
            if name not in self.batches:
                self.batches[name] = write(self.path / "data" / name, rows)
            contents.append(self.batches[name])
        version = Version(snapshot=snapshot, newest=snapshot, run="r", freshness=0, content=contents[-1])
        linked = [each for content in contents for each in self._linked(content)]
        self._monkeypatch.setattr("pondage.connect.tables._linked", lambda *_: linked)
        assert publish_table(self.table, lambda shown: _unless(version, shown), keep_s=1e9) == 1
        assert publish_table(self.table, lambda shown: _unless(version, shown), keep_s=1e9) == 0

    def _linked(self, content: SnapshotContent) -> Iterator[LinkedFile]:
        for file, place in zip(content.files, content.paths, strict=True):
            source = Path(place)
            target = self.table.data / source.parent.name / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.hardlink_to(source)
            yield LinkedFile(name=f"{source.parent.name}/{source.name}", path=target, data=file)

    def values(self) -> list[int]:
        if isinstance(self.table, DeltaTable):
            from deltalake import DeltaTable as Reader

            return sorted(Reader(str(self.table.data)).to_pyarrow_table()["n"].to_pylist())
        assert isinstance(self.table, IcebergTable)
        loaded = self.table._table()
        assert loaded is not None
        return sorted(loaded.scan().to_arrow()["n"].to_pylist())


def _unless(version: Version, shown: Shown | None) -> list[Version]:
    return [] if shown is not None and shown.snapshot == version.snapshot else [version]


def test_batches_are_added_kept_and_taken_out_also_when_the_schema_grows(
    table: FormattedTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = Batches(table, tmp_path, monkeypatch)
    batches.publish("s1", [("b1", FIRST)])
    batches.publish("s2", [("b1", FIRST), ("b2", SECOND)])
    assert batches.values() == [1, 2, 3]
    batches.publish("s3", [("b2", SECOND)])
    assert batches.values() == [3]
    batches.publish("s4", [("b2", SECOND), ("b3", THIRD)])
    assert batches.values() == [3, 4]
    batches.publish("s5", [("b2", SECOND), ("b3", THIRD), ("b4", THIRD)])
    assert batches.values() == [3, 4, 4]
    if isinstance(table, DeltaTable):
        from deltalake import DeltaTable as Reader

        modes = [each["operationParameters"]["mode"] for each in reversed(Reader(str(table.data)).history())]
        assert modes == ["ErrorIfExists", "Append", "Overwrite", "Overwrite", "Append"]


def test_no_commit_of_delta_adds_and_removes_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    batches = Batches(DeltaTable(tmp_path / "table"), tmp_path, monkeypatch)
    batches.publish("s1", [("b1", FIRST), ("b2", SECOND)])
    batches.publish("s2", [("b2", SECOND), ("b3", THIRD)])
    for commit in (tmp_path / "table" / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        added = {each["add"]["path"] for each in actions if "add" in each}
        removed = {each["remove"]["path"] for each in actions if "remove" in each}
        assert not added & removed

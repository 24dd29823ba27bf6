"""The data plane of Python lists, for tables in partitions: days of `raw`, cleaned in `mid`, summed over two in `end`.

`truth` has, for every snapshot, the table that a computation from scratch gives. What the ledger shows must equal it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date, timedelta

import msgspec

from pondage.define.pond.definition import PondDefinition, ReadDefinition
from pondage.define.pond.partition import Partition, PartitionColumn, PartitionDefinition
from pondage.define.values.names import PondKey
from pondage.engine.attempt.followed_tables import Following, NeedsAll
from pondage.errors import LedgerError, PondageError
from pondage.ledger.act import backfills, compaction
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data import snapshots
from pondage.ledger.data.inputs import ripple_inputs
from pondage.ledger.kinds.compact import Compacted, CompactTask
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.tables.actors import ponds
from pondage.work.snapshot import Changes, DataFile, SnapshotContent
from tests.ledger.commit.growing import Growing, Plain
from tests.ledger.harness import SCHEMA, MakeDriver, pond

Dated = tuple[str, int]
"""A day, and a value."""
BY = PartitionDefinition(by=(PartitionColumn(column="day"),))
DAYS = 9


def day(number: int) -> str:
    return (date(2026, 3, 1) + timedelta(days=number)).isoformat()


def cleaned(rows: Iterable[Dated]) -> list[Dated]:
    """What `mid` makes of rows: some days have nothing left."""
    return [(when, value) for when, value in rows if value % 3]


def summed(rows: Sequence[Dated], days: Iterable[str]) -> list[Dated]:
    """What `end` makes of rows: for each day that has any, the sum of it and of the day before."""
    totals: Counter[str] = Counter()
    for when, value in rows:
        totals[when] += value
    there = {when for when, _ in rows}
    before = {when: (date.fromisoformat(when) - timedelta(days=1)).isoformat() for when in there}
    return [(when, totals[when] + totals[before[when]]) for when in sorted(there & set(days))]


class Partitioned(Growing):
    """A ledger in which three Ponds are in partitions, and everything that can happen to them."""

    def __init__(self, make_driver: MakeDriver, seed: int) -> None:
        self.rows: dict[str, list[Dated]] = {}
        self.tables: dict[int, Counter[Dated]] = {}
        super().__init__(make_driver, seed)
        self.kind = Plain
        self.files = self.rows  # type: ignore[assignment]  # what a vacuum deletes

    def definition(self, name: str, mode: str, source: str | None) -> PondDefinition:
        made = pond(name, sources={source: True} if source else None)
        return made if name == "news" else msgspec.structs.replace(made, mode="partition", partition=BY)

    def happenings(self) -> list[tuple[Callable[[], None], int]]:
        """What can happen to every table that grows; and backfills, beside all of it."""
        return [*super().happenings(), (self.backfill, 4), (self.disturb, 2)]

    def backfill(self) -> None:
        """Have some days computed again; mostly there is demand beside it."""
        days = self.random.sample(range(DAYS), self.random.randint(1, 4))
        chunks = [[(day(each),)] for each in days] if self.random.random() < 0.5 else [[(day(each),) for each in days]]
        name = self.random.choice(["raw", "mid", "end"])
        backfills.start(self.world.ledger, "main", f"{name}@1", chunks=chunks, stops=self.random.random() < 0.3)
        if self.random.random() < 0.5:
            self.ask()

    def disturb(self) -> None:
        """Pause, resume or cancel one of the backfills; some are over already."""
        found = self.world.rows("SELECT public_id FROM backfills ORDER BY id DESC LIMIT 3")
        verb = self.random.choice([backfills.pause, backfills.resume, backfills.resume, backfills.cancel])
        if found:
            with suppress(PondageError):
                verb(self.world.ledger, "main", str(self.random.choice(found)["public_id"]))

    def change_mode(self) -> None:
        """Nothing: what a table that was cut otherwise becomes is Spark's work."""

    def compact(self) -> None:
        with suppress(LedgerError):
            compaction.begin(self.world.ledger, "main", PondKey(f"{self.random.choice(['raw', 'mid', 'end'])}@1"))

    def rewrite(self, held: Work) -> None:
        assert isinstance(held.task, CompactTask)
        found = [row for path in held.task.table.paths for row in self.rows[path]]
        content = self.content(f"/w/{held.claim.token}", found, most=1)
        assert content.rows == held.task.table.rows
        guarded.commit(self.world.ledger, held, Compacted(content), process=self.worker.id)

    def run(self, held: Work) -> None:
        """Call the Ripple, write what it returns by partition, and commit."""
        assert isinstance(held.task, RippleTask)
        following = self.partitions_of(held, is_full=False)
        try:
            found = self.compute(held, following)
        except NeedsAll:
            following = self.partitions_of(held, is_full=True)
            found = self.compute(held, following)
        if following.only is not None:
            places, values = following.only
            assert places == (0,)
            found = [row for row in found if (row[0],) in values]
        content = self.content(f"/w/{held.claim.token}", found, most=3)
        increment = following.increment()
        if held.claim.node != "news":
            assert increment is not None
            partitions = {file.partition for file in content.files if file.partition} | following.replaced
            increment = msgspec.structs.replace(increment, by=BY.texts, partitions=tuple(sorted(partitions)))
        content = msgspec.structs.replace(content, increment=increment)
        if guarded.commit(self.world.ledger, held, Written(content), process=self.worker.id):
            self.know(held, following, found)

    def partitions_of(self, held: Work, *, is_full: bool) -> Following:
        assert isinstance(held.task, RippleTask)
        task = held.task

        def whole(read: ReadDefinition) -> list[Dated]:
            return self.pinned(task, read.parameter)

        def part(read: ReadDefinition, changes: Changes) -> list[Dated]:
            return [row for batch in changes.batches for path in batch.paths for row in self.rows[path]]

        def selected(
            read: ReadDefinition, columns: Sequence[PartitionColumn], found: set[Partition] | None
        ) -> Callable[[Dated], bool]:
            assert [each.text for each in columns] == ["day"]
            return lambda row: found is None or (row[0],) in found

        return Following(
            task, Increments(self.world.ledger, held.claim), whole=whole, part=part, selected=selected, is_full=is_full
        )  # type: ignore[arg-type]

    def pinned(self, task: RippleTask, parameter: str) -> list[Dated]:
        given = task.inputs[parameter]
        assert given is not None
        return [row for path in given.paths for row in self.rows[path]]

    def compute(self, held: Work, following: Following) -> list[Dated]:
        """The author's functions."""
        assert isinstance(held.task, RippleTask)
        match held.claim.node:
            case "raw":
                # Mostly the newest days; now and then a late one.
                first = self.random.choice([0, DAYS - 4, DAYS - 2])
                days = {day(self.random.randint(first, DAYS - 1)) for _ in range(self.random.randint(0, 3))}
                return [(each, self.random.randint(0, 9)) for each in days for _ in range(self.random.randint(1, 3))]
            case "mid":
                touched = following.touched(("day",), before_us=0, after_us=0)
                return cleaned(row for row in self.pinned(held.task, "raw") if touched(row))  # type: ignore[operator]
            case "end":
                touched = following.touched(("day",), before_us=86_400_000_000, after_us=0)
                given = [row for row in self.pinned(held.task, "mid") if touched(row)]  # type: ignore[operator]
                return summed(given, {when for when, _ in given})
        changed: list[Dated] = following.changes("raw.raw")  # type: ignore[assignment]
        self.compare_changes(held, changed, is_full=following.is_full)
        return changed

    def compare_changes(self, held: Work, changed: list[Dated], *, is_full: bool) -> None:
        """Changes are the rows that replaced partitions have now: what differs between two snapshots is among them."""
        pin = ripple_inputs(held.claim.inputs).snapshots["raw"]
        assert pin is not None
        now = self.tables[pin]
        if is_full:
            assert Counter(changed) == now
            return
        base = Increments(self.world.ledger, held.claim).base(is_published=True)
        assert base is not None
        assert base.content.increment is not None
        (cursor,) = base.content.increment.cursors.values()
        days = {when for when, _ in changed}
        assert Counter(changed) == Counter({row: n for row, n in now.items() if row[0] in days}), "a partition is torn"
        before = self.tables[cursor]
        differing = {when for (when, _), n in (now - before).items() if n}
        assert differing <= days, "a replaced partition is missing"

    def content(self, path: str, rows: Sequence[Dated], *, most: int) -> SnapshotContent:
        files: list[DataFile] = []
        for when in sorted({when for when, _ in rows}):
            mine = [row for row in rows if row[0] == when]
            count = min(len(mine), self.random.randint(1, most))
            for number in range(count):
                name = f"v{when.encode().hex()}/part-{number}"
                self.rows[f"{path}/{name}"] = mine[number::count]
                files.append(DataFile(name=name, rows=len(mine[number::count]), bytes=10, partition=(when,)))
        return SnapshotContent(path=path, files=tuple(files), schema=SCHEMA, rows=len(rows), bytes=10 * len(files))

    def know(self, held: Work, following: Following, returned: list[Dated]) -> None:
        """Write down what a computation from scratch gives for the snapshot that was just inserted."""
        (found,) = self.world.rows("SELECT id FROM snapshots WHERE execution = :id", id=held.claim.execution)
        made = int(str(found["id"]))
        pins = ripple_inputs(held.claim.inputs).snapshots
        chunk = None if following.chunk is None else set(following.chunk.values("day"))
        match held.claim.node:
            case "raw":
                base = Counter() if following.extended is None else self.tables[following.extended]
                days = {when for when, _ in returned} if chunk is None else chunk
                kept = Counter({row: n for row, n in base.items() if row[0] not in days})
                self.tables[made] = kept + Counter(returned)
            case "mid":
                self.tables[made] = Counter(cleaned(self.tables[pins["raw"]].elements()))  # type: ignore[index]
            case "end":
                given = list(self.tables[pins["mid"]].elements())  # type: ignore[index]
                self.tables[made] = Counter(summed(given, {when for when, _ in given}))
            case _:
                self.tables[made] = Counter(returned)
        if chunk is not None:
            # The rest of the table stays as it was, whatever has happened above it since.
            assert following.extended is not None
            before, now = self.tables[following.extended], self.tables[made]
            kept = Counter({row: n for row, n in before.items() if row[0] not in chunk})
            self.tables[made] = kept + Counter({row: n for row, n in now.items() if row[0] in chunk})

    def check(self) -> None:
        """Every Pond shows what a computation from scratch would, and each of its files has one partition."""
        with self.world.ledger.reading() as tx:
            for each in ponds(tx, 1):
                run = snapshots.current_run(tx, each.id)
                given = {} if run is None else snapshots.outputs(tx, run)
                loaded = snapshots.load(tx, [output.snapshot for output in given.values()])
                for identity, row in loaded.items():
                    shown = [(file, one) for file in row.content.files for one in self.rows[row.content.place(file)]]
                    assert Counter(one for _, one in shown) == self.tables[identity], f"{each.key} shows other rows"
                    assert row.content.rows == len(shown)
                    assert all(file.partition == (one[0],) for file, one in shown)
            left = {
                page
                for pages in tx.rows("SELECT pages FROM manifests", tuple[tuple[tuple[object, ...], ...]])
                for page in (one[0] for one in pages[0])
            }
            assert set(tx.rows("SELECT id FROM pages", int)) == left, "pages outlive their manifests, or go before them"

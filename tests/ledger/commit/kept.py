"""The data plane of Python lists, for tables that are kept up to date: `mid` cleans `raw`, `end` adds it up by groups.

`truth` has, for every snapshot, the table that a computation from scratch gives. What the ledger shows must equal it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from pondage.define.pond.definition import PondDefinition, ReadDefinition
from pondage.define.pond.verification import Verification
from pondage.engine.attempt.followed_tables import Following
from pondage.engine.execute.automatic_table import AutomaticTable
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data.inputs import ripple_inputs
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.work.changed import Changed
from pondage.work.snapshot import Changes, DataFile, Increment, SnapshotContent
from pondage.work.upkeep import Upkeep
from tests.ledger.commit.growing import Growing, Row, Table, table
from tests.ledger.harness import MakeDriver, pond

GROUPS = 4
Compute = Callable[[Table], Table]


def cleaned(rows: Table) -> Table:
    """What `mid` makes of `raw`."""
    return Counter({row: n for row, n in rows.items() if row[1] % 3})


def summed(rows: Table) -> Table:
    """What `end` makes of `mid`."""
    found: Table = Counter()
    for (key, value), n in rows.items():
        found[key % GROUPS, 0] += 0
        found[key % GROUPS, 0] += value * n
    groups = {key % GROUPS for key, _ in rows}
    return Counter({(group, found[group, 0]): 1 for group in groups})


class Kept(Growing):
    """raw -> mid -> end, of which the last two are kept up to date; `news` follows mid."""

    def __init__(self, make_driver: MakeDriver, seed: int) -> None:
        self.hows: Counter[str] = Counter()
        super().__init__(make_driver, seed)

    def definition(self, name: str, mode: str, source: str | None) -> PondDefinition:
        if name in ("mid", "end"):
            made = pond(name, sources={str(source): True})
            return msgspec.structs.replace(made, mode="auto", verify=Verification())
        return super().definition(name, mode, "mid" if name == "news" else source)

    def run(self, held: Work) -> None:
        """Compute what changed of a kept table, or do what the other Ponds do."""
        assert isinstance(held.task, RippleTask)
        if held.task.definition.mode != "auto":
            return super().run(held)
        following = self.following(held, is_full=True)
        kept = AutomaticTable(self.world.ledger, held.claim, held.task, following)
        (read,) = held.task.ripple.tables
        content = held.task.inputs[read.parameter]
        assert content is not None
        now = table(self.rows_of(content))
        compute, group = (cleaned, 0) if held.claim.node == "mid" else (summed, GROUPS)
        inputs = {} if kept.why_full() else kept.inputs()
        given = inputs.get(read.parameter)
        path = f"/w/{held.claim.token}"
        if given is None or given.changes is None or (given.old is None and given.changes.rows):
            made = self.write(path, self.split(_rows(compute(now))))
            how, increment = "full", Increment(is_signed=True)
        else:
            made, increment = self.changed(kept, path, now, self.differing(given), compute, group)
            how = "keyed"
        self.hows[how] += 1
        made = msgspec.structs.replace(made, increment=increment, upkeep=Upkeep(how=how, said="", code="c"))
        made = kept.with_increment(made)
        if guarded.commit(self.world.ledger, held, Written(made), process=self.worker.id):
            (found,) = self.world.rows("SELECT id FROM snapshots WHERE execution = :id", id=held.claim.execution)
            self.truth[int(str(found["id"]))] = compute(now)
        return None

    def changed(
        self, kept: AutomaticTable, path: str, now: Table, differing: set[int], compute: Compute, group: int
    ) -> tuple[SnapshotContent, Increment]:
        """Take the slices of the keys out of the table, and put what they are now in."""
        keys = {key % group for key in differing} if group else differing
        mine = Counter({row: n for row, n in now.items() if (row[0] % group if group else row[0]) in keys})
        came = self.write(f"{path}/rows", self.split(_rows(compute(mine))))
        assert kept.table is not None
        stays: list[Row] = []
        went: list[Row] = []
        positions: list[int] = []
        for position, file in enumerate(kept.table.content.paths):
            rows = self.files[file]
            if any(row[0] in keys for row in rows):
                stays += [row for row in rows if row[0] not in keys]
                went += [row for row in rows if row[0] in keys]
            else:
                positions.append(position)
        is_torn = len(positions) < len(kept.table.content.paths)
        rest, gone = self.write(f"{path}/table", [stays]), self.write(f"{path}/gone", self.split(went))
        plus = _below("rows", came)
        made = msgspec.structs.replace(came, path=path, files=(*plus, *_below("table", rest)))
        increment = Increment(
            kept=tuple(positions) if is_torn else None,
            plus=plus if rest.files else None,
            minus=_below("gone", gone),
            is_signed=True,
        )
        return made, increment

    def differing(self, given: Changed) -> set[int]:
        """Answer the keys of rows that came or went."""
        changes = given.changes
        assert changes is not None
        came = [row for part in changes.batches for row in self.rows_of(part)]
        went = [row for part in changes.gone for row in self.rows_of(part)]
        if changes.keys or not changes.rows:
            return {row[0] for row in came}
        assert given.old is not None
        was, now = table(self.rows_of(given.old)), table(self.rows_of(given.new))
        plus, minus = table(came), table(went)
        assert was + plus == now + minus, "what came and went does not lead from the old rows to the new ones"
        return {key for key, _ in (*plus, *minus)}

    def following(self, held: Work, *, is_full: bool) -> Following:
        """Let `news` have signed changes, in the order of the batches."""
        assert isinstance(held.task, RippleTask)
        if held.claim.node != "news":
            return super().following(held, is_full=is_full)
        task = held.task

        def whole(read: ReadDefinition) -> list[tuple[Row, int]]:
            content = task.inputs[read.parameter]
            assert content is not None
            return [(row, 1) for row in self.rows_of(content)]

        def part(read: ReadDefinition, changes: Changes) -> list[tuple[Row, int]]:
            assert changes.is_signed
            return [(row, sign) for sign, parts in ((1, changes.batches), (-1, changes.gone))
                    for each in parts for row in self.rows_of(each)]  # fmt: skip

        return Following(task, Increments(self.world.ledger, held.claim), whole=whole, part=part, is_full=is_full)  # type: ignore[arg-type]

    def call(self, held: Work, following: Following) -> list[Row]:
        """Let `news` take in what came and what went of `mid`."""
        if held.claim.node != "news":
            return super().call(held, following)
        signed: list[tuple[Row, int]] = following.changes("mid.mid")  # type: ignore[assignment]
        pin = ripple_inputs(held.claim.inputs).snapshots["mid"]
        assert pin is not None
        before: Table = Counter()
        if not following.is_full:
            base = Increments(self.world.ledger, held.claim).base(is_published=True)
            assert base is not None
            assert base.content.increment is not None
            (cursor,) = base.content.increment.cursors.values()
            before = self.truth[cursor]
        self.is_full.append(("news", following.is_full))
        came, went = (table(row for row, sign in signed if sign == wanted) for wanted in (1, -1))
        assert before + came == self.truth[pin] + went, "news skips or repeats a batch"
        return []

    def remember(self, held: Work, following: Following, rows: list[Row]) -> None:
        """Write down nothing of `news` but that it is empty."""
        if held.claim.node != "news":
            return super().remember(held, following, rows)
        (found,) = self.world.rows("SELECT id FROM snapshots WHERE execution = :id", id=held.claim.execution)
        self.truth[int(str(found["id"]))] = Counter()
        return None

    def rows_of(self, content: SnapshotContent) -> Iterable[Row]:
        """Answer the rows of a table or a batch; a file that is gone is an error."""
        return [row for path in content.paths for row in self.files[path]]


def _rows(found: Table) -> list[Row]:
    return [(key, value, False) for key, value in found.elements()]


def _below(folder: str, content: SnapshotContent) -> tuple[DataFile, ...]:
    return tuple(msgspec.structs.replace(each, name=f"{folder}/{each.name}") for each in content.files)

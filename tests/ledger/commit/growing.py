"""A data plane of Python lists: Ripples that grow and follow tables, with every file in a dictionary.

`truth` has, for every snapshot, the table that a computation from scratch gives. What the ledger shows must equal it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress

import msgspec

from pondage.define.pond.definition import PondDefinition, ReadDefinition
from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey
from pondage.engine.attempt.followed_tables import Following, NeedsAll
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Force, Pulse, Tap
from pondage.ledger.act import compaction, rollback
from pondage.ledger.act.as_of import AsOf, NotThere, run_then
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data import snapshots
from pondage.ledger.data.inputs import compact_inputs, ripple_inputs
from pondage.ledger.kinds.compact import Compacted, CompactTask
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.tables.actors import ponds
from pondage.ledger.upkeep import pruning, reap, retention
from pondage.ledger.upkeep.thinning import thin
from pondage.work.snapshot import Changes, DataFile, Increment, SnapshotContent
from tests.ledger.harness import SCHEMA, MakeDriver, Worker, World, pond

Row = tuple[int, int, bool]
"""Key, value, and whether it is a deletion."""
Table = Counter[tuple[int, int]]
GRACE_S = 7_200


def table(rows: Iterable[Row]) -> Table:
    return Counter((key, value) for key, value, is_deleted in rows if not is_deleted)


def merged(old: Table, rows: Iterable[Row]) -> Table:
    given = list(rows)
    keys = {key for key, _, _ in given}
    return Counter({each: n for each, n in old.items() if each[0] not in keys}) + table(given)


class Plain:
    """raw -> mid -> end, where raw appends or replaces and the others append what they follow."""

    modes = ("append", "append", "append", "replace")
    grown = "append"


class Keyed:
    """raw -> mid -> end, where raw does anything and the others merge what they follow."""

    modes = ("append", "merge", "merge", "replace")
    grown = "merge"


class Growing:
    """A ledger in which three Ponds grow, and everything that can happen to them."""

    def __init__(self, make_driver: MakeDriver, seed: int) -> None:
        self.random = random.Random(seed)
        self.kind: type[Plain] | type[Keyed] = self.random.choice([Plain, Keyed])
        self.durability = Durability(keep_runs=self.random.choice([1, 2, 5]), retention_days=1.0)
        self.world = World(make_driver, durability=self.durability)
        self.worker = Worker(self.world)
        self.files: dict[str, list[Row]] = {}
        self.truth: dict[int, Table] = {}
        self.fresh = 0
        self.is_full: list[tuple[str, bool]] = []
        self.slow: Work | None = None
        self.dead: Work | None = None
        self.mode = self.random.choice(self.kind.modes)
        self.deploy()

    def definition(self, name: str, mode: str, source: str | None) -> PondDefinition:
        made = pond(name, sources={source: True} if source else None)
        return msgspec.structs.replace(
            made,
            mode=mode,
            keys=("key",) if mode == "merge" else (),  # type: ignore[arg-type]
        )

    def deploy(self) -> None:
        self.world.deploy(
            self.definition("raw", self.mode, None),
            self.definition("mid", self.kind.grown, "raw"),
            self.definition("end", self.kind.grown, "mid"),
            self.definition("news", "replace", "raw"),
        )

    def step(self) -> None:
        """Let one thing happen."""
        happening = self.happenings()
        self.random.choices([each for each, _ in happening], [weight for _, weight in happening])[0]()
        self.drain()
        self.check()

    def happenings(self) -> list[tuple[Callable[[], None], int]]:
        """What can happen, and how often."""
        return [
            (self.ask, 12), (self.force, 2), (self.roll_back, 2), (self.change_mode, 1), (self.compact, 3),
            (self.vacuum, 2), (self.finish_held, 2),
        ]  # fmt: skip

    def ask(self) -> None:
        name = self.random.choice(["mid", "end", "end", "raw", "news"])
        event = self.random.choice([Pulse, Tap])
        self.world.send(event(pond=PondKey(f"{name}@1")))

    def force(self) -> None:
        name = self.random.choice(["raw", "mid", "end"])
        self.world.send(Force(pond=PondKey(f"{name}@1"), full=self.random.random() < 0.4))

    def roll_back(self) -> None:
        name = self.random.choice(["raw", "mid"])
        runs = self.world.rows(
            """SELECT r.id AS id FROM runs r JOIN ponds p ON p.id = r.pond
               WHERE p.name = :name AND r.state = 'completed' ORDER BY r.id DESC LIMIT 6""",
            name=name,
        )
        if len(runs) > 1:
            chosen = self.random.choice(runs[1:])["id"]
            # Its data may be gone, or it is the current Run already.
            with suppress(rollback.CannotRollBack):
                rollback.roll_back_pond(self.world.ledger, "main", PondKey(f"{name}@1"), int(str(chosen)))

    def change_mode(self) -> None:
        self.mode = self.random.choice(self.kind.modes)
        self.deploy()

    def compact(self) -> None:
        name = self.random.choice(["raw", "mid", "end"])
        with suppress(LedgerError) if name == "raw" else nullcontext():
            compaction.begin(self.world.ledger, "main", PondKey(f"{name}@1"))

    def vacuum(self) -> None:
        """Let time pass, mark what is out of retention, and delete the files of what was marked a grace ago."""
        self.world.pass_time(86_400 * self.random.choice([0.2, 1.5]))
        young_us = self.durability.keeping.all_us
        thin(self.world.ledger)
        with self.world.ledger.transaction() as tx:
            doomed = retention.unused(tx, young_us=young_us, read=retention.being_read(tx))
            retention.tombstone(tx, [each.id for each in doomed.snapshots])
        self.world.pass_time(GRACE_S)
        with self.world.ledger.transaction() as tx:
            marked = retention.tombstoned(tx, before=tx.now - 3_600_000_000)
            read = retention.being_read(tx)
            used = retention.used_again(tx, [each.id for each in marked], young_us=young_us, read=read)
            retention.revive(tx, used)
            for each in marked:
                if each.id not in used:
                    for path in [path for path in self.files if path.startswith(each.path + "/")]:
                        del self.files[path]
                    retention.swept(tx, [each.id])
        pruning.prune(self.world.ledger)

    def finish_held(self) -> None:
        """Let a process that is slow, and then one that was taken for dead, come to its end."""
        slow, self.slow = self.slow, None
        if slow is not None:
            self.carry_out(slow)
        dead, self.dead = self.dead, None
        if dead is not None:
            # Nobody keeps anything for it.
            with suppress(KeyError, AssertionError):
                self.carry_out(dead)

    def drain(self) -> None:
        for _ in range(60):
            held = self.worker.claim()
            if held is None:
                return
            self.world.clock.time += 1_000_000
            fate = self.random.choices(["finish", "fail", "crash", "zombie", "slow", "release"], [20, 1, 1, 1, 2, 1])[0]
            match "finish" if fate == "slow" and self.slow is not None else fate:
                case "finish":
                    self.carry_out(held)
                case "fail":
                    self.worker.fail(held)
                case "crash":
                    self.die()
                case "zombie":
                    self.die()
                    self.dead = held
                case "slow":
                    self.slow = held
                    self.worker = Worker(self.world)
                case "release":
                    guarded.release(self.world.ledger, held)

    def die(self) -> None:
        """The worker is taken for dead, and another one goes on."""
        reap.reap_process(self.world.ledger, self.worker.row, reason="it was silent")
        self.worker = Worker(self.world)

    def carry_out(self, held: Work) -> None:
        if isinstance(held.task, CompactTask):
            self.rewrite(held)
        else:
            self.run(held)

    def rewrite(self, held: Work) -> None:
        assert isinstance(held.task, CompactTask)
        rows = [row for path in held.task.table.paths for row in self.files[path]]
        content = self.write(f"/w/{held.claim.token}", [rows])
        assert content.rows == held.task.table.rows
        guarded.commit(self.world.ledger, held, Compacted(content), process=self.worker.id)
        assert compact_inputs(held.claim.inputs).members

    def run(self, held: Work) -> None:
        """Call the Ripple, write what it returns, and commit."""
        assert isinstance(held.task, RippleTask)
        task = held.task
        following = self.following(held, is_full=False)
        try:
            rows = self.call(held, following)
        except NeedsAll:
            following = self.following(held, is_full=True)
            rows = self.call(held, following)
        increment = following.increment()
        path = f"/w/{held.claim.token}"
        if task.definition.mode == "merge":
            content = self.merge(held, path, rows, following, increment)
        else:
            content = msgspec.structs.replace(self.write(path, self.split(rows)), increment=increment)
        is_ours = guarded.commit(self.world.ledger, held, Written(content), process=self.worker.id)
        if is_ours:
            self.remember(held, following, rows)

    def following(self, held: Work, *, is_full: bool) -> Following:
        assert isinstance(held.task, RippleTask)
        increments = Increments(self.world.ledger, held.claim)

        def whole(read: ReadDefinition) -> list[Row]:
            given = held.task.inputs[read.parameter]  # type: ignore[union-attr]
            assert given is not None
            return [(key, value, False) for path in given.paths for key, value, gone in self.files[path] if not gone]

        def part(read: ReadDefinition, changes: Changes) -> list[Row]:
            rows = [[row for path in batch.paths for row in self.files[path]] for batch in changes.batches]
            if not changes.keys:
                return [row for batch in rows for row in batch]
            last = {row[0]: row for batch in rows for row in batch}
            return list(last.values())

        return Following(held.task, increments, whole=whole, part=part, is_full=is_full)  # type: ignore[arg-type]

    def call(self, held: Work, following: Following) -> list[Row]:
        """The author's functions."""
        assert isinstance(held.task, RippleTask)
        name, mode = held.claim.node, held.task.definition.mode
        if name != "raw":
            rows: list[Row] = following.changes({"mid": "raw.raw", "end": "mid.mid", "news": "raw.raw"}[name])  # type: ignore[assignment]
            self.is_full.append((name, following.is_full))
            pin = ripple_inputs(held.claim.inputs).snapshots[{"end": "mid"}.get(name, "raw")]
            assert pin is not None
            if following.is_full:
                assert table(rows) == self.truth[pin], f"{name} got everything, but not that"
            else:
                self.check_changes(held, rows, pin)
            return rows if mode == "merge" else [row for row in rows if not row[2]]
        is_anew = self.random.random() < 0.3 and following.is_full
        if mode == "merge" and not is_anew and self.random.random() < 0.8:
            known = list(range(self.fresh))
            changed = self.random.sample(known, min(len(known), self.random.randint(0, 3)))
            return [(key, self.random.randint(0, 99), self.random.random() < 0.4) for key in changed] + self.new(1)
        return self.new(self.random.randint(0, 3))

    def check_changes(self, held: Work, rows: list[Row], pin: int) -> None:
        """Taken in with the table it continues, the changes give the table that is pinned."""
        assert isinstance(held.task, RippleTask)
        is_published = held.task.definition.mode == "replace"
        base = Increments(self.world.ledger, held.claim).base(is_published=is_published)
        assert base is not None
        assert base.content.increment is not None
        (cursor,) = base.content.increment.cursors.values()
        assert merged(self.truth[cursor], rows) == self.truth[pin], f"{held.claim.node} skips or repeats a batch"

    def new(self, count: int) -> list[Row]:
        self.fresh += count
        return [(self.fresh - each - 1, self.random.randint(0, 99), False) for each in range(count)]

    def split(self, rows: list[Row]) -> list[list[Row]]:
        half = self.random.randint(0, len(rows))
        return [part for part in (rows[:half], rows[half:]) if part]

    def write(self, path: str, parts: list[list[Row]]) -> SnapshotContent:
        names = [f"part-{number}" for number, rows in enumerate(parts) if rows]
        self.files.update({f"{path}/{name}": rows for name, rows in zip(names, filter(None, parts), strict=True)})
        files = tuple(DataFile(name=name, rows=len(self.files[f"{path}/{name}"]), bytes=10) for name in names)
        rows = sum(file.rows for file in files)
        return SnapshotContent(path=path, files=files, schema=SCHEMA, rows=rows, bytes=10 * len(files))

    def merge(
        self, held: Work, path: str, rows: list[Row], following: Following, increment: Increment | None
    ) -> SnapshotContent:
        assert increment is not None
        alive = [row for row in rows if not row[2]]
        changes = self.write(f"{path}/changes", self.split(rows))
        keys = {row[0] for row in rows}
        kept: list[int] = []
        rewritten: list[Row] = []
        manifest = None
        if following.extended is not None:
            base = Increments(self.world.ledger, held.claim).table(following.extended)
            manifest = base.manifest
            for position, file in enumerate(base.content.paths):
                if any(row[0] in keys for row in self.files[file]):
                    rewritten += [row for row in self.files[file] if row[0] not in keys]
                else:
                    kept.append(position)
        content = self.write(f"{path}/table", [rewritten, alive])
        return msgspec.structs.replace(
            content,
            path=path,
            files=tuple(msgspec.structs.replace(each, name=f"table/{each.name}") for each in content.files),
            increment=msgspec.structs.replace(
                increment,
                manifest=manifest,
                kept=tuple(kept) if following.extended is not None else None,
                changes=tuple(msgspec.structs.replace(each, name=f"changes/{each.name}") for each in changes.files),
            ),
        )

    def remember(self, held: Work, following: Following, rows: list[Row]) -> None:
        """Write down what a computation from scratch gives for the snapshot that was just inserted."""
        assert isinstance(held.task, RippleTask)
        (found,) = self.world.rows("SELECT id FROM snapshots WHERE execution = :id", id=held.claim.execution)
        made = int(str(found["id"]))
        pins = ripple_inputs(held.claim.inputs).snapshots
        name, mode = held.claim.node, held.task.definition.mode
        if name in ("mid", "end"):
            pin = pins["raw" if name == "mid" else "mid"]
            assert pin is not None
            self.truth[made] = self.truth[pin]
        elif mode == "replace" or following.extended is None:
            self.truth[made] = table(rows)
        elif mode == "append":
            self.truth[made] = self.truth[following.extended] + table(rows)
        else:
            self.truth[made] = merged(self.truth[following.extended], rows)

    def check(self) -> None:
        """Every Pond shows what a computation from scratch would: now, and at every moment that can still be read."""
        with self.world.ledger.reading() as tx:
            for each in ponds(tx, 1):
                runs = [snapshots.current_run(tx, each.id)]
                with suppress(NotThere):
                    runs.append(run_then(tx, each, AsOf(at=self.random.randint(0, tx.now))))
                for run in runs:
                    given = {} if run is None else snapshots.outputs(tx, run)
                    loaded = snapshots.load(tx, [output.snapshot for output in given.values()])
                    for identity, row in loaded.items():
                        rows = [one for path in row.content.paths for one in self.files[path]]
                        assert table(rows) == self.truth[identity], f"{each.key} shows other rows than it should"
                        assert row.content.rows == sum(self.truth[identity].values())

"""A Pond that has taken files of a folder."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from pondage.connect.landing.asked import PREFIX
from pondage.connect.landing.decision import Decision, Folder
from pondage.connect.landing.taken_lists import Entry, write
from pondage.kernel.demand.events import Pulse
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import Written
from tests.ledger.harness import SECOND, World, content, pond


def with_files(world: World, root: Path, *, left: int = 0, has_other: bool = False) -> None:
    """A Pond that has taken two files of a folder, in which a third one waits; it says that it has left so many.

    With `has_other` it has taken `z.csv` of another folder, too.
    """
    folder = root / "landing"
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(("a.csv", "b.csv", "c.csv")):
        (folder / name).write_text("x")
        os.utime(folder / name, (number + 1, number + 1))
    world.deploy(msgspec.structs.replace(pond("trips"), mode="append"), project="trips")
    world.send(Pulse(pond="trips@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    path = f"{root}/data/d1/r1/t1"
    _, lists = write(
        f"{root}/data/d1/taken",
        [
            Entry(path="a.csv", size=1, modified=1_000_000),
            Entry(path="b.csv", size=1, modified=2_000_000, state="aside", why="the column id is missing"),
        ],
        (),
        run="r1",
    )  # fmt: skip
    decision = Decision(folder=Folder(path=str(folder)), schema="{}", lists=lists)
    decisions = {f"{PREFIX}landing": decision}
    if has_other:
        _, more = write(f"{root}/data/d1/taken", [Entry(path="z.csv", size=1, modified=1)], ())
        lists += more
        decisions[f"{PREFIX}other"] = msgspec.structs.replace(decision, lists=more)
    world.clock.time += SECOND
    written = msgspec.structs.replace(
        content(held),
        path=path,
        positions={name: msgspec.json.encode(each).decode() for name, each in decisions.items()},
        lists=tuple(each.name for each in lists),
        left=left,
    )
    assert guarded.commit(world.ledger, held, Written(written), process=worker.id)

"""What a Pond has taken of its folders, as somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.errors import NotFound
from pondage.kernel.demand.events import Pulse
from pondage.ledger.data import landed
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.operations import landed_files, ponds
from tests.ledger.harness import World, pond
from tests.operations.calling import Here
from tests.operations.landing import with_files


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(lambda clock: SqliteDriver(tmp_path / "ledger.db", clock))
    yield made
    made.ledger.close()


@pytest.fixture
def asked(world: World, tmp_path: Path) -> Here:
    with_files(world, tmp_path)
    return Here(world.ledger)


def test_files_are_listed_with_what_became_of_them_and_what_waits(asked: Here) -> None:
    (folder,) = asked.ask(landed_files.files_list, pond="trips").folders
    assert folder.counts == {"taken": 1, "aside": 1, "waiting": 1}
    assert [(each.path, each.state, each.run, each.why) for each in folder.files] == [
        ("c.csv", "waiting", "", ""),
        ("b.csv", "aside", "r1", "the column id is missing"),
        ("a.csv", "taken", "r1", ""),
    ]
    (folder,) = asked.ask(landed_files.files_list, pond="trips", path="a.c").folders
    assert [each.path for each in folder.files] == ["a.csv"]


def test_a_forgotten_file_is_told_to_the_next_run_once(asked: Here, world: World) -> None:
    assert asked.ask(landed_files.files_forget, pond="trips", paths=["a.csv"]).paths == ("a.csv",)
    with world.ledger.reading() as tx:
        dataset = tx.one("SELECT id FROM datasets", int)
        last, paths = landed.forgotten(tx, dataset, after=0)
        assert paths == ("a.csv",)
        assert landed.forgotten(tx, dataset, after=last) == (last, ())


@pytest.mark.parametrize(("left", "words"), [(1, "1 file behind"), (41, "41 files behind")])
def test_a_run_that_leaves_files_is_followed_at_once_and_why_says_how_many(
    world: World, tmp_path: Path, left: int, words: str
) -> None:
    with_files(world, tmp_path, left=left)
    held = world.worker().claim()
    assert held is not None, "nobody asked again, and the next Run is there"
    (sentence,) = [each.text for each in Here(world.ledger).ask(ponds.why, name="trips").gates if "behind" in each.text]
    assert words in sentence


def test_a_file_of_one_folder_is_forgotten_though_the_ripple_reads_another_one_too(
    world: World, tmp_path: Path
) -> None:
    with_files(world, tmp_path, has_other=True)
    asked = Here(world.ledger)
    assert asked.ask(landed_files.files_forget, pond="trips", paths=["a.csv"]).paths == ("a.csv",)
    assert asked.ask(landed_files.files_forget, pond="trips", paths=["z.csv"]).paths == ("z.csv",)


def test_what_was_never_taken_cannot_be_forgotten(asked: Here) -> None:
    with pytest.raises(NotFound, match=r"has taken no file c\.csv"):
        asked.ask(landed_files.files_forget, pond="trips", paths=["a.csv", "c.csv"])


def test_a_pond_that_reads_no_folder_says_so(world: World) -> None:
    world.deploy(pond("plain"), project="p")
    with pytest.raises(NotFound, match="has taken no files"):
        Here(world.ledger).ask(landed_files.files_list, pond="plain")


def test_a_list_is_kept_while_a_snapshot_or_an_open_run_names_it(asked: Here, world: World) -> None:
    with world.ledger.reading() as tx:
        name = tx.one("SELECT name FROM snapshot_lists", str)
        assert landed.kept(tx, ":a, :b", {"a": name, "b": "l-other"}) == [name]
    world.pass_time(5)
    world.send(Pulse(pond="trips@1"))
    with world.ledger.transaction() as tx:
        run = tx.one("SELECT max(id) FROM runs", int)
        tx.write(
            "INSERT INTO decisions (run, node, name, value) VALUES (:run, 'trips', :name, :value)",
            name="files:x",
            run=run, value='{"lists": [{"name": "l-other"}]}',
        )  # fmt: skip
        assert sorted(landed.kept(tx, ":a, :b", {"a": name, "b": "l-other"})) == sorted([name, "l-other"])

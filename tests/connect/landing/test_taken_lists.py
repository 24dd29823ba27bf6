"""Lists of taken files: nothing is forgotten, nothing is taken twice, and few lists say it all."""

from __future__ import annotations

import os
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from pondage.connect.landing import taken_lists
from pondage.connect.landing.decision import Folder, List
from pondage.connect.landing.listing import LandedFile, folder_values, look, matcher
from pondage.connect.landing.taken_lists import Entry, Taken, entries, write
from pondage.errors import PondageError


def taken(path: str, size: int = 1, modified: int = 1) -> Entry:
    return Entry(path=path, size=size, modified=modified)


def file(path: str, size: int = 1, modified: int = 1) -> LandedFile:
    return LandedFile(path=path, size=size, modified=modified)


@pytest.mark.parametrize("seed", range(20))
def test_any_sequence_of_batches_is_known_file_by_file_in_few_lists(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    known: dict[str, LandedFile] = {}
    lists: tuple[List, ...] = ()
    for number in range(40):
        added = {f"f{chance.randrange(60)}": chance.randrange(3) for _ in range(chance.randrange(1, 9))}
        batch, lists = write(str(tmp_path), [taken(name, modified=when) for name, when in added.items()], lists)
        assert {each.path for each in taken_lists.read(str(tmp_path), batch.name)} == set(added)
        known |= {name: file(name, modified=when) for name, when in added.items()}
        if number % 8 == 0:
            found = Taken(str(tmp_path), lists)
            assert not any(found.is_new(each) or found.is_replaced(each) for each in known.values())
            assert all(found.is_replaced(file(each.path, modified=each.modified + 5)) for each in known.values())
            assert found.is_new(file("never"))
    assert {name: each.modified for name, each in entries(str(tmp_path), lists).items()} == {
        name: each.modified for name, each in known.items()
    }
    assert len(lists) <= 8


def test_one_file_more_writes_one_line_however_many_are_known(tmp_path: Path) -> None:
    _, lists = write(str(tmp_path), [taken(f"f{number}") for number in range(20_000)], ())
    before = {each.name for each in tmp_path.iterdir()}
    _, more = write(str(tmp_path), [taken("one")], lists)
    (new,) = (each for each in tmp_path.iterdir() if each.name not in before)
    assert (new / taken_lists.FILE).stat().st_size < 4_000
    assert more[:-1] == lists


def test_a_hundred_thousand_known_files_are_read_once_and_cost_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lists = write(str(tmp_path), [taken(f"day=2026-03-01/f{number}") for number in range(100_000)], ())
    _, lists = write(str(tmp_path), [taken("one")], lists)
    rows: list[int] = []
    real = taken_lists._batches

    def counted(*asked: Any) -> Any:
        for batch in real(*asked):
            rows.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(taken_lists, "_batches", counted)
    tracemalloc.start()
    found = Taken(str(tmp_path), lists)
    kept, _ = tracemalloc.get_traced_memory()
    for number in range(100_000):
        found.see(f"day=2026-03-01/f{number}")
    found.see("one")
    assert found.gone() == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(rows) == 100_001, "each line is read once, and nothing more when nothing is gone"
    assert kept < 18_000_000, "a million are 180 MB"
    assert peak < 45_000_000, "and the part of a list that is being read"


def test_a_look_keeps_what_is_wanted_and_nothing_of_the_many_that_are_known(tmp_path: Path) -> None:
    for number in range(5_000):
        (tmp_path / f"{number}.csv").touch()
    seen: list[int] = []
    tracemalloc.start()
    found = look(
        Folder(path=str(tmp_path)), now_us=0, wanted=lambda each: each.path == "77.csv", see=lambda _: seen.append(1)
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [each.path for each in found.files] == ["77.csv"]
    assert len(seen) == 5_000
    assert peak < 400_000, "80 bytes for each would be as much"


def test_a_file_that_has_gone_is_told_once_and_known_when_it_comes_back(tmp_path: Path) -> None:
    _, lists = write(str(tmp_path), [taken("a", size=7), taken("b")], ())
    found = Taken(str(tmp_path), lists)
    found.see("b")
    (gone,) = found.gone()
    assert (gone.path, gone.size, gone.modified, gone.state) == ("a", 7, 1, "gone")
    _, lists = write(str(tmp_path), [gone], lists)
    again = Taken(str(tmp_path), lists)
    again.see("b")
    assert again.gone() == []
    assert not again.is_new(file("a", size=7))
    assert not again.is_replaced(file("a", size=7))
    assert again.is_replaced(file("a", size=8))


def test_a_forgotten_file_is_new_again(tmp_path: Path) -> None:
    _, lists = write(str(tmp_path), [taken("a"), taken("b")], ())
    found = Taken(str(tmp_path), lists)
    found.forget(["a", "never"])
    found.see("b")
    assert found.gone() == []
    assert found.is_new(file("a"))
    assert not found.is_new(file("b"))
    _, lists = write(str(tmp_path), [Entry(path="b", size=0, modified=0, state="forgotten")], lists)
    assert Taken(str(tmp_path), lists).is_new(file("b"))
    _, lists = write(str(tmp_path), [taken("b")], lists)
    assert not Taken(str(tmp_path), lists).is_new(file("b")), "the last word counts"


@pytest.mark.parametrize(
    ("glob", "path", "is_meant"),
    [
        ("*.csv", "a.csv", True), ("*.csv", "deep/er/a.csv", True), ("*.csv", "a.csv.gz", False),
        ("day=*/*.csv", "day=1/a.csv", True), ("day=*/*.csv", "day=1/x/a.csv", False), ("**/*.csv", "a.csv", True),
        ("**/*.csv", "x/y/a.csv", True), ("a?.csv", "ab.csv", True), ("a[1].csv", "a[1].csv", True),
        ("a[1].csv", "a1.csv", False), ("*", "anything", True),
    ],
)  # fmt: skip
def test_a_pattern_means_names_or_paths(glob: str, path: str, is_meant: bool) -> None:
    assert matcher(glob)(path) == is_meant


def test_folders_say_values_as_hive_writes_them() -> None:
    assert folder_values("day=2026-01-01/region=a%2Fb/x/y.csv") == {"day": "2026-01-01", "region": "a/b"}
    assert folder_values("day=__HIVE_DEFAULT_PARTITION__/y.csv") == {"day": None}
    assert folder_values("plain/y=z.csv") == {}


def test_a_look_passes_over_what_is_hidden_young_or_unmarked_and_gives_the_oldest_first(tmp_path: Path) -> None:
    for name, at in {"b.csv": 20, "a.csv": 30, "_x.csv": 1, ".y.csv": 1, "_tmp/z.csv": 1, "young.csv": 99}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (at, at))
    (tmp_path / "a.csv.ok").touch()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "link.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "deep" / "broken.csv").symlink_to(tmp_path / "nowhere")
    seen = look(Folder(path=str(tmp_path), glob="*.csv", settle_us=10_000_000), now_us=100_000_000)
    assert [each.path for each in seen.files] == ["b.csv", "deep/link.csv", "a.csv"]
    assert seen.settling == ("young.csv",)
    marked = look(Folder(path=str(tmp_path), glob="*", marker="*.ok"), now_us=0)
    assert [each.path for each in marked.files] == ["a.csv"]


def test_a_folder_that_cannot_be_listed_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(PondageError, match="nowhere") as told:
        look(Folder(path=str(tmp_path / "nowhere")), now_us=0)
    assert told.value.code == "NO_FILE"


def test_a_folder_inside_that_may_not_be_read_is_told_and_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    real = os.scandir

    def scandir(place: Path) -> Any:
        if Path(place).name == "closed":
            raise PermissionError(13, "Permission denied", str(place))
        return real(place)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PondageError, match=r"cannot be listed.*closed") as told:
        look(Folder(path=str(tmp_path)), now_us=0)
    assert told.value.code == "NO_FILE"

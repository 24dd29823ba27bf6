from pathlib import Path

import pytest

from pondage.errors import NotFound
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.views.runs.logs import LogsView, locate, read_lines, with_lines
from tests.ledger.harness import World


def located(world: World, subject: str | None = None, ripple: str | None = None) -> LogsView:
    with world.ledger.reading() as tx:
        return locate(tx, "main", subject, ripple=ripple)


def write(warehouse: Path, path: str, text: str) -> None:
    file = warehouse / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as opened:
        opened.write(text)


def test_a_pond_has_the_logs_of_its_newest_run_and_a_ripple_is_chosen(world: World) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    assert [each.ripple for each in located(world, "sales").files] == ["clean", "sales"]
    assert [each.ripple for each in located(world, "sales", "clean").files] == ["clean"]
    assert [each.pond for each in located(world).files] == ["orders@1", "sales@1", "sales@1"]
    run = located(world, "sales").files[0].run
    assert located(world, run).files == located(world, "sales").files


def test_work_that_nobody_claimed_has_no_log(world: World) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    assert located(world, "orders").files == ()


def test_an_unknown_subject_is_not_found(world: World) -> None:
    with pytest.raises(NotFound):
        located(world, "slaes")


def test_lines_have_a_time_and_a_level_and_continuations_have_none(world: World, tmp_path: Path) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    world.worker().drain()
    view = located(world, "orders")
    write(tmp_path, view.files[0].path, "2026-11-15T17:40:01.123Z INFO hello\n  more\n")
    first, second = with_lines(view, tmp_path, most=10).lines
    assert (first.at, first.level, first.text) == (1_794_764_401_123_000, "INFO", "hello")
    assert (second.at, second.level, second.text) == (None, None, "  more")
    assert [each.text for each in with_lines(view, tmp_path, most=1).lines] == ["  more"]
    assert with_lines(view, tmp_path, most=0).lines == ()


def test_reading_goes_on_where_it_stopped_and_waits_for_whole_lines(world: World, tmp_path: Path) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    assert world.worker().claim() is not None
    (file,) = located(world, "orders").files
    assert read_lines(tmp_path, file) == ([], 0)
    write(tmp_path, file.path, "2026-11-15T17:40:01.123Z INFO one\n2026-11-15T17:40:02.000Z INFO tw")
    lines, offset = read_lines(tmp_path, file)
    assert [each.text for each in lines] == ["one"]
    write(tmp_path, file.path, "o\n")
    lines, _ = read_lines(tmp_path, file, offset=offset)
    assert [each.text for each in lines] == ["two"]


def test_a_try_that_said_nothing_has_one_line_of_what_it_wrote(world: World, tmp_path: Path) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    world.worker().drain()
    (file,) = located(world, "orders").files
    (line,), offset = read_lines(tmp_path, file)
    assert (line.level, line.text, line.at) == ("INFO", "wrote 1 rows, 10 bytes", file.claimed_at)
    assert read_lines(tmp_path, file, offset=offset) == ([], offset)


def test_what_only_looks_like_a_time_is_a_continuation(world: World, tmp_path: Path) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    world.worker().drain()
    view = located(world, "orders")
    write(tmp_path, view.files[0].path, "2026-13-45T99:99:99Z INFO printed by an author\n")
    (line,) = with_lines(view, tmp_path, most=10).lines
    assert (line.at, line.level, line.text) == (None, None, "2026-13-45T99:99:99Z INFO printed by an author")

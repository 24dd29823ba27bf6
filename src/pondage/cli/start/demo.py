"""`demo`: the example pipeline from nothing to published data, one step after the other, on the real engine."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

import pondage
from pondage.cli.ask.run import everything_of, tables_of
from pondage.cli.client.desk import Here
from pondage.cli.client.session import session
from pondage.cli.client.settings import Settings, pass_settings, verb
from pondage.cli.follow.answer import ask, print_answer
from pondage.cli.follow.event import find_ponds
from pondage.cli.follow.ponds import pulse_and_follow
from pondage.cli.follow.screen import follow, screen
from pondage.cli.look.why import print_why
from pondage.cli.printing.output import print_table, print_title
from pondage.cli.printing.plan import print_plan
from pondage.cli.start.deploy import deploy_project
from pondage.errors import ProjectError
from pondage.operations import demand, installation, ponds
from pondage.project.project import load_project
from pondage.views.ponds.rhythm import RhythmView
from pondage.views.ponds.show import PondShow, PublishedView
from pondage.views.ponds.status import StatusView
from pondage.views.words import duration_text

OUTLET = "reports"
FIRST_RUN_S = 900.0
"""A machine that is slow to start Spark gets this long; then the demo fails instead of waiting for ever."""
SETTLE_S = 90.0
PUBLISH_S = 30.0


@verb
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), help="Where to copy the example.")
@click.option("--temporary", is_flag=True, help="Use a directory that is deleted at the end.")
@click.option(
    "--seconds", type=click.FloatRange(1, 3600), default=25.0, show_default=True, help="How long the Wave is."
)
@pass_settings
def demo(settings: Settings, into: Path | None, temporary: bool, seconds: float) -> None:
    """Copy the example pipeline (a small shop) and walk through it: deploy, pulse, wave, why, read from outside.

    The copy stays in ./pondage-demo, to look at and to change.
    """
    with _directory(into, is_temporary=temporary) as directory:
        settings.project = directory
        _step(settings, 1, f"The example is a small shop. It is copied to {directory}")
        if not copy_example(directory):
            click.echo("it is there already and is used as it is")
        with session(settings) as opened:
            _step(settings, 2, "Deploy: the Ponds and their code go into the ledger. Nothing runs yet: nobody asks.")
            near = Here(opened)
            print_plan(settings, deploy_project(near))
            with near.workers():
                _walk(settings, near, seconds)
        _next(settings, directory, is_temporary=temporary)


@contextmanager
def _directory(into: Path | None, *, is_temporary: bool) -> Iterator[Path]:
    if not is_temporary:
        yield (into or Path("pondage-demo")).absolute()
        return
    with tempfile.TemporaryDirectory(prefix="pondage-demo-", ignore_cleanup_errors=True) as name:
        yield Path(name) / "shop"


def _walk(settings: Settings, near: Here, seconds: float) -> None:
    key = find_ponds(near, (OUTLET,))[0]
    _step(settings, 3, f"Pulse {OUTLET}: be as fresh as now. Everything it needs runs first, once. (Spark starts too.)")
    view = pulse_and_follow(settings, near, key, timeout_s=FIRST_RUN_S)
    _step(settings, 4, "The result, asked of the last completed Run:")
    for table in tables_of(near, key):
        print_answer(settings, ask(near, everything_of(table), limit=10))
    _step(settings, 5, f"A Wave for {seconds:g} s: {OUTLET} wants more as soon as it has some.")
    _wave(settings, near, key, seconds)
    _step(settings, 6, "Why does a Pond not run?")
    idle = _idle_pond(view)
    click.echo(f"$ pondage why {idle}")
    print_why(settings, near.ask(ponds.why, name=idle))
    _step(settings, 7, "Other programs read the published table by its stable name. DuckDB, for example:")
    _read_outside(settings, near, key)


def _wave(settings: Settings, near: Here, key: str, seconds: float) -> None:
    since = near.ask(installation.about).at
    near.ask(demand.wave, pond=key, pacing="eager")
    with screen(settings) as shown:
        follow(near, shown, lambda _: False, timeout_s=seconds)
        until = near.ask(installation.about).at
        # Not only calm: what the Wave asked of the Sources is taken back too, so that the demo can end.
        near.ask(demand.sleep, pond=key, upstream=True)
        follow(near, shown, _is_quiet, timeout_s=SETTLE_S)
    print_rhythm(settings, near.ask(ponds.rhythm, since=since, until=until))


def _is_quiet(view: StatusView) -> bool:
    return not any(pond.active for pond in view.ponds)


def print_rhythm(settings: Settings, view: RhythmView) -> None:
    """Print how every Pond settled on the slowest one's rhythm."""
    if view.bottleneck is None:
        click.echo("no Run began and completed in this time; try: pondage demo --seconds 60")
        return
    columns = ("POND", "RUNS", "TIME BETWEEN RUNS", "SLOWEST RIPPLE")
    print_table(
        settings,
        columns,
        [
            (
                f"{pond.key} (the slowest)" if pond.key == view.bottleneck else pond.key,
                str(pond.runs),
                "-" if pond.mean_period_us is None else duration_text(pond.mean_period_us),
                "-" if pond.pace_us is None else duration_text(pond.pace_us),
            )
            for pond in view.ponds
        ],
        numbers=columns[1:],
    )
    ran = sum(pond.runs for pond in view.ponds)
    click.echo(
        f"In {duration_text(view.until - view.since)} these Ponds ran {ran} times: as often as the slowest could use.\n"
        "What a schedule would have done instead: pondage simulate"
    )


def _idle_pond(view: StatusView) -> str:
    """Answer a Pond that is worth asking about: one with a window, which nobody can hurry."""
    names = [pond.name for pond in view.ponds if pond.state == "idle"]
    return "products" if "products" in names or not names else names[0]


def _read_outside(settings: Settings, near: Here, key: str) -> None:
    published = _published(near, key)
    if published is None:
        click.echo(f"the outbox has not published the newest snapshot yet; look later: pondage show {OUTLET}")
        return
    link = near.warehouse / (published.link or published.stable)
    try:
        import duckdb
    except ImportError:
        click.echo(f"DuckDB is not installed. The table is here: {link}")
        click.echo("  try: pip install duckdb, and then the same command again")
        return
    question = "SELECT country, round(sum(amount), 2) AS amount FROM {} GROUP BY country ORDER BY amount DESC"
    files = f"{link}/*.parquet"
    click.echo(question.format(f"'{files}'"))
    with duckdb.connect() as connection:
        found = connection.execute(question.format("read_parquet(?)"), [files]).fetchall()
    print_table(
        settings, ("country", "amount"), [tuple(str(value) for value in row) for row in found], numbers=("amount",)
    )


def _published(near: Here, key: str) -> PublishedView | None:
    """Wait until the outbox has let the stable name show the newest snapshot; None when it takes too long."""

    class Current(msgspec.Struct):
        snapshot: str

    changes = near.changes()
    deadline = time.monotonic() + PUBLISH_S
    while True:
        shown = near.ask(ponds.show, subject=key)
        assert isinstance(shown, PondShow), key
        published = next((each.published for each in shown.ripples if each.is_outlet), None)
        if published is not None:
            file = near.warehouse / published.stable
            if file.is_file() and msgspec.json.decode(file.read_bytes(), type=Current).snapshot == published.snapshot:
                return published
        if time.monotonic() >= deadline:
            return None
        changes.wait(0.5)


def _step(settings: Settings, number: int, text: str) -> None:
    print_title(f"{number}. {text}", settings)


def _next(settings: Settings, directory: Path, *, is_temporary: bool) -> None:
    print_title("Next", settings)
    if is_temporary:
        click.echo("  pondage demo                  the same in a directory that stays")
        click.echo("  pondage init my_project       start your own")
        return
    click.echo(f"  cd {_shown(directory)}")
    click.echo(
        "  pondage dev                   run it (in a second terminal), with a page to look at: http://127.0.0.1:8642"
    )
    click.echo(f"  pondage run {OUTLET}           ask for fresh data")
    click.echo("  pondage status                watch it")
    click.echo("  pondage tide reports 1m       never staler than a minute")
    click.echo("  pondage show sales            a Pond in full; its code is in ponds/sales.py")


def _shown(directory: Path) -> str:
    return str(directory.relative_to(Path.cwd())) if directory.is_relative_to(Path.cwd()) else str(directory)


_LEFT_BEHIND = ("__pycache__", ".pondage", "spark-warehouse", "metastore_db", ".pytest_cache")


def example_directory(name: str = "retail") -> Path:
    """Answer the example: inside the installed package, or in the checkout that this code runs from."""
    package = Path(pondage.__file__).parent
    for place in (package / "examples" / name, package.parent.parent / "examples" / name):
        if (place / "pondage.toml").is_file():
            return place
    known = sorted(each.parent.name for each in (package.parent.parent / "examples").glob("*/pondage.toml"))
    known = known or sorted(each.parent.name for each in (package / "examples").glob("*/pondage.toml"))
    raise ProjectError(
        f"the example {name!r} is not in this installation",
        hint=f"there are: {', '.join(known)}" if known else "pip install --force-reinstall pondage",
        code="NO_EXAMPLE",
    )


def copy_example(target: Path, name: str = "retail") -> bool:
    """Copy the example into a directory; answer False when it is there already, which is then left as it is.

    Raises `ProjectError` when something else is in the directory.
    """
    source = example_directory(name)
    if (target / "pondage.toml").is_file() and _is_same_project(target, source):
        return False
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ProjectError(
            f"{target} exists and is not the example {name!r}", hint="name a directory that is not there", code="EXISTS"
        )
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_LEFT_BEHIND))
    return True


def _is_same_project(target: Path, source: Path) -> bool:
    return load_project(target).name == load_project(source).name

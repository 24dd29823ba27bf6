"""A newer major version is deployed, and nobody who reads the older one notices."""

from pathlib import Path

import pytest

from pondage.cli.client.session import open_ledger
from pondage.ledger.step.reactor_ponds import followed
from pondage.ledger.tables import actors, reactors
from pondage.project.project import load_project
from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers

EVENTS = """
from pondage import pond

@pond
def events(spark):
    return spark.range(3)
"""
BY_KIND = """
@pond(version="{version}")
def by_kind(events):
    return events{how}
"""
BOARD = """
@pond{given}
def board(by_kind):
    return by_kind
"""


def write(project: Path, *versions: str, given: str = "") -> None:
    """Declare these versions of `by_kind`, each in a file of its own, and what reads it."""
    for each in project.joinpath("ponds").glob("*.py"):
        each.unlink()
    project.joinpath("ponds").mkdir(exist_ok=True)
    (project / "ponds" / "shop.py").write_text(EVENTS + BOARD.format(given=given))
    for version in versions:
        how = "" if version < "2" else ".limit(1)"
        text = "from pondage import pond\n" + BY_KIND.format(version=version, how=how)
        (project / "ponds" / f"by_kind_{version[0]}.py").write_text(text)


@pytest.fixture
def shop(project: Path, workers: FakeWorkers, call: Call) -> Path:
    write(project, "1.0.0")
    assert call("deploy").code == 0
    assert call("run", "board").code == 0
    return project


def test_a_major_that_left_the_files_stays_deployed_with_its_own_code(shop: Path, call: Call) -> None:
    write(shop, "2.0.0")
    said = call("plan")
    assert said.code == 0, said.err
    assert "by_kind@1 kept for board (pondage deploy --remove by_kind@1 ends it)" in said.out
    assert "board reads by_kind@1; @2 exists: write `by_kind>=2`" in said.out
    assert call("deploy").code == 0
    assert call("run", "board").code == 0, "by_kind@1 goes on"
    ledger = open_ledger(load_project(shop))
    with ledger.reading() as tx:
        codes = dict(
            tx.rows(
                """SELECT p.name || '@' || p.major AS key, d.body AS body FROM ponds p
                   JOIN definitions d ON d.id = p.definition WHERE p.removed_at IS NULL""",
                tuple[str, dict[str, object]],
            )
        )
        archives = dict(tx.rows("SELECT digest, length(data) AS size FROM archives", tuple[str, int]))
    ledger.close()
    assert codes["by_kind@1"]["archive"] != codes["by_kind@2"]["archive"]
    assert archives[str(codes["by_kind@1"]["archive"])]
    assert "nothing to deploy" in call("deploy").out
    ended = call("deploy", "--remove", "by_kind@1")
    assert ended.code == 0, ended.err
    assert "- by_kind@1 removed" in ended.out
    why = call("why", "board").out
    assert "It is blocked: by_kind@1 above it is not deployed." in why, "its name alone means by_kind@2 now"
    assert "try: pondage plan" in why, "which says how to move"
    assert "blocked by by_kind@1" in " ".join(call("status", "--once").out.split())


def test_a_reader_that_moves_is_shown_and_takes_the_older_major_along(shop: Path, call: Call) -> None:
    write(shop, "2.0.0")
    call("deploy")
    write(shop, "2.0.0", given='(sources={"by_kind": ">=2"})')
    said = call("deploy")
    assert said.code == 0, said.err
    assert "reads by_kind@1 → @2" in said.out
    assert "- by_kind@1 removed" in said.out


def test_a_major_is_kept_for_a_trigger_that_somebody_set(shop: Path, call: Call) -> None:
    write(shop, "1.0.0", given='(sources={"by_kind": ">=2"})')
    call("tide", "by_kind", "1h")
    write(shop, "2.0.0", given='(sources={"by_kind": ">=2"})')
    assert "by_kind@1 kept for its tide (" in call("plan").out


def test_a_major_is_kept_for_what_was_promoted(shop: Path, call: Call) -> None:
    source = shop / "ponds" / "by_kind_1.py"
    source.write_text(source.read_text().replace("return events", "return events.limit(5)"))
    assert call("deploy", "by_kind", "--env", "dev").code == 0
    assert call("run", "by_kind", "--env", "dev").code == 0
    promoted = call("promote", "by_kind", "--env", "dev", "--deploy")
    assert promoted.code == 0, promoted.err
    write(shop, "2.0.0", given='(sources={"by_kind": ">=2"})')
    assert "by_kind@1 kept for what dev promoted" in call("plan").out


REACTOR = """
from pondage import Accumulator, Fire, Reactor, SnapshotRef, Source

heard = Accumulator.pond("heard", Source("by_kind"{minimum}))
quote = Reactor("quote", sources=[heard])


@quote.graph
def note(heard: SnapshotRef | None, fire: Fire) -> None:
    pass
"""


def test_a_reactor_stays_on_the_major_that_it_heard_of_when_it_was_deployed(shop: Path, call: Call) -> None:
    def heard() -> list[str]:
        ledger = open_ledger(load_project(shop))
        with ledger.reading() as tx:
            identity = actors.environment(tx, "main")
            assert identity is not None
            row = reactors.find(tx, identity, "quote")
            assert row is not None
            (source,) = followed(tx, identity, row.declaration, {})
        ledger.close()
        return [run.id for run in source.runs]

    def declare(minimum: str = "") -> None:
        write(shop, "2.0.0", given='(sources={"by_kind": ">=2"})')
        (shop / "ponds" / "quote.py").write_text(REACTOR.format(minimum=minimum))

    (shop / "ponds" / "quote.py").write_text(REACTOR.format(minimum=""))
    assert call("deploy").code == 0
    before = heard()
    assert len(before) == 1
    declare()
    said = call("deploy")
    assert said.code == 0, said.err
    assert "by_kind@1 kept for reactor quote" in said.out
    assert 'reactor quote reads by_kind@1; @2 exists: write `Source("by_kind", ">=2")`' in said.out
    assert "is removed" not in said.out
    assert call("run", "by_kind@2").code == 0
    assert heard() == before, "what another major publishes is not what it reads"
    declare(', ">=2"')
    said = call("deploy")
    assert "reactor quote 1.0.0 changed (reads by_kind@1 → @2)" in said.out
    assert "- by_kind@1 removed" in said.out
    assert len(heard()) == 1
    assert heard() != before
    said = call("rollback")
    assert "reactor quote 1.0.0 changed (reads by_kind@2 → @1)" in said.out
    assert heard() == [], "by_kind@1 begins anew"


def test_a_major_is_kept_for_a_reader_in_an_environment_below(shop: Path, call: Call) -> None:
    (shop / "ponds" / "top.py").write_text("from pondage import pond\n\n@pond\ndef top(by_kind):\n    return by_kind\n")
    assert call("deploy", "top", "--env", "dev").code == 0
    (shop / "ponds" / "top.py").unlink()
    write(shop, "2.0.0", given='(sources={"by_kind": ">=2"})')
    assert "by_kind@1 kept for top in dev" in call("plan").out


def test_an_environment_below_reads_a_kept_major_from_above(shop: Path, call: Call) -> None:
    write(shop, "2.0.0")
    call("deploy")
    text = (shop / "ponds" / "shop.py").read_text()
    (shop / "ponds" / "shop.py").write_text(text.replace("return by_kind", "return by_kind.limit(9)"))
    said = call("deploy", "--env", "dev")
    assert said.code == 0, said.err
    assert "not deployed" not in said.out
    shown = call("env", "show", "dev", "--json").json["ponds"]
    assert ("by_kind@1", False) in [(each["key"], each["is_own"]) for each in shown]
    assert call("run", "board", "--env", "dev").code == 0


def test_a_rollback_brings_back_what_was_there_and_binds_nobody_anew(shop: Path, call: Call) -> None:
    write(shop, "1.0.0", "2.0.0", given='(sources={"by_kind": ">=2"})')
    call("deploy")
    write(shop, "2.0.0", given='(sources={"by_kind": ">=2"})')
    assert "- by_kind@1 removed" in call("deploy").out
    said = call("rollback")
    assert said.code == 0, said.err
    said = call("rollback")
    assert said.code == 0, said.err
    assert "reads by_kind@2 → @1" in said.out
    assert {pond["key"] for pond in call("status", "--once", "--json").json["ponds"]} >= {"by_kind@1", "board@1"}


def test_the_major_is_named_wherever_there_is_more_than_one(shop: Path, call: Call, workers: FakeWorkers) -> None:
    assert "by_kind@1" not in call("why", "board").out
    assert "by_kind.by_kind" in call("show", "board").out
    write(shop, "1.0.0", "2.0.0")
    assert call("deploy").code == 0
    workers.failing.add("by_kind")
    assert call("run", "board").code == 1
    assert "by_kind@1 above it failed" in call("why", "board").out
    assert "pondage why by_kind@1" in call("why", "board").out
    waiting = {pond["key"]: pond["next"]["text"] for pond in call("status", "--once", "--json").json["ponds"]}
    assert waiting["board@1"].startswith("blocked by by_kind@1")
    assert "pondage logs by_kind@1" in waiting["by_kind@1"]
    shown = call("show", "board").out
    assert "by_kind@1.by_kind" in shown
    assert "`by_kind@1`" in call("show", "by_kind@1").out
    assert "by_kind@1.by_kind" in call("lineage", "board").out


def test_a_question_names_a_major_and_is_told_which_one_a_name_means(
    shop: Path, call: Call, workers: FakeWorkers
) -> None:
    write(shop, "1.0.0", "2.0.0")
    call("deploy")
    assert "note:" not in call("query", "select * from by_kind").err, "only one has published"
    assert call("run", "by_kind@2").code == 0
    said = call("query", "select * from by_kind")
    assert "note: by_kind is by_kind@2 here; `by_kind@1` can be asked for by that name" in said.err
    named = call("query", "select 'by_kind@2' from by_kind@1")
    assert named.code == 0, named.err
    assert workers.queries[-1] == "select 'by_kind@2' from `by_kind@1`"
    assert "note:" not in named.err
    assert len(workers.views[-1]) == 1
    assert workers.views[-1] != workers.views[-2]
    past = call("query", "--as-of", "board#1", "select * from by_kind", "--json")
    assert past.code == 0, past.err
    assert workers.views[-1] == workers.views[-2], "what board#1 has read"
    assert call("query", "--pulse", "select * from by_kind@1").code == 0
    runs = call("runs", "--json").json["runs"]
    assert ("by_kind@1", 2) in [(run["pond"], run["number"]) for run in runs]


def test_a_pond_that_is_added_again_says_where_its_history_is(shop: Path, call: Call, workers: FakeWorkers) -> None:
    text = (shop / "ponds" / "shop.py").read_text()
    (shop / "ponds" / "shop.py").write_text(EVENTS)
    assert "- board@1 removed" in call("deploy").out
    (shop / "ponds" / "shop.py").write_text(text)
    said = call("deploy")
    assert (
        "board@1 was removed before: it begins anew, and `pondage runs board@1` also lists its earlier Runs" in said.out
    )
    assert call("run", "board").code == 0
    listed = call("runs", "board", "--json").json["runs"]
    assert [(run["number"], run["removed_at"] is None) for run in listed] == [(1, True), (1, False)]
    assert "before it was removed" in " ".join(call("runs", "board").out.split())
    assert call("show", listed[1]["id"]).code == 0
    assert len(call("runs", "board", "-n", "1", "--json").json["runs"]) == 1
    assert "removed before" not in call("plan").out

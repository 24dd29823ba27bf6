import json
from pathlib import Path

import pytest

from pondage.cli.client.settings import Settings, typed
from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers

PONDS = """
from pondage import pond

@pond
def orders(spark):
    return spark.range(3)

@pond
def sales(orders):
    return orders.where("id >= {least}")

@pond
def report(sales):
    return sales
"""


@pytest.fixture
def shop(project: Path, workers: FakeWorkers, call: Call) -> Path:
    """A project that is deployed and has run in `main`, with a change of `sales` in its files."""
    (project / "ponds.py").write_text(PONDS.format(least=0))
    assert call("deploy").code == 0
    assert call("run", "report").code == 0
    (project / "ponds.py").write_text(PONDS.format(least=1))
    return project


def test_only_what_differs_and_what_reads_it_goes_to_an_environment_below(shop: Path, call: Call) -> None:
    plan = call("plan", "--env", "dev", "--json").json
    assert [pond["key"] for pond in plan["ponds"]] == ["report@1", "sales@1"]
    assert (plan["parent"], plan["borrowed"]) == ("main", ["orders@1"])
    said = call("deploy", "--env", "dev")
    assert said.code == 0, said.err
    assert "read from main: orders@1" in said.out
    assert "from main" in call("status", "--once", "--env", "dev").out
    shown = call("env", "show", "dev", "--json").json
    assert [(each["key"], each["is_own"], each["read_from"]) for each in shown["ponds"]] == [
        ("orders@1", False, "main"),
        ("report@1", True, "main"),
        ("sales@1", True, "main"),
    ]
    assert "(from main)" in call("show", "sales", "--env", "dev").out


def test_one_pond_is_changed_below_and_promoted(shop: Path, call: Call) -> None:
    assert call("deploy", "sales", "--env", "dev").code == 0
    said = call("run", "sales", "--env", "dev")
    assert said.code == 0, said.err
    listed = call("env", "list", "--json").json["environments"]
    assert [(each["name"], each["parent"], each["own"], each["borrowed"]) for each in listed] == [
        ("dev", "main", 1, 1),
        ("main", None, 3, 0),
    ]
    assert "shows main orders#1" in call("runs", "orders", "--env", "dev").out
    assert "It shows what main has published" in call("why", "orders", "--env", "dev").out
    refused = call("promote", "sales", "--env", "dev")
    assert refused.code == 1
    assert "error[OTHER_CODE]" in refused.err
    promoted = call("promote", "sales", "--env", "dev", "--deploy")
    assert promoted.code == 0, promoted.err
    assert "sales@1#1 of dev: main shows it now" in promoted.out
    assert "shows dev sales#1" in call("runs", "sales").out
    assert "which was promoted" in call("why", "sales").out


def test_a_command_that_is_proposed_means_the_environment_that_was_asked_about(
    shop: Path, workers: FakeWorkers, call: Call
) -> None:
    call("deploy", "sales", "--env", "dev")
    workers.failing.add("sales")
    failed = call("run", "sales", "--env", "dev")
    assert "try: pondage --env dev logs sales, and when it is mended: pondage --env dev deploy && pondage" in failed.err
    assert "try: pondage --env dev logs sales\n" in call("why", "sales", "--env", "dev").out
    status = " ".join(call("--env", "dev", "status", "--once").out.split())
    assert "look: pondage --env dev logs sales; then: pondage --env dev clear sales" in status
    text = "pondage env list, or: pondage dev, or: pondage run sales"
    assert typed(text, given("dev")) == "pondage env list, or: pondage dev, or: pondage --env dev run sales"
    assert typed("pondage run sales --env main", given("dev")) == "pondage run sales --env main"


def given(environment: str) -> Settings:
    settings = Settings()
    settings.environment = environment
    return settings


def schema(*columns: str) -> str:
    fields = [{"name": each, "type": "long", "nullable": True, "metadata": {}} for each in columns]
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))


def test_a_renamed_column_cannot_be_promoted_without_a_new_major(shop: Path, workers: FakeWorkers, call: Call) -> None:
    assert call("deploy", "sales", "--env", "dev").code == 0
    workers.schemas["sales"] = schema("hits")
    assert call("run", "sales", "--env", "dev").code == 0
    before = call("status", "--once", "--json").json["ponds"]
    refused = call("promote", "sales", "--env", "dev", "--deploy")
    assert refused.code == 1
    assert "error[CONTRACT]: sales@1.sales breaks the contract that it has in main" in refused.err
    assert "column n (bigint) was removed" in refused.err
    after = call("status", "--once", "--json").json["ponds"]
    assert [each["version"] for each in after] == [each["version"] for each in before]
    assert "OTHER_CODE" in call("promote", "sales", "--env", "dev").err, "and nothing was deployed there either"
    assert call("deploy").code == 0
    refused = call("promote", "sales", "--env", "dev")
    assert "error[CONTRACT]" in refused.err, "with the same code above as well"
    assert "shows dev sales#1" not in call("runs", "sales").out


def test_a_grown_table_is_promoted(shop: Path, workers: FakeWorkers, call: Call) -> None:
    call("deploy", "sales", "--env", "dev")
    workers.schemas["sales"] = schema("n", "more")
    call("run", "sales", "--env", "dev")
    assert call("promote", "sales", "--env", "dev", "--deploy").code == 0


RENAMED = """
from pondage import Pond

orders = Pond("orders")

@orders.ripple
def {name}(spark):
    return spark.range(3)
"""
READER = """
from pondage import Pond

top = Pond("top")
source = top.source("orders")

@top.ripple(reads={"raw": source["raw"]})
def top_rows(raw):
    return raw
"""


def test_a_deploy_above_by_a_promotion_is_refused_as_a_deploy_there_would_be(
    project: Path, workers: FakeWorkers, call: Call
) -> None:
    (project / "ponds.py").write_text(RENAMED.format(name="raw"))
    call("deploy")
    call("run", "orders")
    reader = project / "reader"
    reader.mkdir()
    (reader / "pondage.toml").write_text(f'[project]\nname = "readers"\nledger = "{project}/.pondage/ledger.db"\n')
    (reader / "ponds.py").write_text(READER)
    (project / "ponds.py").write_text(RENAMED.format(name="other"))
    assert call("deploy", "orders", "--env", "dev").code == 0
    call("run", "orders", "--env", "dev")
    said = call("--project", str(reader), "deploy")
    assert said.code == 0, said.err
    refused = call("promote", "orders", "--env", "dev", "--deploy")
    assert refused.code == 1
    assert "NO_SUCH_RIPPLE" in refused.err
    refused = call("deploy", "orders", "--env", "test")
    assert "NO_SUCH_RIPPLE" in refused.err, "a first deploy below is held against the readers above, too"


def test_an_analysis_knows_the_schemas_above_before_the_environment_exists(
    shop: Path, workers: FakeWorkers, call: Call
) -> None:
    workers.inferred = [
        {"table": "sales@1.sales", "schema": schema("n")},
        {"table": "report@1.report", "schema": schema("n")},
    ]
    said = call("plan", "--analyze", "--env", "new", "--json")
    assert said.code == 0, said.err
    assert workers.known == {
        "orders@1.orders": schema("n"),
        "sales@1.sales": schema("n"),
        "report@1.report": schema("n"),
    }
    states = [each["state"] for pond in said.json["ponds"] for each in pond["schemas"]]
    assert states == ["same", "same"]


def test_an_environment_is_removed_after_a_question(shop: Path, call: Call) -> None:
    call("deploy", "--env", "dev")
    call("run", "report", "--env", "dev")
    assert call("env", "remove", "main", "--yes").code == 1
    assert call("env", "remove", "dev").code != 0, "nobody answered"
    said = call("env", "remove", "dev", "--yes")
    assert said.code == 0, said.err
    assert "removed dev: 2 snapshots" in said.out
    assert [each["name"] for each in call("env", "list", "--json").json["environments"]] == ["main"]
    assert call("show", "sales", "--env", "dev").code == 1


def test_an_environment_in_which_nothing_differs_can_be_read(project: Path, workers: FakeWorkers, call: Call) -> None:
    (project / "ponds.py").write_text(PONDS.format(least=0))
    call("deploy")
    call("run", "report")
    assert "nothing to deploy" in call("deploy", "--env", "dev").out
    shown = call("env", "show", "dev", "--json").json["ponds"]
    assert {each["read_from"] for each in shown} == {"main"}
    assert "it is read from main" in call("show", "sales", "--env", "dev").err


def test_an_environment_can_be_empty_or_below_another_one(shop: Path, call: Call) -> None:
    call("deploy", "--env", "alone", "--empty")
    call("deploy", "--env", "dev")
    (shop / "pondage.toml").write_text('[project]\nname = "shop"\n[environments.mine]\nparent = "dev"\n')
    call("deploy", "--env", "mine")
    call("deploy", "--env", "other", "--from", "dev")
    listed = call("env", "list", "--json").json["environments"]
    assert {each["name"]: each["parent"] for each in listed} == {
        "alone": None, "dev": "main", "main": None, "mine": "dev", "other": "dev",
    }  # fmt: skip
    assert call("deploy", "sales", "--env", "alone").code == 1
    assert call("deploy", "--env", "lost", "--from", "nowhere").code == 1

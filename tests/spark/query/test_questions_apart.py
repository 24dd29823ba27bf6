"""Questions beside Ponds, with real processes: whoever asks stops no work, learns no secret, and waits for nobody long.

One supervisor for the file: it has one worker, and starts a process for questions when the first one comes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pondage.engine.process.config import config_of
from pondage.engine.supervise.dev import attached
from pondage.kernel.demand.events import Tap
from pondage.ledger.act import questions, verbs
from pondage.ledger.act.questions import Answer
from pondage.ledger.ledger import Ledger
from tests.engine.projects import SETTINGS, deploy_project, write_project
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.spark

TOKEN = "hush-7f3a9c-crm"
LIMIT_S = 12.0
PONDS = """
import os
from pondage import pond
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

@F.udf(StringType())
def seen(name):
    return os.environ.get(name)

@pond
def shop(spark, run):
    names = ["CRM_TOKEN", "SHOP_REGION", "PGPASSWORD"]
    frame = spark.createDataFrame([(each, os.environ.get(each)) for each in names], "name string, driver string")
    java = spark._jvm.java.lang.System.getenv
    given = {each: java(each) for each in names}
    return frame.select(
        "name", "driver", seen("name").alias("task"),
        F.lit(len(run.secret("env:CRM_TOKEN"))).alias("length"), F.lit(str(given)).alias("java"),
    )

@pond
def later(spark):
    return spark.range(3)
"""
ENDLESS = "SELECT sum(a.id * b.id % 7) FROM range(0, 100000000000, 1, 64) a CROSS JOIN range(0, 1000000, 1, 1) b"


class Shop:
    """A served project, and its ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def ask(self, sql: str, *, timeout_s: float = PATIENCE_S) -> int:
        return questions.submit(self.ledger, "main", sql, limit=10, timeout_s=timeout_s)

    def answer(self, asked: int) -> Answer:
        answer = self.until(lambda: questions.result(self.ledger, asked))
        assert isinstance(answer, Answer)
        return answer

    def rows(self, sql: str) -> list[list[object]]:
        answer = self.answer(self.ask(sql))
        assert answer.result is not None, answer.failure
        return msgspec.convert(msgspec.json.decode(answer.result)["rows"], list[list[object]])

    def one(self, sql: str, **values: object) -> object:
        with self.ledger.reading() as tx:
            row = tx.row(sql, **values)  # type: ignore[arg-type]
        return None if row is None else next(iter(row.values()))

    def until(self, look: object) -> object:
        changes, deadline_s = self.ledger.driver.changes(), time.monotonic() + PATIENCE_S
        while not (found := look()):  # type: ignore[operator]
            assert time.monotonic() < deadline_s, "it never came true"
            changes.wait(0.5)
        return found

    def run(self, pond: str) -> None:
        verbs.send(self.ledger, "main", Tap(pond=f"{pond}@1"))
        done = "SELECT r.id FROM runs r JOIN ponds p ON p.id = r.pond WHERE p.name = :key AND r.state = 'completed'"
        self.until(lambda: self.one(done, key=pond))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    root = tmp_path_factory.mktemp("apart") / "project"
    text = f'{SETTINGS}[worker]\nworkers = 1\nslots = 1\nenv = ["SHOP_*"]\n[questions]\nslots = 4\nmemory = "600m"\n'
    project = write_project(root, PONDS, text)
    deploy_project(project)
    given = {"CRM_TOKEN": TOKEN, "SHOP_REGION": "eu-7f3a", "PGPASSWORD": "hush-7f3a9c-pg"}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    ledger = config_of(project).open_ledger()
    try:
        with attached(project):
            yield Shop(ledger)
    finally:
        ledger.close()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def test_a_ripple_has_its_secrets_and_the_variables_of_its_project_and_no_others(shop: Shop) -> None:
    shop.run("shop")
    rows = {str(row[0]): row[1:] for row in shop.rows("SELECT name, driver, task, length, java FROM shop")}
    java = "{'CRM_TOKEN': None, 'SHOP_REGION': 'eu-7f3a', 'PGPASSWORD': None}"
    assert rows["CRM_TOKEN"] == [None, None, len(TOKEN), java]
    assert rows["SHOP_REGION"][:2] == ["eu-7f3a", "eu-7f3a"]
    assert rows["PGPASSWORD"][:2] == ["hush-7f3a9c-pg", None], "the ledger's own connection may need it"


def test_a_question_learns_nothing_of_the_process_that_answers_it(shop: Shop) -> None:
    shop.run("shop")
    process = "SELECT pid FROM processes WHERE role = :role AND dead_at IS NULL"
    assert shop.rows("SELECT 1") == [[1]]
    pid = shop.one(process, role="questions")
    assert pid != shop.one(process, role="worker"), "it has a process of its own"
    if Path("/proc/self").exists():
        own = Path(f"/proc/{pid}/environ").read_bytes()
        assert b"hush-7f3a9c-crm" not in own
        assert b"eu-7f3a" not in own, "what authors read is no business of questions"
        assert os.getpriority(os.PRIO_PROCESS, int(str(pid))) >= 10
    assert shop.rows("SELECT current_user(), user(), session_user(), CURRENT_USER") == [["pondage"] * 4]
    marks = ["${env:PATH}", "${system:java.home}", "${spark.app.id}", "${env:CRM_TOKEN}"]
    assert shop.rows("SELECT " + ", ".join(f"'{mark}'" for mark in marks)) == [marks]
    for refused in ("SET", "SET spark.app.id", "SELECT java_method('java.lang.System', 'getenv', 'PATH')",
                    "SELECT reflect('java.lang.System', 'getenv', 'PATH')", "SELECT input_file_name() FROM shop",
                    "SELECT _metadata.file_path FROM shop"):  # fmt: skip
        answer = shop.answer(shop.ask(refused))
        assert answer.failure is not None, refused


def test_three_endless_questions_stop_no_pond_and_a_fourth_is_answered_when_the_first_must_end(shop: Shop) -> None:
    endless = [shop.ask(ENDLESS, timeout_s=LIMIT_S) for _ in range(3)]
    running = "SELECT count(*) FROM executions WHERE claimed_at IS NOT NULL AND completed_at IS NULL"
    shop.until(lambda: shop.one(running) == 3)
    fourth = shop.ask("SELECT 4 AS four")
    shop.run("later")
    assert shop.one("SELECT count(*) FROM executions WHERE outcome = 'crashed'") == 0
    assert shop.answer(fourth).result is not None
    ended = "SELECT closed_at FROM dispatches WHERE id = :id"
    codes = [answer.failure.code for answer in map(shop.answer, endless) if answer.failure is not None]
    assert codes == ["TIMEOUT"] * 3
    first = min(int(str(shop.one(ended, id=each))) for each in endless)
    slack_us = 10_000_000
    assert int(str(shop.one(ended, id=fourth))) <= first + slack_us, "the second and third have not ended by then"
    assert shop.rows("SELECT 1") == [[1]], "and its process goes on"

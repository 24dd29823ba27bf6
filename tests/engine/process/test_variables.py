"""What a worker starts with: the variables that are no secret, and those that the project names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pondage.connect.store_settings import opened, references, variables_named
from pondage.define.project.variables import given
from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.engine.process.questions import for_questions
from pondage.engine.supervise import own_children
from pondage.errors import PondageError
from pondage.ledger.queue.queues import Role
from pondage.project.project import load_project
from pondage.spark.jvm.launch import _changed_environment
from pondage.spark.jvm.settings import SparkSettings
from tests.engine.plain import engine_config

KEPT = {
    "PATH": "/bin", "HOME": "/home/x", "LANG": "C", "LC_ALL": "C", "TZ": "UTC", "TMPDIR": "/t", "JAVA_HOME": "/j",
    "SPARK_HOME": "/s", "PYSPARK_PYTHON": "p", "PYTHONPATH": "a", "https_proxy": "h", "HADOOP_CONF_DIR": "/h",
    "YARN_CONF_DIR": "/y", "KRB5_CONFIG": "/k", "KRB5CCNAME": "/c",
}  # fmt: skip
LEFT = {
    "CRM_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "PONDAGE_TOKEN": "x", "DATABASE_URL": "x", "SPARK_AUTH_SECRET": "x",
    "HADOOP_CREDSTORE_PASSWORD": "x", "GITHUB_TOKEN": "x", "PYTHON_KEYRING_PASSWORD": "x",
}  # fmt: skip


def test_a_worker_has_what_is_known_to_be_no_secret_and_what_its_project_names() -> None:
    assert given(KEPT | LEFT) == KEPT
    assert given(KEPT | LEFT, ("CRM_TOKEN", "AWS_*")) == {
        **KEPT, "CRM_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x",
    }  # fmt: skip


def test_java_does_not_get_what_only_python_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "hush")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "key=hush")
    assert "PGPASSWORD" in given(os.environ)
    assert "hush" not in _changed_environment({"JAVA_HOME": "/j"}).values()


class Spawned:
    """Takes what a child is started with."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.environment: dict[str, str] = {}
        self.config: WorkerConfig | None = None

        def spawn(module: str, config: WorkerConfig, *, environment: dict[str, str], **_: object) -> None:
            self.config, self.environment = config, environment

        monkeypatch.setattr(own_children, "spawn", spawn)

    def start(self, engine: EngineConfig, role: Role = "worker") -> WorkerConfig:
        engine = for_questions(engine) if role == "questions" else engine
        own_children.start_process(WorkerConfig(engine=engine, public_id="p", code="", parent=0, role=role))
        assert self.config is not None
        return self.config


def test_what_is_kept_back_is_told_aside_and_of_a_question_only_what_its_store_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {"CRM_TOKEN": "crm", "STORE_KEY": "store", "SHOP_REGION": "eu"}.items():
        monkeypatch.setenv(name, value)
    spark = SparkSettings(conf={"spark.hadoop.fs.s3a.secret.key": "secret:env:STORE_KEY"})
    spawned, engine = Spawned(monkeypatch), engine_config(tmp_path, spark=spark, env=("SHOP_*",))
    worker = spawned.start(engine)
    assert worker.variables["CRM_TOKEN"] == "crm"
    assert spawned.environment["SHOP_REGION"] == "eu"
    assert not {"CRM_TOKEN", "STORE_KEY"} & spawned.environment.keys()
    asked = spawned.start(engine, "questions")
    assert asked.variables == {"STORE_KEY": "store"}
    assert not {"CRM_TOKEN", "STORE_KEY", "SHOP_REGION"} & spawned.environment.keys()
    assert spawned.environment["SPARK_USER"] == "pondage", "what current_user() says"


def test_a_child_sees_only_the_environment_it_was_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CRM_TOKEN", "hush-7f3a")
    config = WorkerConfig(engine=engine_config(tmp_path), public_id="p", code="", parent=os.getpid())
    child = own_children.start_process(config)
    shown = Path(f"/proc/{child.pid}/environ")
    assert b"hush-7f3a" not in shown.read_bytes() if shown.exists() else True
    child.kill()
    child.wait()
    assert child.stdin is not None
    child.stdin.close()


class Store:
    """Answers secrets."""

    def __getitem__(self, reference: str) -> str:
        return {"env:STORE_KEY": "store", "stored": "kept"}[reference]


def test_credentials_of_a_store_are_settings_that_spark_shows_to_nobody() -> None:
    settings = SparkSettings(conf={
        "spark.hadoop.fs.x.plain": "secret:env:STORE_KEY", "spark.hadoop.fs.y": "secret:stored", "spark.z": "file:/z",
    })  # fmt: skip
    assert references(settings) == {"spark.hadoop.fs.x.plain": "env:STORE_KEY", "spark.hadoop.fs.y": "stored"}
    assert variables_named(settings, "env:KEY") == {"STORE_KEY", "KEY"}
    assert variables_named(settings, "file:/key") == {"STORE_KEY"}
    found = opened(settings, Store()).conf
    assert (found["spark.hadoop.fs.x.plain"], found["spark.hadoop.fs.y"], found["spark.z"]) == (
        "store", "kept", "file:/z",
    )  # fmt: skip
    assert r"|^spark\.hadoop\.fs\.x\.plain$|^spark\.hadoop\.fs\.y$" in found["spark.redaction.regex"]
    plain = SparkSettings(conf={"spark.z": "1"})
    assert opened(plain, Store()) is plain


def test_the_project_file_says_what_workers_and_questions_have(tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text(
        '[worker]\nenv = ["AWS_*"]\n[questions]\ntimeout_s = 5\nslots = 2\nmemory = "512m"\nenv = ["AWS_REGION"]\n'
        "[questions.timeouts]\noperate = 30\n"
    )
    project = load_project(tmp_path)
    assert project.worker.env == ("AWS_*",)
    asked = project.questions
    assert (asked.timeout_s, asked.slots, asked.memory, asked.env) == (5.0, 2, "512m", ("AWS_REGION",))
    assert [asked.limit_s(level) for level in ("demand", "operate", "admin")] == [5.0, 30.0, 5.0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("timeout_s = 0", "questions.timeout_s is 0"),
        ("timeout_s = nan", "questions.timeout_s is nan"),
        ("timeouts = {open = 5}", "questions.timeouts.open is no level that may ask"),
        ("timeouts = {admin = -1}", "questions.timeouts.admin is -1"),
        ('memory = "100m"', "questions.memory is '100m'"),
        ('answer = "much"', "questions.answer is 'much'"),
        ("slots = 0", "questions.slots is 0"),
        ("idle_s = 0", "questions.idle_s is 0"),
    ],
)
def test_a_setting_of_questions_that_means_nothing_is_refused(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "pondage.toml").write_text(f"[questions]\n{line}\n")
    with pytest.raises(PondageError, match=message):
        load_project(tmp_path)

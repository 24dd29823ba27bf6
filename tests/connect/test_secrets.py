"""Secrets: sealed in the ledger, opened by a worker, and never written anywhere in clear."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.cli.main import main
from pondage.connect.secrets import SecretStore
from pondage.connect.vault import SecretError, open_vault
from pondage.define.pond.run import Run
from pondage.engine.attempt.log import AttemptLog
from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors

VALUE = "tr0ub4dor&3 of the lake"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ledger(project: Path) -> Iterator[Ledger]:
    opened = Ledger.open(str(project / ".pondage" / "ledger.db"))
    yield opened
    opened.close()


def put(monkeypatch: pytest.MonkeyPatch, name: str, value: str, *more: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(value + "\n"))
    return main(["secret", "set", name, *more])


def store(ledger: Ledger, project: Path, environment: str = "main") -> SecretStore:
    with ledger.transaction() as tx:
        identity = actors.made_environment(tx, environment)
    return SecretStore(ledger, environment=identity, key=f"file:{project}/.pondage/secret.key")


def test_what_is_set_is_opened_by_its_name_and_the_name_alone_is_listed(
    project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert put(monkeypatch, "db", VALUE) == 0
    assert store(ledger, project)["db"] == VALUE
    assert put(monkeypatch, "db", VALUE * 2, "--json") == 0
    assert store(ledger, project)["db"] == VALUE * 2
    assert main(["secret", "list", "--json"]) == 0
    said = capsys.readouterr()
    assert '"secrets": [\n    "db"\n  ]' in said.out
    assert VALUE not in said.out + said.err
    assert main(["secret", "remove", "db"]) == 0
    assert main(["secret", "remove", "db"]) == 1
    with pytest.raises(SecretError, match="no secret db"):
        store(ledger, project)["db"]


def test_no_file_holds_a_stored_value_and_the_key_is_its_owners_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(monkeypatch, "db", VALUE)
    files = [each for each in project.rglob("*") if each.is_file()]
    assert any(each.name == "ledger.db" for each in files)
    assert [each for each in files if VALUE.encode() in each.read_bytes()] == []
    key = project / ".pondage" / "secret.key"
    assert key.stat().st_mode & 0o777 == 0o600


def test_a_key_that_others_may_read_or_another_key_is_refused(
    project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(monkeypatch, "db", VALUE)
    key = project / ".pondage" / "secret.key"
    key.chmod(0o640)
    with pytest.raises(SecretError) as raised:
        store(ledger, project)["db"]
    assert raised.value.code == "OPEN_KEY"
    key.unlink()
    with pytest.raises(SecretError) as raised:
        store(ledger, project)["db"]
    assert raised.value.code == "NO_KEY"
    open_vault(f"file:{key}", is_created=True)
    with pytest.raises(SecretError) as raised:
        store(ledger, project)["db"]
    assert raised.value.code == "WRONG_KEY"


def test_a_sealed_value_that_is_moved_to_another_name_does_not_open(project: Path) -> None:
    vault = open_vault(f"file:{project}/key", is_created=True)
    sealed = vault.seal(VALUE, environment="main", name="db")
    assert vault.open(sealed, environment="main", name="db") == VALUE
    for environment, name in (("dev", "db"), ("main", "other")):
        with pytest.raises(SecretError):
            vault.open(sealed, environment=environment, name=name)
    assert sealed != vault.seal(VALUE, environment="main", name="db"), "equal values must not look equal"


def test_the_key_may_come_from_a_variable(project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "pondage.toml").write_text('name = "shop"\nsecret_key = "env:SHOP_KEY"\n')
    assert put(monkeypatch, "db", VALUE) == 1
    monkeypatch.setenv("SHOP_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    assert put(monkeypatch, "db", VALUE) == 0
    assert not (project / ".pondage" / "secret.key").exists()
    with ledger.reading() as tx:
        identity = actors.environment(tx, "main")
    assert identity is not None
    assert SecretStore(ledger, environment=identity, key="env:SHOP_KEY")["db"] == VALUE


def test_environments_have_secrets_of_their_own(project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "db", VALUE)
    put(monkeypatch, "db", "another one", "--env", "dev")
    assert store(ledger, project)["db"] == VALUE
    assert store(ledger, project, "dev")["db"] == "another one"


def test_variables_and_files_are_references_too(project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = store(ledger, project)
    monkeypatch.setenv("DB_PASSWORD", VALUE)
    (project / "password").write_text(f"{VALUE}\n")
    with pytest.raises(PondageError, match="can be read by others"):
        opened[f"file:{project}/password"]
    (project / "password").chmod(0o600)
    assert opened["env:DB_PASSWORD"] == opened[f"file:{project}/password"] == VALUE
    for reference in ("env:NOT_THERE", f"file:{project}/nothing", "vault:x", "No Name"):
        with pytest.raises(PondageError):
            opened[reference]


def test_an_opened_secret_is_taken_out_of_every_line_that_is_logged(project: Path, ledger: Ledger) -> None:
    value = 'p"ss\\word&1\nsecond line'
    (project / "password").write_text(value)
    (project / "password").chmod(0o600)
    store(ledger, project)[f"file:{project}/password"]
    log = AttemptLog(project / "attempt.log")
    for said in (
        value,
        f"cannot connect with {value!r}",
        "url?password=p%22ss%5Cword%261%0Asecond%20line",
        "second line",
    ):
        log.write("INFO", said)
    log.close()
    text = (project / "attempt.log").read_text()
    assert "second" not in text
    assert "ss\\" not in text
    assert "%22" not in text
    assert "cannot connect with" in text


def test_an_unpiped_value_is_asked_for_and_never_an_argument(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["secret", "set", "db", VALUE]) == 2
    assert put(monkeypatch, "db", "") == 2
    assert put(monkeypatch, "Not A Name", VALUE) == 1
    assert not (project / ".pondage" / "secret.key").exists()


def test_a_unit_test_gives_its_run_a_dictionary() -> None:
    assert Run(freshness_us=0, secrets={"db": VALUE}).secret("db") == VALUE
    with pytest.raises(PondageError, match="has no secrets"):
        Run(freshness_us=0).secret("db")

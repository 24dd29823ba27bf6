"""The real server on a free port, its first token, and the verbs around it."""

import http.client
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from pondage.cli.main import main
from pondage.errors import PondageError
from pondage.server.serving import ServeOptions, bound, first_token, serving, url_of
from pondage.server.table import Service
from tests.ledger.harness import World
from tests.server.conftest import token_of


@contextmanager
def served(service: Service) -> Iterator[int]:
    options = ServeOptions(port=0)
    with bound(options) as listening, serving(service, options, listening):
        yield listening.getsockname()[1]


def ask(port: int, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_real_server_answers_on_a_free_port_and_only_with_a_token(service: Service, world: World) -> None:
    with served(service) as port:
        assert ask(port, "/healthz")[0] == 200
        assert ask(port, "/v1/status")[0] == 401
        status, data = ask(port, "/v1/status", {"authorization": f"Bearer {token_of(world, 'read')}"})
        assert status == 200
        assert len(msgspec.json.decode(data)["ponds"]) == 3
        assert ask(port, "/healthz", {"host": "evil.example"})[0] == 421


def test_a_port_that_is_taken_is_an_error_before_anything_starts() -> None:
    with bound(ServeOptions(port=0)) as first, pytest.raises(PondageError) as raised:
        bound(ServeOptions(port=first.getsockname()[1]))
    assert raised.value.code == "PORT_TAKEN"


def test_an_address_for_all_interfaces_goes_by_no_name_that_was_not_allowed() -> None:
    assert "0.0.0.0" not in ServeOptions(host="0.0.0.0").names
    assert "shop.example" in ServeOptions(host="0.0.0.0", hosts=("shop.example",)).names


def test_the_first_start_makes_one_token_in_a_file_that_only_its_owner_reads(world: World, tmp_path: Path) -> None:
    made = first_token(world.ledger, tmp_path / "state", environment="main")
    place = tmp_path / "state" / "admin.token"
    assert made is not None
    assert place.read_text().strip() == made
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert first_token(world.ledger, tmp_path / "state", environment="main") is None
    with bound(ServeOptions(port=0)) as listening:
        assert url_of(ServeOptions(), listening, made).endswith(f"/#token={made}")
        assert "#" not in url_of(ServeOptions(), listening, None)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tokens_are_made_listed_and_revoked_by_the_command_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", "create", "--level", "demand", "--env", "staging", "--name", "ci", "--json"]) == 0
    made = msgspec.json.decode(capsys.readouterr().out)
    assert re.fullmatch(r"pondage_[\w-]{43}", made["token"])
    assert made["row"]["environments"] == ["staging"]
    assert main(["token", "list"]) == 0
    listed = capsys.readouterr().out
    assert "ci" in listed
    assert made["token"] not in listed
    assert main(["token", "revoke", made["row"]["id"]]) == 0
    assert main(["token", "revoke", made["row"]["id"]]) == 1
    capsys.readouterr()
    assert main(["token", "list", "--json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out)[0]["revoked_at"] is not None

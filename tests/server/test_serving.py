"""The real server on a free port, its first token, and the verbs around it."""

import http.client
import logging
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import pondage
from pondage.cli.main import main
from pondage.errors import PondageError
from pondage.kernel.demand.events import Kill
from pondage.server.call import Service
from pondage.server.limits import FAILURES
from pondage.server.serving import ServeOptions, bound, first_token, serving, url_of
from tests.ledger.harness import World
from tests.patience import PATIENCE_S
from tests.server.conftest import token_of


@contextmanager
def served(service: Service) -> Iterator[int]:
    options = ServeOptions(port=0)
    with bound(options) as listening, serving(service, options, listening):
        yield listening.getsockname()[1]


def ask(port: int, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
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


def test_the_feed_goes_over_a_real_websocket_and_only_with_a_token(
    service: Service, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with served(service) as port:
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        url = f"ws://127.0.0.1:{port}/v1/ws/feed"
        with pytest.raises(InvalidStatus) as refused:
            connect(url)
        assert refused.value.response.status_code == 401
        with connect(url, additional_headers={"authorization": f"Bearer {token_of(world, 'read')}"}) as socket:
            assert msgspec.json.decode(socket.recv(10))["type"] == "snapshot"
            world.send(Kill(pond="reports@1"))
            while "ponds" not in (said := msgspec.json.decode(socket.recv(10))):
                pass
    assert said["ponds"][0]["state"] == "killed"
    logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    errors = [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]
    assert errors == [], "who is refused fills no log"


@pytest.mark.parametrize(
    "sent",
    [
        b"no request at all\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: b\r\n\r\n",
        b"POST /v1/queries HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: +5\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: upgrade, close\r\nUpgrade: h2c\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_fills_no_log(
    service: Service, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    with served(service) as port:
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as opened:
            opened.sendall(sent)
            assert opened.recv(4096).startswith(b"HTTP/1.1 ")
        assert ask(port, "/healthz")[0] == 200
    logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert [each.getMessage() for each in caplog.records if each.name.startswith("uvicorn")] == []


def test_a_port_that_is_taken_is_an_error_before_anything_starts() -> None:
    with bound(ServeOptions(port=0)) as first, pytest.raises(PondageError) as raised:
        bound(ServeOptions(port=first.getsockname()[1]))
    assert raised.value.code == "PORT_TAKEN"


def test_connections_are_told_to_send_small_answers_at_once() -> None:
    """asyncio sets TCP_NODELAY only on sockets that are named as TCP."""
    with bound(ServeOptions(port=0)) as listening, socket.create_connection(listening.getsockname()) as _:
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP


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


def test_serve_prints_its_address_answers_and_ends_well_when_told_to(project: Path) -> None:
    command = [sys.executable, "-m", "pondage.cli.main", "serve", "--port", "0"]
    here = {**os.environ, "PYTHONPATH": str(Path(pondage.__file__).parents[1])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=project, env=here) as server:
        assert server.stdout is not None
        lines = server.stdout.readline() + server.stdout.readline()
        said = re.search(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)", lines)
        assert said is not None
        status, _ = ask(int(said[1]), "/v1/tokens", {"authorization": f"Bearer {said[2]}"})
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) == 0
    assert status == 200


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for `localhost`, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


def test_a_pair_of_files_makes_it_https_and_the_command_line_looks_at_the_certificate(
    service: Service,
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cert, key = certificate(tmp_path)
    options = ServeOptions(port=0, certificate=cert, key=key)
    with bound(options) as listening, serving(service, options, listening):
        assert url_of(options, listening, None).startswith("https://")
        port = listening.getsockname()[1]
        calling = ["status", "--json", "--server", f"https://localhost:{port}", "--token", token_of(world, "read")]
        assert main(calling) == 1
        assert "CERTIFICATE_VERIFY_FAILED" in capsys.readouterr().err
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        assert main(calling) == 0
        assert len(msgspec.json.decode(capsys.readouterr().out)["ponds"]) == 3


def test_what_a_proxy_says_about_an_address_is_nobodys_word(service: Service) -> None:
    """Wrong tokens are counted by the address that connects: a header must not give everybody a new one."""
    with served(service) as port:
        for number in range(FAILURES + 1):
            headers = {"authorization": "Bearer wrong", "x-forwarded-for": f"10.0.0.{number}"}
            status, _ = ask(port, "/v1/status", headers)
        assert status == 429

"""Talking to a server: one request for each ask, and errors as the person who types should read them."""

from __future__ import annotations

import http.client
import os
import re
import ssl
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Union, get_args, get_origin
from urllib.parse import quote, urlencode, urlsplit

import click
import msgspec

import pondage
from pondage.cli.client.settings import Settings
from pondage.errors import PondageError, ProjectError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

TIMEOUT_S = 150.0
CHUNK_BYTES = 64 * 1024
VERSION_HEADER = "Pondage-Version"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PLACE = re.compile(r"{(\w+)}")
_DEFAULT_PORT = {"http": 80, "https": 443}


class _Problem(msgspec.Struct, kw_only=True):
    code: str
    message: str
    place: str | None = None
    hint: str | None = None


class _Said(msgspec.Struct):
    """A message of a WebSocket that may be an error."""

    error: object = None


class Server:
    """A server by its address, asked with a token about one environment (None: the one it means by itself)."""

    def __init__(self, url: str, token: str | None, environment: str | None = None) -> None:
        split = urlsplit(url)
        try:
            port = split.port
        except ValueError:
            port = -1
        is_plain = not (split.path.strip("/") or split.query or split.fragment or split.username)
        if split.scheme not in _DEFAULT_PORT or not split.hostname or port == -1 or not is_plain:
            raise click.UsageError(f"--server {url!r} is no address; write http://127.0.0.1:8642")
        self.url = f"{split.scheme}://{split.netloc}"
        self.token = token
        self._scheme = split.scheme
        self._host = split.hostname
        self._port = port or _DEFAULT_PORT[split.scheme]
        self._environment = environment

    def asked(
        self,
        method: str,
        path: str,
        given: dict[str, object],
        kind: object,
        *,
        refusals: Collection[int] = (),
    ) -> object:
        """Fill the places of a path, send the rest as parameters or as a body, and answer what came back.

        Under a status of `refusals` comes an answer, too, or a problem.
        """
        body = None
        if method == "POST":
            sent = {name: value for name, value in given.items() if value is not None and f"{{{name}}}" not in path}
            body = msgspec.json.encode(sent)
            given = {name: value for name, value in given.items() if name not in sent}
        filled, query = self._filled(path, given)
        with self._requested(method, _with(filled, query), body, refusals=refusals) as answer:
            data = answer.read()
        if answer.status in refusals and _is_problem(data):
            raise self._refused(answer.status, data)
        try:
            return _decoded(data, kind)
        except msgspec.MsgspecError as error:
            raise self._foreign(f"its answer is not understood: {error}") from error

    def followed(self, path: str, given: dict[str, object], kind: object) -> Iterator[object]:
        """Answer the messages of a WebSocket until the server ends it; raises what it says is wrong."""
        from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
        from websockets.sync.client import connect

        filled, query = self._filled(path, given)
        address = self.url.replace("http", "ws", 1) + _with(filled, query)
        try:
            with connect(address, additional_headers=self._headers()) as socket:
                for message in socket:
                    data = message.encode() if isinstance(message, str) else message
                    if isinstance(problem := msgspec.json.decode(data, type=_Said).error, dict):
                        raise _error(msgspec.convert(problem, _Problem))
                    yield _decoded(data, kind)
        except InvalidStatus as error:
            raise self._refused(error.response.status_code, bytes(error.response.body or b"")) from error
        except (OSError, InvalidHandshake) as error:
            raise self._unreachable(error) from error
        except ConnectionClosed:
            return

    def fetched(self, path: str, given: dict[str, object]) -> Iterator[bytes]:
        """Answer the bytes of a route as they come; raises when they end too early: an offset goes on."""
        filled, query = self._filled(path, given)
        with self._requested("GET", _with(filled, query)) as answer:
            while chunk := answer.read1(CHUNK_BYTES):
                yield chunk

    def _headers(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def _filled(self, path: str, given: Mapping[str, object]) -> tuple[str, dict[str, str]]:
        """Answer a path with its places filled, and the parameters behind it."""
        places = _PLACE.findall(path)
        filled = _PLACE.sub(lambda found: quote(str(given[found[1]]), safe=""), path)
        query = {name: _text(value) for name, value in given.items() if name not in places and value is not None}
        if self._environment is not None:
            query["env"] = self._environment
        return filled, query

    @contextmanager
    def _requested(
        self, method: str, path: str, body: bytes | None = None, *, refusals: Collection[int] = ()
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request; the block reads what a server of this version says to it."""
        headers = self._headers() | ({} if body is None else {"Content-Type": "application/json"})
        connection = self._connection()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            if not (200 <= answer.status < 300 or answer.status in refusals):
                raise self._refused(answer.status, answer.read())
            self._check_version(answer.getheader(VERSION_HEADER))
            yield answer
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT_S, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)

    def _check_version(self, theirs: str | None) -> None:
        if theirs is None:
            raise self._foreign("it does not say its version")
        if theirs.split(".")[:2] != str(pondage.__version__).split(".")[:2]:
            raise PondageError(
                f"the server {self.url} is Pondage {theirs}, and this is {pondage.__version__}",
                hint=f"pip install 'pondage=={theirs}'",
                code="WRONG_VERSION",
            )

    def _refused(self, status: int, data: bytes) -> PondageError:
        try:
            said = msgspec.json.decode(data, type=_Problem)
        except msgspec.MsgspecError:
            return self._foreign(f"it answers with the status {status}")
        if status == 401:
            said.hint = "give --token, or set PONDAGE_TOKEN; on the server: pondage token create --level read"
        if said.code == "NO_ROUTE":
            said.hint = f"the server may be older than this Pondage {pondage.__version__}"
        return _error(said)

    def _unreachable(self, error: Exception) -> PondageError:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        return PondageError(
            f"the server {self.url} cannot be reached: {why}", hint="is it running? pondage serve", code="NO_SERVER"
        )

    def _foreign(self, what: str) -> PondageError:
        return PondageError(
            f"what answers at {self.url} is no server of this Pondage: {what}",
            hint="look at the address, and at the version of both",
            code="NOT_PONDAGE",
        )


def server_of(settings: Settings) -> Server:
    """Answer the server that a call names, with its token: given, of the environment, or of a file."""
    assert settings.server is not None
    server = Server(settings.server, None, settings.environment)
    split = urlsplit(server.url)
    is_near = split.hostname in LOOPBACK
    if split.scheme == "http" and not is_near:
        click.echo(f"warning: {server.url} is not encrypted: others may read the token on its way", err=True)
    server.token = _token(settings, is_near=is_near)
    return server


def _token(settings: Settings, *, is_near: bool) -> str | None:
    if settings.token is not None:
        return settings.token
    if given := os.environ.get("PONDAGE_TOKEN"):
        return given.strip()
    if file := os.environ.get("PONDAGE_TOKEN_FILE"):
        return _of_file(Path(file))
    return _own(settings) if is_near else None


def _of_file(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PondageError(f"the token file {file} cannot be read", hint=str(error), code="NO_TOKEN") from error


def _own(settings: Settings) -> str | None:
    """Answer the first token of the project here, for its own server on this machine."""
    from pondage.cli.client.session import open_project

    try:
        return (open_project(settings).state / "admin.token").read_text(encoding="ascii").strip()
    except (OSError, ProjectError):
        return None


def _is_problem(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=_Problem)
    except msgspec.MsgspecError:
        return False
    return True


def _error(said: _Problem) -> PondageError:
    return PondageError(said.message, code=said.code, place=said.place, hint=said.hint)


def _with(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _decoded(data: bytes, kind: object) -> object:
    """Read JSON as a type; of several objects the first that fits, because they carry no tags."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    for each in kinds[:-1]:
        try:
            return msgspec.json.decode(data, type=each)
        except msgspec.ValidationError:
            continue
    found: object = msgspec.json.decode(data, type=kinds[-1])
    return found

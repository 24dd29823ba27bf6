"""Reaching a live host: by its socket on the same machine, else over TLS, where it says in the ledger that it listens.

Over TLS both sides prove that they read the same ledger. The host's certificate is known by its fingerprint there, and
each side answers what the other chose by chance with the secret of the host's row, before anything else is read.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import socket
import ssl
from typing import NamedTuple

from pondage.errors import ProjectError

NONCE_BYTES = PROOF_BYTES = 32
GREETING_S = 5.0
"""How long either side may take to say who it is."""
PONG: dict[str, object] = {"pong": True}
"""What a live host answers to a ping while it owns the reactor; otherwise it hangs up."""
WILDCARDS = ("", "0.0.0.0", "::", "*")


class Listening(NamedTuple):
    """Where a live host of this machine listens for others."""

    host: str
    port: int


class Address(NamedTuple):
    """Where a live host is: a socket of its own machine, and what others use, if they may."""

    path: str
    host: str = ""
    port: int = 0
    fingerprint: str = ""

    def text(self) -> str:
        """Give the address as the ledger keeps it."""
        far = f" tls:{self.fingerprint}@{self.host}:{self.port}" if self.host else ""
        return f"unix:{self.path}{far}"


def read_address(text: str) -> Address:
    """Read an address of the ledger; raises OSError when there is none."""
    near, _, far = text.partition(" tls:")
    scheme, _, path = near.partition(":")
    if scheme != "unix":
        raise OSError("no live host owns it")
    fingerprint, _, place = far.partition("@")
    host, _, port = place.rpartition(":")
    return Address(path, host, int(port or 0), fingerprint)


def read_listening(text: str) -> Listening:
    """Read `host:port` of a setting; raises `ProjectError` when others could not find a host by it."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535 or host in WILDCARDS:
        raise ProjectError(
            f"live hosts cannot listen on {text!r}",
            hint='write the address by which other machines reach this one: [live] listen = "10.0.0.5:8650"',
            place="live.listen",
            code="BAD_LISTEN",
        )
    return Listening(host, int(port))


def fingerprint_of(certificate: bytes) -> str:
    """Answer the fingerprint of a certificate, given as DER."""
    return hashlib.sha256(certificate).hexdigest()


def proof(secret: str, side: str, theirs: bytes, ours: bytes, fingerprint: str) -> bytes:
    """Answer what proves that a side knows the secret, for this connection only; `theirs` is the client's nonce."""
    said = b"|".join((side.encode(), theirs, ours, fingerprint.encode()))
    return hmac.digest(secret.encode(), said, "sha256")


def context() -> ssl.SSLContext:
    """Answer the context of a client: nobody vouches for the host but the fingerprint in the ledger."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    return made


def connect(address: str, secret: str, *, timeout_s: float | None) -> socket.socket:
    """Connect to a live host and greet it; raises OSError."""
    at = read_address(address)
    try:
        return _connect_near(at, timeout_s)
    except OSError:
        if not at.host:
            raise
    greeting_s = GREETING_S if timeout_s is None else min(timeout_s, GREETING_S)
    plain = socket.create_connection((at.host, at.port), timeout=greeting_s)
    try:
        wrapped = context().wrap_socket(plain)
    except OSError:
        plain.close()
        raise
    try:
        _check_host(wrapped, at)
        theirs, ours = _exactly(wrapped, NONCE_BYTES), secrets.token_bytes(NONCE_BYTES)
        wrapped.sendall(ours + proof(secret, "client", ours, theirs, at.fingerprint))
        _check_proof(_exactly(wrapped, PROOF_BYTES), secret, ours, theirs, at)
        wrapped.settimeout(timeout_s)
    except OSError:
        wrapped.close()
        raise
    return wrapped


async def connected(address: str, secret: str, *, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a live host and greet it, on a loop; raises OSError."""
    at = read_address(address)
    try:
        return await asyncio.open_unix_connection(at.path, limit=limit)
    except OSError:
        if not at.host:
            raise
    async with asyncio.timeout(GREETING_S):
        reader, writer = await asyncio.open_connection(at.host, at.port, limit=limit, ssl=context())
        try:
            _check_host(writer.get_extra_info("ssl_object"), at)
            theirs, ours = await reader.readexactly(NONCE_BYTES), secrets.token_bytes(NONCE_BYTES)
            writer.write(ours + proof(secret, "client", ours, theirs, at.fingerprint))
            _check_proof(await reader.readexactly(PROOF_BYTES), secret, ours, theirs, at)
        except asyncio.IncompleteReadError as error:
            writer.close()
            raise ConnectionError("the live host has hung up: it reads another ledger") from error
        except BaseException:
            writer.close()
            raise
    return reader, writer


async def is_welcome(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, secret: str, fingerprint: str
) -> bool:
    """Greet whoever has connected, as the host; False when he does not know the secret, or says nothing."""
    ours = secrets.token_bytes(NONCE_BYTES)
    try:
        async with asyncio.timeout(GREETING_S):
            writer.write(ours)
            said = await reader.readexactly(NONCE_BYTES + PROOF_BYTES)
            theirs, given = said[:NONCE_BYTES], said[NONCE_BYTES:]
            if not hmac.compare_digest(given, proof(secret, "client", theirs, ours, fingerprint)):
                return False
            writer.write(proof(secret, "host", theirs, ours, fingerprint))
            await writer.drain()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False
    return True


def _connect_near(at: Address, timeout_s: float | None) -> socket.socket:
    near = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        near.settimeout(timeout_s)
        near.connect(at.path)
    except OSError:
        near.close()
        raise
    return near


def _check_host(said: ssl.SSLSocket | ssl.SSLObject, at: Address) -> None:
    certificate = said.getpeercert(binary_form=True)
    if certificate is None or not hmac.compare_digest(fingerprint_of(certificate), at.fingerprint):
        raise ConnectionError(f"what answers at {at.host}:{at.port} is not the live host of the ledger")


def _check_proof(given: bytes, secret: str, ours: bytes, theirs: bytes, at: Address) -> None:
    if not hmac.compare_digest(given, proof(secret, "host", ours, theirs, at.fingerprint)):
        raise ConnectionError(f"what answers at {at.host}:{at.port} does not know the ledger's secret")


def _exactly(wrapped: ssl.SSLSocket, number: int) -> bytes:
    data = b""
    while len(data) < number:
        more = wrapped.recv(number - len(data))
        if not more:
            raise ConnectionError("the live host has hung up: it reads another ledger")
        data += more
    return data

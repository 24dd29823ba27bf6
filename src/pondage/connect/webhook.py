"""Webhooks: a signed message to an address that somebody else chose, and to no other place than that.

The name is resolved once, every address it has is looked at, and the connection goes to the one that was looked at:
a name that points somewhere else a moment later changes nothing. Redirects are not followed.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from pondage.errors import PondageError

TIMEOUT_S = 5.0
LONGEST_S = 15.0
"""Whoever answers a little at a time is cut off after this."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]
_EMBEDDING = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::/96"))


class WebhookError(PondageError):
    """A message could not be delivered. It is tried again from the outbox."""

    code = "WEBHOOK"


def resolved(host: str, port: int) -> list[str]:
    """Answer every address of a name."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise WebhookError(f"{host} is not known: {error}", code="WEBHOOK_UNKNOWN_HOST") from error
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def is_public(text: str) -> bool:
    """Answer whether an address is of the open internet, also one that hides in another kind of address."""
    address = ipaddress.ip_address(text.partition("%")[0])
    inner = _inner(address)
    if inner is not None:
        return is_public(str(inner))
    return address.is_global and not address.is_multicast


def _inner(address: Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if any(address in network for network in _EMBEDDING) and address > ipaddress.IPv6Address("::1"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Answer what a receiver computes to see that a message is ours, and not an old one sent again."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def deliver(
    url: str,
    body: bytes,
    *,
    secret: str,
    delivery: str,
    allow_private: bool = False,
    resolve: Resolve = resolved,
    clock: Callable[[], float] = time.time,
) -> None:
    """Send a JSON message; raises `WebhookError` when the address is refused or does not answer with success."""
    split = urlsplit(url)
    host, is_tls = split.hostname or "", split.scheme == "https"
    port = split.port or (443 if is_tls else 80)
    address = _allowed(host, port, resolve, allow_private=allow_private)
    timestamp = str(int(clock()))
    headers = {
        "Host": split.netloc,
        "Content-Type": "application/json",
        "User-Agent": "Pondage",
        "Pondage-Delivery": delivery,
        "Pondage-Timestamp": timestamp,
        "Pondage-Signature": f"v1={signature(secret, timestamp, body)}",
    }
    path = (split.path or "/") + (f"?{split.query}" if split.query else "")
    connection = _Fixed(host, port, address, is_tls=is_tls)
    cut = threading.Timer(LONGEST_S, connection.cut)
    cut.daemon = True
    cut.start()
    try:
        connection.request("POST", path, body, headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise WebhookError(f"{split.netloc} does not answer: {str(error) or type(error).__name__}") from error
    finally:
        cut.cancel()
        connection.close()
    if not 200 <= status < 300:
        raise WebhookError(f"{split.netloc} answers with the status {status}")


def _allowed(host: str, port: int, resolve: Resolve, *, allow_private: bool) -> str:
    addresses = resolve(host, port)
    if not addresses:
        raise WebhookError(f"{host} has no address", code="WEBHOOK_UNKNOWN_HOST")
    if not allow_private and not all(is_public(each) for each in addresses):
        raise WebhookError(
            f"{host} is an address of a private network",
            hint="when that is meant: allow_private = true",
            code="WEBHOOK_PRIVATE",
        )
    return addresses[0]


class _Fixed(http.client.HTTPConnection):
    """A connection to one address that was looked at; the certificate must be the name's."""

    def __init__(self, host: str, port: int, address: str, *, is_tls: bool) -> None:
        super().__init__(host, port, timeout=TIMEOUT_S)
        self._address = address
        self._is_tls = is_tls

    def cut(self) -> None:
        """End the connection from another thread, whatever it waits for."""
        with suppress(AttributeError, OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def connect(self) -> None:
        """Connect to the address, and to nothing that the name may mean by now."""
        self.sock = socket.create_connection((self._address, self.port), TIMEOUT_S)
        if self._is_tls:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)

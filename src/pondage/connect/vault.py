"""The key that seals secrets, and sealing itself (AES-256-GCM). The key is never in the ledger."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pondage.errors import PondageError
from pondage.private import make_private

_KEY_BYTES = 32
_NONCE_BYTES = 12
_FORMAT = b"\x01"


class SecretError(PondageError):
    """A secret cannot be read or written. The message names it, and never holds a value."""

    code = "SECRET"


class Vault:
    """Seals and opens values with one key. A sealed value belongs to its name: in another row it does not open."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, value: str, *, environment: str, name: str) -> bytes:
        """Answer the value encrypted for this name."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _FORMAT + nonce + self._cipher.encrypt(nonce, value.encode(), _belongs_to(environment, name))

    def open(self, sealed: bytes, *, environment: str, name: str) -> str:
        """Answer the clear value; raises `SecretError` (WRONG_KEY) when it was sealed with another key."""
        if not sealed.startswith(_FORMAT):
            raise SecretError(f"secret {name} was sealed by a newer version of Pondage", code="SECRET_FORMAT")
        nonce, rest = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return self._cipher.decrypt(nonce, rest, _belongs_to(environment, name)).decode()
        except InvalidTag:
            raise SecretError(
                f"secret {name} cannot be opened with the key of this machine",
                hint="copy the key of the machine that set it, or set it again: pondage secret set " + name,
                code="WRONG_KEY",
            ) from None


def open_vault(reference: str, variables: Mapping[str, str] = os.environ, *, is_created: bool = False) -> Vault:
    """Answer the vault whose key is at `env:NAME` or `file:PATH`; raises `SecretError`.

    With `is_created` a key file that does not exist yet is made, for its owner alone.
    """
    kind, _, place = reference.partition(":")
    if kind == "env":
        return Vault(_decoded(variables.get(place), f"the variable {place}"))
    if kind != "file":
        raise SecretError(
            f"secret_key is {reference!r}", hint='write "file:PATH" or "env:NAME" in pondage.toml', code="BAD_KEY"
        )
    file = Path(place)
    if is_created:
        _create(file)
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise SecretError(
            f"the key of the secrets, {file}, cannot be read: {getattr(error, 'strerror', None) or 'not a key'}",
            hint="copy it from the machine where `pondage secret set` was called, with mode 600",
            code="NO_KEY",
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        raise SecretError(f"others may read the key {file}", hint=f"chmod 600 {file}", code="OPEN_KEY")
    return Vault(_decoded(text, str(file)))


def _create(file: Path) -> None:
    make_private(file.parent)
    scratch = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(base64.urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)) + b"\n")
            out.flush()
            os.fsync(out.fileno())
        # A link, not a rename: of two that make a key at once, both must end with the same one.
        os.link(scratch, file)
    except FileExistsError:
        pass
    finally:
        scratch.unlink(missing_ok=True)


def _decoded(text: str | None, where: str) -> bytes:
    if not text:
        raise SecretError(
            f"{where} holds no key",
            hint="make one: python -c 'import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode())'",
            code="NO_KEY",
        )
    try:
        key = base64.urlsafe_b64decode(text.strip().encode())
    except (binascii.Error, ValueError, UnicodeEncodeError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise SecretError(f"{where} holds no key: 32 bytes in base64 are expected", code="NO_KEY")
    return key


def _belongs_to(environment: str, name: str) -> bytes:
    return f"{environment}\0{name}".encode()

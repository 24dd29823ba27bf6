"""Ids of questions that say nothing and cannot be guessed: only the token that asked can name its question."""

from __future__ import annotations

import hashlib
import hmac

from pondage.ledger.tables import api_tokens
from pondage.server.call import Call

_HALF = 8


def sealed(call: Call, dispatch: int) -> str:
    """Answer the id of a question for whoever asked: its number under a key that only the ledger has."""
    key = _key(call)
    number = dispatch.to_bytes(_HALF, "big")
    mark = _mac(key, b"mark" + number)
    return "q" + (mark + _mixed(number, _mac(key, b"mask" + mark))).hex()


def opened(call: Call, known: str) -> int | None:
    """Answer the number behind an id; None for one that was not made for this token."""
    digits = known.removeprefix("q")
    if len(digits) != 4 * _HALF:
        return None
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        return None
    key, mark = _key(call), data[:_HALF]
    number = _mixed(data[_HALF:], _mac(key, b"mask" + mark))
    is_ours = hmac.compare_digest(mark, _mac(key, b"mark" + number))
    return int.from_bytes(number, "big") if is_ours else None


def _key(call: Call) -> bytes:
    assert call.token is not None
    with call.ledger.reading() as tx:
        return api_tokens.secret_hash(tx, call.token.id).encode()


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()[:_HALF]


def _mixed(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))

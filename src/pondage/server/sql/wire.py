"""The few forms of protocol buffers that Flight SQL needs: numbers, texts and messages in messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Fields = dict[int, list[int | bytes]]
_NUMBER, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
ANY = "type.googleapis.com/arrow.flight.protocol.sql."


class NotUnderstood(ValueError):
    """Bytes that are no message."""


def decoded(data: bytes) -> Fields:
    """Answer the fields of a message by their numbers; raises `NotUnderstood`."""
    found: Fields = {}
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        number, form = key >> 3, key & 7
        value: int | bytes
        if form == _NUMBER:
            value, at = _number(data, at)
        elif form in (_FIXED64, _FIXED32):
            size = 8 if form == _FIXED64 else 4
            value, at = _taken(data, at, size), at + size
        elif form == _BYTES:
            length, at = _number(data, at)
            value, at = _taken(data, at, length), at + length
        else:
            raise NotUnderstood(f"there is no form {form}")
        found.setdefault(number, []).append(value)
    return found


def _taken(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise NotUnderstood("it ends too early")
    return data[at : at + size]


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise NotUnderstood("a number does not end")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def encoded(fields: Mapping[int, int | bytes | str | Sequence[bytes]]) -> bytes:
    """Answer a message of these fields."""
    found = bytearray()
    for number, value in fields.items():
        if isinstance(value, int):
            found += _varint(number << 3 | _NUMBER) + _varint(value)
            continue
        for each in [value] if isinstance(value, bytes | str) else value:
            data = each.encode() if isinstance(each, str) else each
            found += _varint(number << 3 | _BYTES) + _varint(len(data)) + data
    return bytes(found)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def unpacked(data: bytes) -> tuple[str, Fields]:
    """Answer the name and the fields of a message that says what it is; raises `NotUnderstood`."""
    outer = decoded(data)
    name = text(outer, 1) or ""
    if not name.startswith(ANY):
        raise NotUnderstood("it is no message of Flight SQL")
    return name.removeprefix(ANY), decoded(octets(outer, 2))


def packed(name: str, fields: Mapping[int, int | bytes | str | Sequence[bytes]]) -> bytes:
    """Answer a message that says what it is."""
    return encoded({1: ANY + name, 2: encoded(fields)})


def octets(fields: Fields, number: int) -> bytes:
    """Answer a field of bytes, nothing where it is not there."""
    value = fields.get(number, [b""])[-1]
    if not isinstance(value, bytes):
        raise NotUnderstood(f"field {number} is a number")
    return value


def text(fields: Fields, number: int) -> str | None:
    """Answer a field of text, None where it is not there."""
    if number not in fields:
        return None
    try:
        return octets(fields, number).decode()
    except UnicodeDecodeError as error:
        raise NotUnderstood(f"field {number} is no text") from error


def texts(fields: Fields, number: int) -> list[str]:
    """Answer a repeated field of texts."""
    return [each.decode(errors="replace") for each in fields.get(number, []) if isinstance(each, bytes)]


def flag(fields: Fields, number: int) -> bool:
    """Answer a field that is true or false."""
    return bool(fields.get(number, [0])[-1])


def numbers(fields: Fields, number: int) -> list[int]:
    """Answer a repeated field of numbers, packed or not."""
    found: list[int] = []
    for each in fields.get(number, []):
        if isinstance(each, int):
            found.append(each)
            continue
        at = 0
        while at < len(each):
            value, at = _number(each, at)
            found.append(value)
    return found

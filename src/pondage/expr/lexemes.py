"""Texts to lexemes. Columns count from 1."""

from __future__ import annotations

import re

import msgspec

MAX_INT_BITS = 256

_LEXEME = re.compile(
    r"""\s*(?:
    (?P<number>\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
  | (?P<sign>\*\*|//|==|!=|<=|>=|[-+*/%<>()\[\],.])
)""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


class ExprSyntax(ValueError):
    """The text is not an allowed expression; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(f"{message} (column {column})")
        self.message = message
        self.column = column


class Lexeme(msgspec.Struct, frozen=True):
    """One lexeme: `kind` is name, number, string, sign or end."""

    kind: str
    text: str
    column: int
    value: int | float | str | None = None


def lexemes(text: str) -> list[Lexeme]:
    """Split a text; raises ExprSyntax at the first character that belongs to no lexeme."""
    found: list[Lexeme] = []
    at = 0
    while text[at:].strip():
        match = _LEXEME.match(text, at)
        start = at + len(text[at:]) - len(text[at:].lstrip())
        if match is None or match.lastgroup is None:
            raise ExprSyntax(f"unexpected character {text[start]!r}", start + 1)
        kind, word = match.lastgroup, match[match.lastgroup]
        found.append(Lexeme(kind, word, start + 1, _value(kind, word, start + 1)))
        at = match.end()
        if kind == "number" and at < len(text) and (text[at].isalnum() or text[at] == "_"):
            raise ExprSyntax("a number is followed by a letter", at + 1)
    found.append(Lexeme("end", "", len(text) + 1))
    return found


def _value(kind: str, word: str, column: int) -> int | float | str | None:
    if kind == "string":
        return _unquoted(word, column)
    if kind != "number":
        return None
    if not word.isdigit():
        number = float(word)
        if number in (float("inf"), float("-inf")):
            raise ExprSyntax("the number is too large", column)
        return number
    # Counted before it is converted: reading a million digits is itself an attack.
    if len(word) > MAX_INT_BITS // 3 + 1 or int(word).bit_length() > MAX_INT_BITS:
        raise ExprSyntax(f"integers have at most {MAX_INT_BITS} bits", column)
    return int(word)


def _unquoted(word: str, column: int) -> str:
    parts = []
    escaped = False
    for offset, letter in enumerate(word[1:-1]):
        if escaped:
            if letter not in _ESCAPES:
                raise ExprSyntax(f"unknown escape \\{letter}", column + offset)
            parts.append(_ESCAPES[letter])
            escaped = False
        elif letter == "\\":
            escaped = True
        else:
            parts.append(letter)
    return "".join(parts)

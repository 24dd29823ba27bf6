"""Random expressions of known kinds over random rows, for comparing the two evaluators."""

from __future__ import annotations

import random

COLUMNS = {
    "int": ("a", "b"), "float": ("x", "y"), "text": ("s", "t"), "bool": ("p", "q"), "list": ("xs",)
}  # fmt: skip
SCHEMA = "a bigint, b int, x double, y float, s string, t string, p boolean, q boolean, xs array<bigint>"
_TEXTS = ("", "a", "Ab", "ä€", " 12 ", "7", "-3", "1.5", "x y", "ab")


def rows(chance: random.Random, count: int) -> list[tuple[object, ...]]:
    """Give rows of all kinds of values, nulls among them."""

    def maybe(value: object) -> object:
        return None if chance.random() < 0.15 else value

    def whole(bits: int) -> int:
        return chance.choice([0, 1, -1, chance.randint(-9, 9), chance.randint(-(2**bits), 2**bits - 1)])

    def real() -> float:
        return chance.choice([0.0, 1.0, -1.0, 0.5, chance.randint(-64, 64) / 4])

    return [
        tuple(maybe(value) for value in (
            whole(63), whole(31), real(), real(), chance.choice(_TEXTS), chance.choice(_TEXTS),
            chance.random() < 0.5, chance.random() < 0.5, [maybe(whole(20)) for _ in range(chance.randint(0, 3))],
        ))
        for _ in range(count)
    ]  # fmt: skip


def expression(chance: random.Random, kind: str, depth: int) -> str:
    """Give a text whose value is of a kind (or an error)."""
    if depth == 0 or chance.random() < 0.15:
        return _leaf(chance, kind)

    def part(of: str) -> str:
        return expression(chance, of, depth - 1)

    number = chance.choice(["int", "float"])
    made = {
        "int": lambda: chance.choice([
            lambda: f"({part('int')} {chance.choice(['+', '-', '*', '//', '%'])} {part('int')})",
            lambda: f"-{part('int')}", lambda: f"abs({part('int')})", lambda: f"len({part('text')})",
            lambda: f"len({part('list')})", lambda: f"{part('list')}[{chance.randint(-3, 3)}]",
            lambda: f"int({part('text')})", lambda: f"int({part('bool')})", lambda: f"round({part('float')})",
            lambda: f"{chance.choice(['min', 'max'])}({part('int')}, {part('int')}, 3)",
            lambda: f"({part('int')} {chance.choice(['and', 'or'])} {part('int')})",
            lambda: f"max({part('list')})",
        ])(),
        "float": lambda: chance.choice([
            lambda: f"({part('float')} {chance.choice(['+', '-', '*', '/', '//', '%'])} {part('float')})",
            lambda: f"({part('float')} / {chance.choice(['b', '4', '0'])})", lambda: f"-{part('float')}",
            lambda: f"abs({part('float')})", lambda: f"float({part('text')})",
            lambda: f"({part('float')} {chance.choice(['and', 'or'])} {part('float')})",
        ])(),
        "text": lambda: chance.choice([
            lambda: f"({part('text')} + {part('text')})", lambda: f"upper({part('text')})",
            lambda: f"lower({part('text')})", lambda: f"{part('text')}[{chance.randint(-2, 2)}]",
            lambda: f"min({part('text')}, {part('text')})",
            lambda: f"({part('text')} {chance.choice(['and', 'or'])} {part('text')})",
        ])(),
        "bool": lambda: chance.choice([
            lambda: f"({part(number)} {_sign(chance)} {part(number)})",
            lambda: f"({part('text')} {_sign(chance)} {part('text')})",
            lambda: f"({part(number)} {_sign(chance)} {part(number)} {_sign(chance)} {part(number)})",
            lambda: f"(not {part(chance.choice(['bool', 'int', 'text']))})",
            lambda: f"({part('bool')} {chance.choice(['and', 'or'])} {part('bool')} {chance.choice(['and', 'or'])} "
                    f"{part('bool')})",
            lambda: f"({part('int')} {chance.choice(['in', 'not in'])} [1, {part('int')}, None])",
            lambda: f"({part('text')} in {part('text')})", lambda: f"({part('int')} in {part('list')})",
            lambda: f"{chance.choice(['startswith', 'endswith'])}({part('text')}, {part('text')})",
            lambda: f"({part(chance.choice(['bool', number, 'text']))} {chance.choice(['==', '!='])} None)",
        ])(),
        "list": lambda: _leaf(chance, "list"),
    }  # fmt: skip
    return made[kind]()


def _sign(chance: random.Random) -> str:
    return chance.choice(["==", "!=", "<", "<=", ">", ">="])


def _leaf(chance: random.Random, kind: str) -> str:
    constants = {"int": ["0", "1", "7", "-3"], "float": ["0.5", "2.0", "0.0"], "text": ["'a'", "''", "'12'"],
                 "bool": ["True", "False"], "list": []}  # fmt: skip
    return chance.choice([*COLUMNS[kind], *COLUMNS[kind], *constants[kind]])

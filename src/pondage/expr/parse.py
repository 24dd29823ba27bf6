"""A hand-written parser: precedence climbing over the lexemes, with limits on size and depth."""

from __future__ import annotations

import re
from collections.abc import Callable

from pondage.expr.lexemes import ExprSyntax, Lexeme, lexemes
from pondage.expr.nodes import Binary, Call, Compare, Constant, Dot, Item, Logic, Name, Node, Sequence, Unary

__all__ = ["FUNCTIONS", "MAX_CHARACTERS", "MAX_DEPTH", "MAX_NODES", "ExprSyntax", "compile_text"]

MAX_CHARACTERS = 1_000
MAX_NODES = 200
MAX_DEPTH = 30

FUNCTIONS = {
    "len": (1, 1),
    "abs": (1, 1),
    "min": (1, MAX_NODES),
    "max": (1, MAX_NODES),
    "round": (1, 2),
    "int": (1, 1),
    "float": (1, 1),
    "lower": (1, 1),
    "upper": (1, 1),
    "startswith": (2, 2),
    "endswith": (2, 2),
}
"""The functions that exist, with the least and largest number of arguments."""

_CONSTANTS = {"True": True, "False": False, "None": None}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        "and as assert async await break class continue def del elif else except finally for from if import in is "
        "lambda nonlocal not or pass raise return try while with yield",
    )
)


def compile_text(text: str) -> Node:
    """Parse and check an expression; raises ExprSyntax with the column of the first thing that is not allowed."""
    if len(text) > MAX_CHARACTERS:
        raise ExprSyntax(f"an expression has at most {MAX_CHARACTERS} characters", MAX_CHARACTERS + 1)
    parser = _Parser(lexemes(text))
    tree = parser.choice()
    parser.expect_end()
    return tree


class _Parser:
    def __init__(self, found: list[Lexeme]) -> None:
        self.lexemes = found
        self.at = 0
        self.depth = 0
        self.nodes = 0

    @property
    def next(self) -> Lexeme:
        return self.lexemes[self.at]

    def take(self) -> Lexeme:
        lexeme = self.next
        if lexeme.kind != "end":
            self.at += 1
        return lexeme

    def accept(self, *texts: str) -> Lexeme | None:
        lexeme = self.next
        if lexeme.kind in ("sign", "name") and lexeme.text in texts:
            return self.take()
        return None

    def expect(self, text: str) -> None:
        if self.accept(text) is None:
            raise ExprSyntax(f"expected {text!r}, found {self.next.text or 'the end'!r}", self.next.column)

    def expect_end(self) -> None:
        if self.next.kind != "end":
            raise ExprSyntax(f"unexpected {self.next.text!r}", self.next.column)

    def made(self, node: Node) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise ExprSyntax(f"an expression has at most {MAX_NODES} parts", self.next.column)
        return node

    def choice(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExprSyntax(f"an expression is nested at most {MAX_DEPTH} deep", self.next.column)
        tree = self.logic("or", lambda: self.logic("and", self.negation))
        self.depth -= 1
        return tree

    def logic(self, word: str, operand: Callable[[], Node]) -> Node:
        values = [operand()]
        while self.accept(word):
            values.append(operand())
        return values[0] if len(values) == 1 else self.made(Logic(word, tuple(values)))

    def negation(self) -> Node:
        count = 0
        while self.accept("not"):
            count += 1
        self.check_depth(count)
        tree = self.comparison()
        for _ in range(count):
            tree = self.made(Unary("not", tree))
        return tree

    def comparison(self) -> Node:
        values, operators = [self.sum()], []
        while (operator := self.comparison_operator()) is not None:
            operators.append(operator)
            values.append(self.sum())
        return self.made(Compare(tuple(operators), tuple(values))) if operators else values[0]

    def comparison_operator(self) -> str | None:
        if (lexeme := self.accept(*_COMPARISONS, "in")) is not None:
            return lexeme.text
        following = self.lexemes[min(self.at + 1, len(self.lexemes) - 1)]
        if self.next.text == "not" and self.next.kind == "name" and following.text == "in":
            self.at += 2
            return "not in"
        return None

    def sum(self) -> Node:
        tree = self.product()
        while (lexeme := self.accept("+", "-")) is not None:
            tree = self.made(Binary(lexeme.text, tree, self.product()))
        return tree

    def product(self) -> Node:
        tree = self.sign()
        while (lexeme := self.accept("*", "/", "//", "%")) is not None:
            tree = self.made(Binary(lexeme.text, tree, self.sign()))
        if self.next.text == "**":
            raise ExprSyntax("powers are not allowed", self.next.column)
        return tree

    def sign(self) -> Node:
        signs = []
        while (lexeme := self.accept("-", "+")) is not None:
            signs.append(lexeme.text)
        self.check_depth(len(signs))
        tree = self.trailers()
        for sign in reversed(signs):
            tree = self.made(Unary(sign, tree))
        return tree

    def check_depth(self, more: int) -> None:
        if self.depth + more > MAX_DEPTH:
            raise ExprSyntax(f"an expression is nested at most {MAX_DEPTH} deep", self.next.column)

    def trailers(self) -> Node:
        tree = self.atom()
        length = 0
        while (lexeme := self.accept(".", "[", "(")) is not None:
            length += 1
            self.check_depth(length)
            if lexeme.text == "(":
                raise ExprSyntax("only the allowed functions can be called", lexeme.column)
            if lexeme.text == ".":
                tree = self.made(Dot(tree, self.field()))
                continue
            tree = self.made(Item(tree, self.choice()))
            self.expect("]")
        return tree

    def field(self) -> str:
        lexeme = self.take()
        if lexeme.kind != "name":
            raise ExprSyntax("a name is expected after the dot", lexeme.column)
        if lexeme.text.startswith("_"):
            raise ExprSyntax("attribute access to '_' names", lexeme.column)
        return lexeme.text

    def atom(self) -> Node:
        lexeme = self.take()
        if lexeme.kind in ("number", "string"):
            return self.made(Constant(lexeme.value))
        if lexeme.kind == "name":
            return self.named(lexeme)
        if lexeme.text == "(":
            return self.group()
        if lexeme.text == "[":
            return self.made(Sequence(self.arguments("]")))
        raise ExprSyntax(f"unexpected {lexeme.text or 'end'!r}", lexeme.column)

    def group(self) -> Node:
        if self.accept(")"):
            return self.made(Sequence(()))
        tree = self.choice()
        if self.next.text == ",":
            self.take()
            return self.made(Sequence((tree, *self.arguments(")"))))
        self.expect(")")
        return tree

    def named(self, lexeme: Lexeme) -> Node:
        if lexeme.text in _CONSTANTS:
            return self.made(Constant(_CONSTANTS[lexeme.text]))
        if self.next.text == "(" and lexeme.text not in _RESERVED:
            return self.call(lexeme)
        if lexeme.text in _RESERVED:
            raise ExprSyntax(f"{lexeme.text!r} is not allowed here", lexeme.column)
        if lexeme.text.startswith("_"):
            raise ExprSyntax("names that begin with '_' are not allowed", lexeme.column)
        return self.made(Name(lexeme.text))

    def call(self, lexeme: Lexeme) -> Node:
        if lexeme.text not in FUNCTIONS:
            raise ExprSyntax("function not whitelisted", lexeme.column)
        self.take()
        arguments = self.arguments(")")
        least, most = FUNCTIONS[lexeme.text]
        if not least <= len(arguments) <= most:
            raise ExprSyntax(f"{lexeme.text} takes {least} to {most} arguments", lexeme.column)
        return self.made(Call(lexeme.text, arguments))

    def arguments(self, end: str) -> tuple[Node, ...]:
        values: list[Node] = []
        while not self.accept(end):
            if values:
                self.expect(",")
                if self.accept(end):
                    break
            values.append(self.choice())
        return tuple(values)

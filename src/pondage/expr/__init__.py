"""The safe expression language: conditions of `if` edges and iterators, asserts and rules.

`compile_text` parses and checks a text once; `evaluate` walks the tree with a budget of steps. There is no clock, no
attribute access on Python objects, no user-registered function, and nothing is ever handed to Python's own compiler.
"""

from pondage.expr.evaluate import Environment, ExprError, ExprTimeout, Missing, evaluate, is_true
from pondage.expr.nodes import Node
from pondage.expr.parse import ExprSyntax, compile_text

__all__ = [
    "Environment",
    "ExprError",
    "ExprSyntax",
    "ExprTimeout",
    "Missing",
    "Node",
    "compile_text",
    "evaluate",
    "is_true",
]

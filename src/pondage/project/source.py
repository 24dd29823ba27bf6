"""The project's Python files as syntax trees: what a module binds, what a piece of it uses."""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
_DECLARING = ("pond", "ripple", "probe")


class SourceFile:
    """One module of the project, parsed once."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)

    @cached_property
    def bindings(self) -> dict[str, list[ast.stmt]]:
        """Answer the top-level statements that bind each global name, in order. Imports inside `if` and `try` count."""
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            for name, binding in _bound(statement):
                statements = found.setdefault(name, [])
                if binding not in statements:
                    statements.append(binding)
        return found

    @cached_property
    def stars(self) -> list[ast.ImportFrom]:
        """Answer the `from x import *` of the module."""
        return [
            each
            for each in ast.walk(self.tree)
            if isinstance(each, ast.ImportFrom) and any(alias.name == "*" for alias in each.names)
        ]

    def function_at(self, line: int, name: str) -> Function | ast.Lambda | None:
        """Answer the function whose code begins at a line: a decorated one begins at its first decorator."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                if min([node.lineno, *(each.lineno for each in node.decorator_list)]) == line:
                    return node
            elif isinstance(node, ast.Lambda) and name == "<lambda>" and node.lineno == line:
                return node
        return None

    def top_level_of(self, node: ast.AST) -> ast.stmt:
        """Answer the top-level statement that holds a node."""
        for statement in self.tree.body:
            if any(each is node for each in ast.walk(statement)):
                return statement
        raise ValueError("the node is not part of this module")

    def names_used(self, node: ast.AST) -> set[str]:
        """Answer the global names that a statement or function uses, without those that it binds for itself."""
        if isinstance(node, ast.Module):
            return set()  # a whole module: everything it has is in it already, and its imports are followed
        text = ast.unparse(without_declarations(node))
        table = symtable.symtable(text, str(self.path), "exec")
        return {name for name in _globals_of(table) if name in self.bindings or self.stars}

    def absolute(self, statement: ast.ImportFrom) -> str:
        """Answer the full name of the module that a `from` names, relative ones included."""
        if statement.level == 0:
            return statement.module or ""
        package = self.name.split(".")
        if self.path.name != "__init__.py":
            package = package[:-1]
        base = package[: len(package) - statement.level + 1]
        return ".".join([*base, *([statement.module] if statement.module else [])])


class SourceFiles:
    """All modules under a project's root, parsed when they are asked for."""

    def __init__(self, root: Path, data: Collection[str] = ()) -> None:
        self._root = root
        self._data = data
        self._known: dict[str, SourceFile | None] = {}

    def of_module(self, name: str) -> SourceFile | None:
        """Answer the project's module of that dotted name, or None when it is not the project's."""
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def of_path(self, path: str) -> SourceFile | None:
        """Answer the project's module in that file, or None when the file is not the project's."""
        try:
            relative = Path(path).resolve().relative_to(self._root)
        except ValueError:
            return None
        return self.of_module(module_name(relative))

    def named_by(self, file: SourceFile, text: str) -> Iterator[tuple[str, bytes]]:
        """Give the packed files that a text of a module names, and what is in them.

        It may be a path from the module's folder or from the root, of a file or of a folder of such files.
        """
        plain = text.lstrip("./").rstrip("/")
        if not plain or not self._data:
            return
        here = file.path.parent.relative_to(self._root)
        names = {plain, (here / plain).as_posix()}
        for each in self._data:
            if any(each == name or each.startswith(f"{name}/") for name in names):
                yield each, (self._root / each).read_bytes()

    def _read(self, name: str) -> SourceFile | None:
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts):
            return None
        base = self._root.joinpath(*parts)
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return SourceFile(name, path)
        return None


def module_name(path: Path) -> str:
    """Answer the dotted name under which a file, relative to the root, is imported."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def without_docstrings(node: ast.AST) -> ast.AST:
    """Answer a copy without docstrings and without the decorators that declare a Pond, a Ripple or a probe."""
    made = without_declarations(node)
    for each in ast.walk(made):
        if isinstance(each, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = each.body[0] if each.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                each.body = each.body[1:] or [ast.Pass()]
    return made


def without_declarations(node: ast.AST) -> ast.AST:
    """Answer a copy of a node in which functions have lost the decorators that only declare."""
    made = copy.deepcopy(node)
    for each in ast.walk(made):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            each.decorator_list = [decorator for decorator in each.decorator_list if not _declares(decorator)]
    return made


def _declares(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Name):
        return called.id == "pond"
    return isinstance(called, ast.Attribute) and called.attr in _DECLARING


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, statement
        case ast.Import(names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name.partition(".")[0], statement
        case ast.ImportFrom(names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name, statement
        case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While() | ast.Match():
            # An import keeps its meaning wherever it stands; any other name depends on the whole statement.
            for each in ast.walk(statement):
                if isinstance(each, (ast.Import, ast.ImportFrom)):
                    yield from _bound(each)
                elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                    yield each.id, statement
                elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    yield each.name, statement
        case _:
            for each in ast.walk(statement):
                if (isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)) or (
                    isinstance(each, ast.Name) and _is_changed_by(statement, each.id)
                ):
                    yield each.id, statement


def _is_changed_by(statement: ast.stmt, name: str) -> bool:
    # `registry.append(…)`, `CONSTANT.update(…)`: a bare call may change what the name holds.
    call = statement.value if isinstance(statement, ast.Expr) else None
    target = call.func if isinstance(call, ast.Call) else None
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == name


def _globals_of(table: symtable.SymbolTable) -> set[str]:
    found = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module")
    }
    for child in table.get_children():
        found |= _globals_of(child)
    return found

"""The code digest of a Ripple or component: its code and everything of the project that this uses, and nothing else.

What counts is the syntax tree without docstrings, comments, positions and without the decorators that declare a Pond,
so that a new comment, a moved function or another expectation changes nothing. Used names are followed: a function or
class by its code, a constant by its value where the value is simple, an imported project module as a whole, anything of
a library by its import. Code that is found by name at run time (`importlib`, `getattr` of a module) is not seen.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType

import msgspec

from pondage.define.job.component import ComponentDefinition, schema_of
from pondage.errors import DefinitionError
from pondage.project.archive import PROGRAMS, program_files
from pondage.project.source import SourceFile, SourceFiles, module_name, without_docstrings

_SIMPLE = (str, bytes, int, float, bool, complex, type(None))


class Digests:
    """The digests of one project whose modules have been imported; `modules` is the interpreter's own table."""

    def __init__(self, files: SourceFiles, modules: Mapping[str, ModuleType]) -> None:
        self._files = files
        self._modules = modules

    def of_function(self, function: Callable[..., object], *, reads: object = ()) -> str:
        """Answer the digest of a function; `reads` is what its parameters mean, which decides as much as its code."""
        original = inspect.unwrap(function)
        if not isinstance(original, FunctionType):
            raise DefinitionError(
                f"{original!r} is not a plain function", hint="declare a Ripple with `def`", code="BAD_RIPPLE"
            )
        walk = _Walk(self._files, self._modules)
        file = self._files.of_path(original.__code__.co_filename)
        if file is None:  # made by a library, or by text that was executed: its code is all there is
            walk.add("code", f"{original.__code__.co_code.hex()} {original.__code__.co_names}")
        else:
            walk.function(file, original)
        return digest_of(f"reads {reads!r}", *walk.parts)

    def of_module(self, name: str) -> str:
        """Answer the digest of a module of the project with what it imports; empty when the project has none such."""
        file = self._files.of_module(name)
        if file is None:
            return ""
        walk = _Walk(self._files, self._modules)
        walk.module(file)
        return digest_of(*walk.parts)


def digest_of(*parts: str) -> str:
    """Answer the sha256 of texts, each set apart from the next."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode()
        hashed.update(f"{len(data)}:".encode())
        hashed.update(data)
    return hashed.hexdigest()


class _Walk:
    """One walk over everything that a function uses. Every definition is visited once, so cycles end."""

    def __init__(self, files: SourceFiles, modules: Mapping[str, ModuleType]) -> None:
        self._files = files
        self._modules = modules
        self._found: dict[str, str] = {}
        self._seen: set[tuple[str, str]] = set()

    @property
    def parts(self) -> list[str]:
        """Answer the parts in an order that does not depend on the order of the walk."""
        return [f"{key}\n{text}" for key, text in sorted(self._found.items())]

    def add(self, key: str, text: str) -> None:
        self._found[key] = text

    def function(self, file: SourceFile, function: FunctionType) -> None:
        code = function.__code__
        node = file.function_at(code.co_firstlineno, code.co_name)
        if node is None:
            self.module(file)
            return
        self._seen.add((file.name, code.co_name))
        self._statement(file, "ripple", node)
        outer = file.top_level_of(node)
        if outer is not node:
            self._statement(file, "around", outer)
        for name, value in inspect.getclosurevars(function).nonlocals.items():
            self._closure(name, value)

    def _closure(self, name: str, value: object) -> None:
        inner = inspect.unwrap(value) if isinstance(value, FunctionType) else None
        file = self._files.of_path(inner.__code__.co_filename) if isinstance(inner, FunctionType) else None
        if file is None or not isinstance(inner, FunctionType) or (file.name, inner.__qualname__) in self._seen:
            self.add(f"closure {name}", _simple_text(value) or type(value).__qualname__)
            return
        self._seen.add((file.name, inner.__qualname__))
        node = file.function_at(inner.__code__.co_firstlineno, inner.__code__.co_name)
        self._statement(file, f"closure {name}", file.tree if node is None else node)

    def name(self, file: SourceFile, name: str) -> None:
        """Follow one global name of a module."""
        if (file.name, name) in self._seen:
            return
        self._seen.add((file.name, name))
        bindings = file.bindings.get(name)
        if bindings is None:
            for star in file.stars:  # it may come from `from x import *`
                self._import(file, star, name)
            return
        value = self._value(file, name)
        if value is not None and not any(isinstance(each, (ast.Import, ast.ImportFrom)) for each in bindings):
            self.add(f"{file.name}.{name}", value)
            for each in bindings:
                self._named_files(file, each)
            return
        for index, statement in enumerate(bindings):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._import(file, statement, name)
            else:
                self._statement(file, f"{file.name}.{name}[{index}]", statement)

    def module(self, file: SourceFile) -> None:
        """Take a project module as a whole, and what it imports."""
        if (file.name, "*") in self._seen:
            return
        self._seen.add((file.name, "*"))
        self._statement(file, f"module {file.name}", file.tree)

    def _statement(self, file: SourceFile, key: str, node: ast.AST) -> None:
        plain = without_docstrings(node)
        self.add(key, ast.unparse(plain))
        self._named_files(file, plain)
        for name in sorted(file.names_used(node)):
            self.name(file, name)
        for each in ast.walk(node):
            if isinstance(each, (ast.Import, ast.ImportFrom)):
                for alias in each.names:
                    self._import(file, each, alias.asname or alias.name.partition(".")[0])

    def _named_files(self, file: SourceFile, node: ast.AST) -> None:
        """Take in the files that a piece of code names: they are packed with it, and decide as much as it does."""
        texts = {
            each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        for text in sorted(texts):
            for name, data in self._files.named_by(file, text):
                self.add(f"file {name}", hashlib.sha256(data).hexdigest())

    def _import(self, file: SourceFile, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                if (alias.asname or alias.name.partition(".")[0]) == name:
                    self._imported_module(alias.name, name)
            elif alias.name == "*":
                self._imported_name(file.absolute(statement), name, name, is_certain=False)
            elif (alias.asname or alias.name) == name:
                self._imported_name(file.absolute(statement), alias.name, name, is_certain=True)

    def _imported_module(self, module: str, name: str) -> None:
        target = self._files.of_module(module)
        if target is None:
            self.add(f"import {name}", module)
        else:
            self.module(target)

    def _imported_name(self, module: str, attribute: str, name: str, *, is_certain: bool) -> None:
        target = self._files.of_module(module)
        submodule = self._files.of_module(f"{module}.{attribute}")
        if target is not None and (attribute in target.bindings or target.stars):
            self.name(target, attribute)
        elif submodule is not None:
            self.module(submodule)
        elif target is not None and is_certain:
            self.module(target)
        elif target is None and is_certain:
            self.add(f"import {name}", f"{module}.{attribute}")

    def _value(self, file: SourceFile, name: str) -> str | None:
        module = self._modules.get(file.name)
        if module is None or not hasattr(module, name):
            return None
        return _simple_text(getattr(module, name))


def _simple_text(value: object) -> str | None:
    """Answer a value as a text that is equal for equal values, or None when the value is not simple."""
    if type(value) in _SIMPLE:
        return repr(value)
    if type(value) in (list, tuple, set, frozenset):
        items = [_simple_text(each) for each in value]  # type: ignore[attr-defined]
        texts = [each for each in items if each is not None]
        if len(texts) < len(items):
            return None
        ordered = sorted(texts) if isinstance(value, (set, frozenset)) else texts
        return f"{type(value).__name__}({', '.join(ordered)})"
    if type(value) is dict:
        pairs = [(_simple_text(key), _simple_text(each)) for key, each in value.items()]
        if any(key is None or each is None for key, each in pairs):
            return None
        return f"dict({', '.join(f'{key}: {each}' for key, each in pairs)})"
    return None


def with_digest(
    definition: ComponentDefinition, function: Callable[..., object], digests: Digests, root: Path
) -> ComponentDefinition:
    """Answer a component with the digest of its code.

    Of a function that is what a Ripple's is. An external program is everything in `programs/`, and each file or module
    of the project that its command names; what else it opens at run time is not seen.
    """
    if definition.is_external:
        digest = digest_of("program", *_program_parts(definition, digests, root))
    else:
        schema = schema_of(function)
        digest = digest_of(digests.of_function(function), "" if schema is None else digests.of_function(schema))
    return msgspec.structs.replace(definition, digest=digest)


def _program_parts(definition: ComponentDefinition, digests: Digests, root: Path) -> Iterator[str]:
    if not definition.command:
        return  # somebody else has it
    for path in program_files(root):
        yield _file_part(path, root)
    for part in definition.command:
        path = root / part
        if part and path.is_file() and path.resolve().is_relative_to(root) and Path(part).parts[0] != PROGRAMS:
            yield _file_part(path, root)
            yield _module_part(module_name(Path(part)), digests) if path.suffix == ".py" else ""
        else:
            yield _module_part(part, digests)


def _module_part(name: str, digests: Digests) -> str:
    try:
        return digests.of_module(name)
    except SyntaxError:
        return ""  # written for another Python: the bytes of its file are all that is known of it


def _file_part(path: Path, root: Path) -> str:
    return f"{path.relative_to(root).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}"

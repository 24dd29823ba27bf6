"""Comparing timelines: the order inside a scope matters, the interleaving of scopes does not (C-03)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pondage.kernel.control import Index
from pondage.kernel.control.shape import ScopeKind

Timeline = list[tuple[int, list[str]]]

_NUMBERS = re.compile(r"\[#(\d+)\]")
_EDGE = re.compile(r"«(.+) -(\w+)-> (.+)»")
_WRITE = re.compile(r"(\S+?)=(.*) @\(\d+,\d+\)(?: old=.*)?\Z", re.DOTALL)


class Scopes:
    """Which scope each line of a timeline belongs to."""

    def __init__(self, index: Index) -> None:
        self.components: dict[str, tuple[tuple[str, ...], int]] = {}
        self.names: dict[str, tuple[tuple[str, ...], int]] = {}
        self._read(index, ())

    def _read(self, index: Index, path: tuple[str, ...]) -> None:
        for component in index.plan.components:
            self.components[component.name] = (path, component.scope)
        for number, scope in enumerate(index.plan.scopes):
            if scope.kind is ScopeKind.JOBLET:
                self.names[scope.name] = (path, number)
        for sub in index.plan.subs:
            self.names["/".join((*path[-1:], sub.name))] = (path, sub.scope)
        for name, body in index.bodies.items():
            self.names[f"{name}[]"] = ((*path, name), 0)
            self._read(body, (*path, name))

    def of(self, line: str, last: str) -> str:
        """Give the scope of a line; a write belongs to whatever settled before it, `last`."""
        if (edge := _EDGE.match(line)) is not None:
            if edge[2].startswith("iteration_"):
                return self._named(edge[1])
            return self._component(edge[3] if edge[2] == "synchronise" else edge[1])
        word, _, rest = line.partition(" ")
        if word in ("job", "signal"):
            return "/0"
        if word == "iterator":
            return self._component(rest.split(" ")[0])
        if word == "sub-job" and rest.endswith("[ITERATION_HALTED]"):
            return self._iterator(rest.split(" ")[0])
        if word == "ckpt":
            name = rest.rpartition("=")[0]
            return self._component(name[5:]) if name.startswith("fork:") else self._named(name)
        if word in ("sub-job", "restored"):
            return self._named(rest.split(" ")[0])
        return last if _WRITE.match(line) else self._component(word)

    def _component(self, instance: str) -> str:
        numbers = ".".join(_NUMBERS.findall(instance))
        path, scope = self.components.get(_NUMBERS.sub("", instance), (("?",), 0))
        return f"{'.'.join(path)}#{numbers}/{scope}" if path else f"/{scope}"

    def _iterator(self, name: str) -> str:
        own, *outer = _NUMBERS.findall(name) or [""]
        del own
        return self._component(_NUMBERS.sub("", name) + "".join(f"[#{number}]" for number in outer))

    def _named(self, name: str) -> str:
        level, _, sub = name.partition("/")
        numbers, plain = _NUMBERS.findall(level), _NUMBERS.sub("", level)
        if numbers and f"{plain}[]" in self.names:
            path, scope = self.names[f"{plain}[]"]
            if sub:
                path, scope = self.names.get(f"{plain}/{sub}", (path, 0))
            # An iteration's own number stands first, the outer ones behind it.
            return f"{'.'.join(path)}#{'.'.join([*numbers[1:], numbers[0]])}/{scope}"
        path, scope = self.names.get(plain, (("?",), 0))
        return f"{'.'.join(path)}#{'.'.join(numbers)}/{scope}" if path else f"/{scope}"


def differences(expected: Timeline, got: Timeline, index: Index, name: str) -> Iterator[tuple[str, object, object]]:
    """Give what differs, instant by instant and scope by scope."""
    scopes = Scopes(index)
    wanted, found = dict(expected), dict(got)
    for tick in sorted(wanted.keys() | found.keys()):
        one, other = _by_scope(wanted.get(tick, []), scopes), _by_scope(found.get(tick, []), scopes)
        for scope in sorted(one.keys() | other.keys()):
            if one.get(scope) != other.get(scope):
                yield f"{name} at {tick}", one.get(scope, []), other.get(scope, [])


def _by_scope(lines: list[str], scopes: Scopes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    writes: dict[str, int] = {}
    last = "/0"
    for line in lines:
        is_write = _WRITE.match(line) is not None and not line.startswith(("«", "ckpt "))
        last = scopes.of(line, last)
        texts = found.setdefault(last, [])
        texts.append(normal(line))
        if is_write:
            first = writes.setdefault(last, len(texts) - 1)
            texts[first:] = sorted(texts[first:])
        else:
            writes.pop(last, None)
    return found


def normal(line: str) -> str:
    """Give a line without the free part of an error's text: everything behind its first colon."""
    match = re.match(r"(\S+ ERROR \[[^:\]]*):.*\]\Z", line, re.DOTALL)
    if match is not None:
        return f"{match[1]}]"
    write = re.match(r"""(\S+__ERROR_MESSAGE=)(['"])([^:]*?)(?::.*)?\2( @\(\d+,\d+\))(.*)\Z""", line, re.DOTALL)
    return f"{write[1]}{write[3]}{write[4]}{_old(write[5])}" if write is not None else line


def _old(text: str) -> str:
    return re.sub(r"""( old=)(['"])([^:]*?)(?::.*)?\2\Z""", r"\1\3", text, flags=re.DOTALL)


def normal_value(key: str, value: object) -> object:
    """Give a global without the free part of an error's text."""
    if key.endswith("__ERROR_MESSAGE") and isinstance(value, str):
        return value.partition(":")[0]
    return value

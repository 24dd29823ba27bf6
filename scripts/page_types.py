"""Write the types of the page from the structs that the server answers, so that neither can say anything else.

`python -m scripts.page_types` rewrites `ui/src/types.ts`; `make lint` sees when that was forgotten.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from pondage.server.openapi import answers_of
from pondage.server.routes import ROUTES
from pondage.views.installation.feed import Changes, Reset, Snapshot
from pondage.views.problems import Problem
from pondage.work.answers import QueryView

PLACE = Path(__file__).resolve().parent.parent / "ui" / "src" / "types.ts"
HEADER = "// Written by `python -m scripts.page_types` from the server's structs. Do not edit.\n"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def written() -> str:
    """Answer the whole file."""
    _, found = msgspec.json.schema_components(_kinds(), schema_hook=_any, ref_template="{name}")
    return HEADER + "".join(f"\n{_named(name, schema)}" for name, schema in sorted(found.items()))


def _kinds() -> list[object]:
    return [Problem, QueryView, Snapshot, Changes, Reset, *(kind for route in ROUTES for kind in answers_of(route))]


def _any(kind: type) -> dict[str, Any]:
    if kind is not object:
        raise NotImplementedError
    return {"description": "Any JSON value."}


def _plain(name: str) -> str:
    """Answer the name of a type; of two with the same one each is named after its module, too."""
    *_, module, plain = ["", *name.split(".")]
    return module.capitalize() + plain


def _named(name: str, schema: dict[str, Any]) -> str:
    name = _plain(name)
    if schema.get("type") != "object" or "properties" not in schema:
        return f"export type {name} = {_type(schema)};\n"
    required = set(schema.get("required", ()))
    # A field with a default is always sent, unless the struct leaves its defaults out.
    lines = [
        f"  {field}{'?' if name == 'Changes' and field not in required else ''}: {_type(value)};\n"
        for field, value in schema["properties"].items()
    ]
    return f"export interface {name} {{\n{''.join(lines)}}}\n"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _plain(str(schema["$ref"]))
    if "enum" in schema:
        return _union(f'"{value}"' if isinstance(value, str) else "null" for value in schema["enum"])
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "anyOf" in schema:
        return _union(_type(each) for each in schema["anyOf"])
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"[{', '.join(_type(each) for each in schema['prefixItems'])}]"
        case "array":
            inner = _type(schema.get("items") or {})
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case "object":
            return f"Record<string, {_type(schema.get('additionalProperties') or {})}>"
        case list() as several:
            return _union(PLAIN[each] for each in several)
        case str() as one:
            return PLAIN[one]
        case _:
            return "unknown"


def _union(kinds: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(kinds))


def main(arguments: list[str]) -> int:
    """Write the file; with `--check` only say whether it is what would be written."""
    if "--check" not in arguments:
        PLACE.write_text(written(), encoding="utf-8")
    elif PLACE.read_text(encoding="utf-8") != written():
        print(f"{PLACE} is not what the server answers; write it anew: python -m scripts.page_types")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

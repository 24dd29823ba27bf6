"""The tables of rooms in ARCHITECTURE.md: from the import contracts in pyproject.toml, and what packages say they are.

`python -m scripts.rooms` writes them, `--check` only tells whether they are current (`make lint`). A folder of the
package without a contract that says its purpose is an error.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
from grimp import ImportGraph

from scripts.import_contracts import is_in_a_room, room_of, where

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- rooms: python -m scripts.rooms -->\n", "<!-- end of rooms -->\n"
HEAD = "| room | what is in it | may import | and the packages |\n|---|---|---|---|\n"
INNER_HEAD = "| inside | what is in it |\n|---|---|\n"


def contracts(configuration: str) -> dict[str, dict[str, object]]:
    """Answer the contract of each room, in the order of pyproject.toml."""
    found = tomllib.loads(configuration)["tool"]["importlinter"]["contracts"]
    return {room: one for one in found if one.get("purpose") for room in one["rooms"]}


def table(of: dict[str, dict[str, object]]) -> str:
    """Answer the table, a row for each room."""
    rows = (
        f"| `{room}/` | {one['purpose']} | {_names(one['only_rooms'])} | {_names(one['only_packages'])} |\n"
        for room, one in of.items()
    )
    return HEAD + "".join(rows)


def inner_table(package: Path) -> str:
    """Answer the table of folders in rooms: the first sentence of each."""
    rows = []
    for path in sorted(package.glob("*/**/__init__.py")):
        folder = path.parent.relative_to(package).as_posix()
        if "/" in folder:
            said = ast.get_docstring(ast.parse(path.read_bytes())) or ""
            rows.append(f"| `{folder}/` | {' '.join(said.partition(chr(10) * 2)[0].split())} |\n")
    return INNER_HEAD + "".join(rows)


def _names(of: object) -> str:
    return ", ".join(map(str, of)) if isinstance(of, list) and of else "–"


def imports_outside(graph: ImportGraph, of: dict[str, dict[str, object]]) -> Iterator[str]:
    """Say which imports of rooms the table lacks: also those for types only, which contracts pass over."""
    for module in sorted(graph.modules):
        room = room_of(module)
        for imported in sorted(graph.find_modules_directly_imported_by(module)) if room in of else ():
            allowed = of[room]["only_rooms"]
            if (
                is_in_a_room(graph, imported)
                and isinstance(allowed, list)
                and room_of(imported) not in (room, *allowed)
            ):
                yield where(graph, module, imported)


def rooms_in(package: Path) -> set[str]:
    """Answer the folders of the package that hold modules."""
    return {each.name for each in package.iterdir() if each.is_dir() and any(each.rglob("*.py"))}


def written(document: str, rooms: str) -> str:
    """Answer the document with this table between its two marks; raises ValueError when they are missing."""
    before, mark, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"ARCHITECTURE.md lacks {BEGIN.strip()} or {END.strip()}")
    return f"{before}{BEGIN}\n{rooms}\n{END}{after}"


def main(arguments: list[str]) -> int:
    """Write the table, or check it; the exit code is 1 when a room has no contract or the table is not current."""
    of = contracts((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    package = ROOT / "src" / "pondage"
    missing = sorted(rooms_in(package) - of.keys())
    for room in missing:
        print(f"{room}/ has no contract with a purpose in pyproject.toml ([[tool.importlinter.contracts]])")
    path = ROOT / "ARCHITECTURE.md"
    outside = list(imports_outside(grimp.build_graph("pondage", cache_dir=None), of))
    for each in outside:
        print(each)
    document = path.read_text(encoding="utf-8")
    wanted = written(document, f"{table(of)}\n{inner_table(package)}")
    if "--check" in arguments:
        if document != wanted:
            print("the tables of rooms in ARCHITECTURE.md are not current: python -m scripts.rooms")
        return int(bool(missing or outside) or document != wanted)
    path.write_text(wanted, encoding="utf-8")
    return int(bool(missing or outside))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

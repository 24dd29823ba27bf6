"""Write what every error code means, and what helps, from the places in the code that raise it.

`python -m scripts.error_codes` rewrites `docs/errors.md` and what `pondage error CODE` prints; a test sees when that
was forgotten. Nobody writes a second text beside the message that a person is shown.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "pondage"
DATA = SOURCE / "cli" / "look" / "error_codes.json"
PAGE = ROOT / "docs" / "errors.md"
MOST = 6
"""So many messages of one code are listed: the others say the same of other things."""
_CODE = re.compile(r"[A-Z][A-Z0-9_]{2,}\Z")
_HEAD = """# Error codes

Whatever goes wrong is said as `error[CODE]: what happened`, with the place where it is known and what to type next. A
code never changes its meaning, so scripts may rely on it: it is `error.code` in `--json` and in what the server
answers. `pondage error CODE` prints what stands here. This page is written from the code; `…` stands for what differs.

"""


@dataclass(slots=True)
class Meaning:
    """One code: what its kind of error is, and the messages with what helps, as they are written in the code."""

    kind: str = ""
    said: dict[str, str] = field(default_factory=dict)


def codes() -> dict[str, Meaning]:
    """Answer every code that the program can show, by its name."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))]
    kinds = dict(_kinds(trees))
    found: dict[str, Meaning] = {}
    for code, kind in kinds.values():
        found.setdefault(code, Meaning(kind=kind))
    for tree in trees:
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            given = {each.arg: each.value for each in call.keywords if each.arg is not None}
            code = _text(given["code"]) if "code" in given else kinds.get(_name(call.func), ("", ""))[0]
            message = given.get("message", call.args[0] if call.args else None)
            if not _CODE.match(code) or message is None:
                continue
            text = _text(message)
            if len(text.replace("…", "").strip()) > 3:
                found.setdefault(code, Meaning()).said.setdefault(text, _text(given["hint"]) if "hint" in given else "")
    return {code: found[code] for code in sorted(found) if found[code].kind or found[code].said}


def _kinds(trees: list[ast.Module]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Answer each class of errors that has a code of its own, with the first line of what it says of itself."""
    for tree in trees:
        for each in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            for line in each.body:
                if isinstance(line, ast.Assign) and _name(line.targets[0]) == "code" and _CODE.match(_text(line.value)):
                    yield each.name, (_text(line.value), (ast.get_docstring(each) or "").partition("\n")[0])


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _text(node: ast.expr | None) -> str:
    """Answer a text as it is written, with `…` for everything that is put in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        whole = "".join(_text(each) if isinstance(each, ast.Constant) else "…" for each in node.values)
        return re.sub(r"…(\s*…)+", "…", whole)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_text(node.body)} / {_text(node.orelse)}"
    return "…"


def as_json(found: dict[str, Meaning]) -> str:
    """Answer what the verb reads."""
    shown = {
        code: {"kind": each.kind, "said": [[said, hint] for said, hint in list(each.said.items())[:MOST]]}
        for code, each in found.items()
    }
    # A line for each code, so that a change of one is a change of one line.
    lines = (f"{json.dumps(code)}: {json.dumps(each, ensure_ascii=False)}" for code, each in shown.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def as_page(found: dict[str, Meaning]) -> str:
    """Answer the page of the documentation."""
    parts = [_HEAD]
    for code, each in found.items():
        parts.append(f"## {code}\n\n{each.kind}\n\n" if each.kind else f"## {code}\n\n")
        for said, hint in list(each.said.items())[:MOST]:
            parts.append(f"- {_plain(said)}" + (f"  \n  → {_plain(hint)}" if hint.strip("… ") else "") + "\n")
        parts.append("\n" if each.said else "")
    return "".join(parts).rstrip() + "\n"


def _plain(text: str) -> str:
    """Answer a text on one line that Markdown leaves as it is."""
    return re.sub(r"([*_<>\[\]#|])", r"\\\1", " ".join(text.split()))


def main(arguments: list[str]) -> int:
    """Write both, or with `--check` say whether they are current."""
    found = codes()
    stale = [path for path, text in ((DATA, as_json(found)), (PAGE, as_page(found)))
             if not path.is_file() or path.read_text(encoding="utf-8") != text]  # fmt: skip
    if "--check" in arguments:
        if stale:
            print(f"{', '.join(str(each.relative_to(ROOT)) for each in stale)}: python -m scripts.error_codes")
        return 1 if stale else 0
    DATA.write_text(as_json(found), encoding="utf-8")
    PAGE.write_text(as_page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

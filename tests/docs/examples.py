"""Examples in documents: blocks of code with their line, and console blocks as commands with what they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+#\s.*$")


class Block(msgspec.Struct, frozen=True):
    """A fenced block."""

    document: str
    line: int
    language: str
    text: str


class Example(msgspec.Struct, frozen=True):
    """A command, and the lines that follow it in the document; `…` stands for anything, alone also for any lines."""

    place: str
    words: tuple[str, ...]
    printed: tuple[str, ...]


def blocks(document: Path, language: str) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(str(document.relative_to(ROOT)), text.count("\n", 0, found.start()) + 2, found[1], found[2])
        for found in _FENCE.finditer(text)
        if found[1] == language
    ]


def examples(document: Path) -> list[Example]:
    """Answer every command of a document, in order. A block has prompts (`$ …`) and output, or only commands."""
    found: list[Example] = []
    for block in blocks(document, "console"):
        lines = block.text.splitlines()
        has_prompts = any(line.startswith("$ ") for line in lines)
        for number, line in enumerate(lines):
            if has_prompts and not line.startswith("$ "):
                continue
            command = _COMMENT.sub("", line.removeprefix("$ "))
            printed: list[str] = []
            for following in lines[number + 1 :] if has_prompts else []:
                if following.startswith("$ "):
                    break
                printed.append(following)
            words = tuple(shlex.split(command))
            if words:
                found.append(Example(f"{block.document}:{block.line + number}", words, tuple(printed)))
    return found


def matches(printed: str, expected: tuple[str, ...]) -> bool:
    """Answer whether something was printed as the document says."""
    pattern = []
    for line in expected:
        if line.strip() == "…":
            pattern.append(r"(?:.*\n)*?")
        else:
            parts = [re.escape(part.rstrip() if at else part) for at, part in enumerate(line.split("…"))]
            pattern.append(r".*".join(parts).replace(r"\ ", " ") + "\n")
    return re.fullmatch("".join(pattern), printed) is not None

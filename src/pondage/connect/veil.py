"""What this process must never print: the values of secrets it has opened, taken out of logs and messages.

There is one veil for each process, as there is one log: whoever writes something for people passes it through `veiled`.
"""

from __future__ import annotations

import json
import mmap
import threading
from pathlib import Path
from urllib.parse import quote, quote_plus

SHORTEST = 4
"""A shorter value is not looked for: it would make holes in ordinary words."""
SHOWN = "***"


class Veil:
    """Values that are taken out of texts. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[str, ...] = ()

    def learn(self, value: str) -> None:
        """Take this value out from now on, and the forms in which a URL, JSON or Python would show it."""
        forms = {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1], repr(value)[1:-1]}
        # A log is written line by line, so each line of a longer secret is one.
        forms |= {line.strip() for line in value.splitlines()}
        with self._lock:
            # The longest first: one secret may be a part of another.
            found = {*self._known, *(form for form in forms if len(form) >= SHORTEST)}
            self._known = tuple(sorted(found, key=len, reverse=True))

    def over(self, text: str) -> str:
        """Answer the text without the known values."""
        for value in self._known:
            if value in text:
                text = text.replace(value, SHOWN)
        return text

    def over_file(self, path: Path) -> None:
        """Blank the known values in a file that another program appends to; nothing in it moves."""
        if not self._known or not path.exists() or path.stat().st_size == 0:
            return
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
            for value in self._known:
                sought = value.encode()
                at = content.find(sought)
                while at >= 0:
                    content[at : at + len(sought)] = b"*" * len(sought)
                    at = content.find(sought, at)


_process = Veil()
learn = _process.learn
veiled = _process.over
veil_file = _process.over_file

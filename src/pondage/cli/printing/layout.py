"""How a table fits into the width that there is: no word is broken, and a row that cannot fit becomes pairs."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence

import msgspec

GAP = "  "
INDENT = "    "
SEPARATOR = " · "
NARROW = 24
"""A last column that gets less than this, and has more to say, stands below its rows."""
SPACE = "\u00a0"
"""A space at which no line is broken."""


class Cell(msgspec.Struct, frozen=True):
    """A text with a style that only a terminal shows."""

    text: str
    style: str = ""


Row = Sequence[Cell | str]
Line = list[Cell]
"""What is printed in one line, piece after piece."""


def screen_width() -> int:
    """Answer how many columns there are: those of the terminal, or of `COLUMNS`; 80 where nobody says."""
    return shutil.get_terminal_size((80, 24)).columns


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Row],
    *,
    numbers: Sequence[str] = (),
    width: int | None = None,
    is_whole: bool = False,
) -> list[Line]:
    """Answer a table as aligned lines, no longer than `width` unless a single word is; None is endless.

    A column that has nothing in any row is left out, unless the table `is_whole`. Where not even the longest words fit
    side by side, the last columns are written below each row, or each row as its names with their values.
    """
    cells = [[_cell(each) for each in row] for row in rows]
    kept = [at for at, _ in enumerate(columns) if is_whole or not cells or any(row[at].text for row in cells)]
    names = [columns[at] for at in kept]
    cells = [[row[at] for at in kept] for row in cells]
    # Two columns at least stay side by side; what stands at the right of them goes below the row.
    for most in range(len(names), min(1, len(names) - 1), -1):
        found = _rows(names, cells, numbers, width, most)
        if found is not None:
            return found
    return list(_records(names, cells, width))


def _rows(
    names: list[str], cells: list[list[Cell]], numbers: Sequence[str], width: int | None, most: int
) -> list[Line] | None:
    """Answer rows of so many columns with the others below each; None when these do not fit."""
    heads = [Cell(name, "bold") for name in names]
    widths = _widths([row[:most] for row in (heads, *cells)], width)
    if widths is None:
        return None
    # A text at the right that would become a narrow tower is read better below its row.
    if most > 2 and widths[-1] < min(NARROW, max((len(row[most - 1].text) for row in cells), default=0)):
        return None
    is_number = [name in numbers for name in names[:most]]
    room = None if width is None else width - len(INDENT)
    lines: list[Line] = []
    for row in (heads, *cells):
        lines += _wrapped(row[:most], widths, is_number)
        below = SEPARATOR.join(each.text for each in row[most:] if each.text)
        style = next((each.style for each in row[most:] if each.style), "")
        lines += [[Cell(INDENT), Cell(part, style)] for part in _parts(below, room) if part]
    return lines


def unbroken(text: str) -> str:
    """Answer a text that is never broken at its spaces."""
    return text.replace(" ", SPACE)


def pair_lines(pairs: Sequence[tuple[str, Cell | str]], *, width: int | None = None) -> Iterator[Line]:
    """Give names with their values, each value below its own beginning where it is longer than a line."""
    indent = max((len(name) for name, _ in pairs), default=0)
    room = None if width is None else max(20, width - indent - len(GAP))
    for name, given in pairs:
        value = _cell(given)
        for at, part in enumerate(_parts(value.text, room)):
            yield [Cell((name if at == 0 else "").ljust(indent), "dim"), Cell(GAP), Cell(part, value.style)]


def line_text(line: Line) -> str:
    """Answer a line without any style."""
    return "".join(each.text for each in line).replace(SPACE, " ").rstrip()


def _cell(given: Cell | str) -> Cell:
    return given if isinstance(given, Cell) else Cell(given)


def _records(names: list[str], rows: list[list[Cell]], width: int | None) -> Iterator[Line]:
    for at, row in enumerate(rows):
        if at:
            yield []
        yield from pair_lines([(name, cell) for name, cell in zip(names, row, strict=True) if cell.text], width=width)


def _widths(rows: list[list[Cell]], width: int | None) -> list[int] | None:
    """Answer how wide each column is: as its longest text, or cut down evenly to what its longest word needs."""
    columns = list(zip(*rows, strict=True))
    whole = [max(len(cell.text.replace("\n", " ")) for cell in column) for column in columns]
    if width is None:
        return whole
    room = width - len(GAP) * (len(columns) - 1)
    if sum(whole) <= room:
        return whole
    least = [max((len(word) for cell in column for word in _words(cell.text)), default=0) for column in columns]
    if sum(least) > room:
        return None
    most = max(whole)
    while sum(_cut(whole, least, most)) > room:
        most -= 1
    found = _cut(whole, least, most)
    for at in range(len(found)):  # what cutting evenly has left over
        more = min(whole[at] - found[at], room - sum(found))
        found[at] += more
    return found


def _cut(whole: list[int], least: list[int], most: int) -> list[int]:
    return [max(small, min(large, most)) for small, large in zip(least, whole, strict=True)]


def _words(text: str) -> list[str]:
    return [word for line in text.split("\n") for word in line.split(" ")]


def _parts(text: str, width: int | None) -> list[str]:
    """Answer a text in lines of at most that many characters, broken at spaces only; there is at least one."""
    line = " ".join(text.split("\n"))
    if width is None or len(line) <= width:
        return [line]
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]


def _wrapped(row: list[Cell], widths: list[int], is_number: list[bool]) -> Iterator[Line]:
    parts = [_parts(cell.text, width) for cell, width in zip(row, widths, strict=True)]
    for at in range(max(map(len, parts), default=0)):
        line: Line = []
        for cell, found, width, at_right in zip(row, parts, widths, is_number, strict=True):
            text = found[at] if at < len(found) else ""
            line += [Cell(GAP)] if line else []
            line.append(Cell(text.rjust(width) if at_right else text.ljust(width), cell.style))
        yield line

"""What the embedded engine is asked: a text, the tables that it may see, and how much it may cost."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.errors import PondageError

Parameter = str | int | float | bool | None
MEBIBYTE = 1024 * 1024


class QuestionRefused(PondageError):
    """A text that is no plain question about the tables: a command, a file, a setting, a table that is not there."""

    code = "QUERY_REFUSED"


class TableFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A table under a name: exactly these files, read with exactly this schema (Spark's JSON form)."""

    name: str
    schema: str
    files: tuple[str, ...]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one question may cost. `rows` and `size` are of the answer; `scratch` is a directory for what must spill."""

    scratch: str
    seconds: float = 60.0
    memory: int = 1024 * MEBIBYTE
    spill: int = 2048 * MEBIBYTE
    threads: int = 2
    rows: int | None = None
    size: int | None = None
    when_full: Literal["cut", "refuse"] = "cut"
    """What happens at `rows` or `size`: the answer ends there and says so, or it is refused."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One SELECT in DuckDB's SQL over tables of a schema `ponds` in a catalog, which is the environment's name."""

    sql: str
    tables: tuple[TableFiles, ...]
    limits: Limits
    catalog: str = "main"
    parameters: tuple[Parameter, ...] = ()
    is_described: bool = False
    """Only the columns are wanted: nothing is read."""

"""What a Run has decided to take of a folder: its position, which the next one goes on from. Plain values."""

from __future__ import annotations

import msgspec


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """Which files are meant: everything that decides it, so that the same question can be asked again later.

    `settle_us` leaves files that were touched so lately, `marker` those beside which no file says that they are
    complete (`*` stands for the file's name). `ignores_replaced`: another file under a known name is nothing to do.
    """

    path: str
    glob: str = "*"
    settle_us: int = 0
    marker: str | None = None
    ignores_replaced: bool = False


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Files with one schema: their own, as Spark's JSON, and the columns that their folders name."""

    own: str
    folders: tuple[str, ...] = ()


class List(msgspec.Struct, frozen=True, kw_only=True):
    """A list as a snapshot names it."""

    name: str
    files: int


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What one Run takes, and what is known when it has: decided once, before anything is read.

    `lists` hold from then on; `batch` is the one of this Run's files. `more` files are left for the next Run, `waiting`
    are not complete yet. `forgotten` is the last wish to take a file again that was granted. `again` are those of this
    Run's files that were taken before, as rows name them, when their older rows are to go.
    """

    folder: Folder
    schema: str
    groups: tuple[Group, ...] = ()
    lists: tuple[List, ...] = ()
    batch: str | None = None
    files: int = 0
    bytes: int = 0
    more: int = 0
    waiting: int = 0
    forgotten: int = 0
    again: tuple[str, ...] = ()

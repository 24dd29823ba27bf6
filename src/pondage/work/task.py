"""A task: what a claim brings along so that a piece of work can be done."""

from __future__ import annotations

import msgspec


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The base of the tasks of all kinds of work. What is said here is what a worker asks of any of them."""

    @property
    def title(self) -> str | None:
        """Answer what Spark's own tools call its jobs; None is the kind and the name of the work."""
        return None

    @property
    def folder(self) -> str:
        """Answer where its logs lie below those of a project. Always an id of the ledger or a word of ours."""
        return "queries"

    @property
    def declared_at(self) -> str | None:
        """Answer the author's file and line, where one is known."""
        return None

    @property
    def is_endless(self) -> bool:
        """Answer whether it never ends by itself, so that a worker that drains must not wait for it."""
        return False

    @property
    def waits_for_room(self) -> bool:
        """Answer whether its time counts only when Spark has begun with it: others may have every thread until then."""
        return False

    @property
    def has_summary(self) -> bool:
        """Answer whether what Spark did for it is kept, for people who look at it later."""
        return False

    def progress_lease_s(self, default_s: float | None) -> float | None:
        """Answer how long it may go without progress; `default_s` is what the project says. None is for ever."""
        del default_s
        return None

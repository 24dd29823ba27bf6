"""Carrying out a Ripple whose table is kept up to date: what the ledger knows of the table and of its inputs."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from pondage.define.pond.definition import ReadDefinition
from pondage.define.pond.verification import Verification
from pondage.engine.attempt.followed_tables import Following
from pondage.ledger.commit.increments import BaseTable, Increments
from pondage.ledger.kinds.ripple import RippleTask
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.step.bases import Base
from pondage.work.changed import Changed
from pondage.work.snapshot import Increment, SnapshotContent
from pondage.work.upkeep import Upkeep

if TYPE_CHECKING:
    from pondage.spark.ripple.automatic import Automatic

BESIDE = ("keys0", "keys1", "keys2", "whole")
"""What a Run writes beside its table, for itself alone: the keys of its slices, and what it compares with."""


class AutomaticTable:
    """One Ripple of a claim in a Pond with `mode="auto"`."""

    def __init__(self, ledger: Ledger, claim: Claim, task: RippleTask, following: Following) -> None:
        self._task = task
        self._following = following
        self._increments = Increments(ledger, claim)

    def work(self) -> Automatic:
        """Answer what the data plane asks; most of it only after the author's code was called."""
        from pondage.spark.ripple.automatic import Automatic

        return Automatic(
            inputs=self.inputs,
            base=lambda: None if self.table is None else self.table.content,
            before=lambda: self.before,
            why_full=self.why_full,
            code=_code(self._task),
            verification=self._task.definition.verify or Verification(),
        )

    def with_increment(self, content: SnapshotContent) -> SnapshotContent:
        """Answer the snapshot with what it extends, and how far it has taken in its inputs: all of them, always."""
        made = content.increment or Increment()
        name = self._task.definition.name
        pins = {read.table(name): self._increments.pin(read.parameter) for read in self._task.ripple.tables}
        goes_on = content.upkeep is not None and content.upkeep.how != "full"
        assert self._base is not None or not goes_on
        return msgspec.structs.replace(
            content,
            increment=msgspec.structs.replace(
                made,
                base=self._base.snapshot if goes_on and self._base is not None else None,
                manifest=self.table.manifest if goes_on and self.table is not None else None,
                cursors={table: pin for table, pin in pins.items() if pin is not None},
            ),
        )

    @cached_property
    def _base(self) -> Base | None:
        return self._increments.base()

    @cached_property
    def table(self) -> BaseTable | None:
        """Answer the table as it was, None when there is none or retention has taken files of it."""
        return None if self._base is None else self._increments.whole_table(self._base.snapshot)

    @property
    def before(self) -> Upkeep | None:
        """Answer what the Run that made it left for this one."""
        return None if self._base is None else self._base.content.upkeep

    def why_full(self) -> str:
        """Answer what speaks against going on from it, empty when nothing does. Asked after the author's call."""
        if self._increments.is_asked_full:
            return "somebody asked for it"
        if self._following.is_asked:
            return "the function asks for run.changes, run.previous or run.is_full, so it says itself what it takes"
        if self._base is None:
            return "it is the first Run"
        if self._base.content.upkeep is None:
            return 'the table was made without mode="auto"'
        if self.table is None:
            return "retention has taken files of the table as it was"
        absent = sorted(
            read.parameter
            for read in self._task.ripple.tables
            if (self._cursor(read) is None) != (self._increments.pin(read.parameter) is None)
        )
        return f"{absent[0]} was not there before, or is not there any more" if absent else ""

    def _cursor(self, read: ReadDefinition) -> int | None:
        increment = None if self._base is None else self._base.content.increment
        return None if increment is None else increment.cursors.get(read.table(self._task.definition.name))

    def inputs(self) -> dict[str, Changed]:
        """Answer what became of the inputs since it was made."""
        found: dict[str, Changed] = {}
        for read in self._task.ripple.tables:
            new, cursor, pin = (
                self._task.inputs[read.parameter],
                self._cursor(read),
                self._increments.pin(read.parameter),
            )
            if new is None or pin is None:
                continue
            changes = None if cursor is None else self._increments.changes(cursor=cursor, pin=pin)
            old = self._increments.whole_table(cursor) if cursor is not None and changes and changes.rows else None
            found[read.parameter] = Changed(
                new=new, changes=changes, old=None if old is None else old.content, columns=read.columns
            )
        return found


def _code(task: RippleTask) -> str:
    """Answer the fingerprint of the code, of its parameters, and of how it reads its inputs."""
    parts = [task.ripple.digest, sorted(task.ripple.parameters.items()), [_read(each) for each in task.ripple.tables]]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _read(read: ReadDefinition) -> list[object]:
    return [read.parameter, read.pond, read.ripple, read.columns]

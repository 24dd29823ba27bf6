"""Declarations as plain values: what `deploy` stores, what a plan compares, what a worker carries out.

The author's objects (`Pond`, `Ripple` in `pond.py`) hold functions; these hold none. They are read once, in a
subprocess, and travel as JSON from then on.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.define.pond.partition import PartitionDefinition
from pondage.define.pond.verification import Verification

Coherence = bool | Literal["required"]
"""Does a Run read Sources that stand on the same Runs of what they have in common: if it can, or always?"""

Reading = Literal["none", "tap", "pulse"]
"""What somebody who reads a Pond asks of it."""

Scalar = str | int | float | bool | None
RuleKind = Literal[
    "rows", "not_null", "between", "in_set", "check", "bad_rows", "matches", "unique", "foreign_key", "fresh", "volume"
]


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a failed Ripple is tried again: at once in the same Run, or with a new Run when a Source moved on."""

    immediately: int = 0
    on_change: int = 0


class WindowDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of a calendar: on these weekdays (0 = Monday) from `start` for `length_s`, or until the next start."""

    start: str
    tz: str = "UTC"
    weekdays: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    end: str | None = None


class ScheduleDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A standing trigger that sends a Pulse at the times of a cron line."""

    cron: str
    tz: str = "UTC"
    catch_up: Literal["none", "latest", "all"] = "latest"
    name: str = "schedule"


class FollowDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A standing trigger asks only while somebody reads, or is expected with a share of `sure` on the clock of `tz`."""

    tz: str = "UTC"
    sure: float = 0.3
    is_resting: bool = False


class ReadingDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """What a read asks of the Pond: nothing, a Tap with the first read of each Run, or a Pulse.

    A reader who waits does so for `wait_us` at most; None is twice the time that the data takes from the Inlets on.
    """

    asks: Reading = "none"
    wait_us: int | None = None


class TideDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A standing trigger that keeps the Pond no staler than `limit_us`."""

    limit_us: int
    name: str = "tide"
    follow: FollowDefinition | None = None


class Triggers(msgspec.Struct, frozen=True, kw_only=True):
    """The standing triggers that an author declared with a Pond."""

    wave: bool = False
    pacing: Literal["eager", "just_in_time"] = "eager"
    tides: tuple[TideDefinition, ...] = ()
    wave_follow: FollowDefinition | None = None
    schedules: tuple[ScheduleDefinition, ...] = ()


class SourceDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """Another Pond that this one reads. `major` is None until a plan has bound it."""

    pond: str
    minimum: tuple[int, int, int] | None = None
    major: int | None = None
    required: bool = True


class ExpectationDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that the written rows must keep. `check` is the author's own Column, found by name in the code.

    `digest` covers the code of a `check`, so that a plan sees it change; it is no part of the Ripple's own digest.
    `columns` are those of `unique`, `pattern` that of `matches`; a `foreign_key` points to column `key` of the table
    `refers`. `quarantine` sets the breaking rows aside, at most `at_most` of them (rows, or a share).
    """

    name: str
    kind: RuleKind
    column: str | None = None
    minimum: Scalar = None
    maximum: Scalar = None
    values: tuple[Scalar, ...] = ()
    severity: Literal["fail", "warn"] = "fail"
    digest: str = ""
    columns: tuple[str, ...] = ()
    pattern: str = ""
    refers: str = ""
    key: str = ""
    within_us: int = 0
    of_last: int = 0
    quarantine: bool = False
    at_most: int | float | None = None

    @property
    def input(self) -> str:
        """Answer under which name the Ripple is given the table that a `foreign_key` points to."""
        return f"check:{self.refers}.{self.key}"


class ReadDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """One input of a Ripple: the parameter (or table name in SQL) and the Ripple it reads.

    `pond` is None for a sibling Ripple of the same Pond, else the name of a Source. `by_changes`: there is no such
    parameter, the Ripple asks for it with `run.changes(…)` only. `by_check`: only an expectation reads it.
    """

    parameter: str
    ripple: str
    pond: str | None = None
    optional: bool = False
    columns: tuple[str, ...] | None = None
    by_changes: bool = False
    by_check: bool = False

    def table(self, pond: str) -> str:
        """Answer the name under which a Ripple of `pond` follows this table: `orders.raw`."""
        return f"{self.pond or pond}.{self.ripple}"


class RippleDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """One transformation of a Pond. `digest` covers its code and everything of the project that the code uses.

    `source` is the text that a person reads (the function, or the SQL as written); `sql` is what is executed, and asks
    for each input under its `parameter`; `job` is the checked job that is its body, as JSON.

    `materialize` is what the author said about writing its rows, None when he left it open. A plan moves a Ripple that
    is not written into its consumer: `fused` has it under the consumer's parameter, `reads` has what it reads under
    `ripple/parameter`, and `digest` covers it.
    """

    name: str
    kind: Literal["function", "sql", "job", "feed"] = "function"
    reads: tuple[ReadDefinition, ...] = ()
    injects: tuple[Literal["spark", "run"], ...] = ()
    expectations: tuple[ExpectationDefinition, ...] = ()
    parameters: dict[str, Scalar] = {}
    description: str = ""
    digest: str = ""
    source: str = ""
    sql: str | None = None
    job: str | None = None
    always: bool = False
    has_probe: bool = False
    probe_digest: str = ""
    timeout_s: float | None = None
    progress_lease_s: float | None = None
    materialize: bool | None = None
    is_deterministic: bool = True
    fused: dict[str, RippleDefinition] = {}

    @property
    def members(self) -> tuple[RippleDefinition, ...]:
        """Answer every Ripple that is fused into this one, each behind those that are fused into it."""
        return tuple(found for each in self.fused.values() for found in (*each.members, each))

    def input_name(self, parameter: str) -> str:
        """Answer how the consumer that this Ripple is fused into calls one of its inputs."""
        return parameter if "/" in parameter else f"{self.name}/{parameter}"

    @property
    def tables(self) -> tuple[ReadDefinition, ...]:
        """Answer what its rows are made of: none where it brings data in from outside."""
        return tuple(read for read in self.reads if not read.by_check)

    @property
    def parents(self) -> tuple[str, ...]:
        """Answer the sibling Ripples that must be done first, in the order of the parameters, each once."""
        return tuple(dict.fromkeys(read.ripple for read in self.reads if read.pond is None))


class FormatDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A table format in which outside readers find the tables; no Ripples named means all of them."""

    kind: Literal["delta", "iceberg"]
    ripples: tuple[str, ...] = ()


class FeedDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """The reactor that publishes a Pond, and how often: 0 is with each fire. `schema` is that of its rows, as JSON."""

    reactor: str
    period_us: int = 0
    schema: str = ""


class PondDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond as it is deployed: its contract (`version`), its Sources, its Ripples and how it wants to be run.

    `entry` names the author's object as `module:attribute`; `archive` is the digest of the code archive that holds it
    (empty until `deploy` packs one), `project` is the owner. With a `feed` a reactor writes its only table.
    """

    name: str
    version: str
    entry: str
    ripples: tuple[RippleDefinition, ...]
    sources: tuple[SourceDefinition, ...] = ()
    windows: tuple[WindowDefinition, ...] = ()
    retries: Retries = Retries()
    triggers: Triggers = Triggers()
    mode: Literal["replace", "append", "merge", "partition", "auto"] = "replace"
    keys: tuple[str, ...] = ()
    verify: Verification | None = None
    """Of a table that is kept up to date: how often it is computed whole beside, and compared."""
    partition: PartitionDefinition | None = None
    coherent: Coherence = True
    fuse: bool = False
    keep: str = ""
    """Which of its Runs stay as they become older; empty: as the project says."""
    pool: str | None = None
    labels: tuple[str, ...] = ()
    publish: tuple[FormatDefinition, ...] = ()
    description: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    archive: str = ""
    project: str = ""
    place: str = ""
    borrowed: str = ""
    """The environment whose Pond it only shows; empty for a Pond that computes."""
    feed: FeedDefinition | None = None
    reading: ReadingDefinition = ReadingDefinition()

    @property
    def major(self) -> int:
        """Answer the major version, which is part of the Pond's identity."""
        return int(self.version.partition(".")[0])

    @property
    def mode_text(self) -> str:
        """Answer the mode, and by what its tables are in partitions."""
        return self.mode if self.partition is None else f"{self.mode} by {', '.join(self.partition.texts)}"

    def ripple(self, name: str) -> RippleDefinition:
        """Answer the Ripple of that name; raises KeyError when the Pond has none."""
        for each in self.ripples:
            if each.name == name:
                return each
        raise KeyError(name)

    def fused_into(self, name: str) -> str | None:
        """Answer the Ripple whose plan holds this one, None when it is not fused or not there."""
        for each in self.ripples:
            if any(member.name == name for member in each.members):
                return each.name
        return None

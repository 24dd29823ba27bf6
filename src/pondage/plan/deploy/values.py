"""The values of a plan: plain, frozen, JSON. Deciding is here; doing is the ledger's."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.plan.deploy.reactors import ReactorChange


class Deployed(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond that is deployed now, and which project owns it."""

    definition: PondDefinition
    project: str
    environment: str = "main"

    @property
    def key(self) -> PondKey:
        """Answer name and major of the Pond."""
        return pond_key(self.definition.name, self.definition.major)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a plan is refused. `pond` is the key of the Pond that is wrong."""

    code: str
    message: str
    pond: PondKey
    place: str | None = None
    hint: str | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Something worth reading that refuses nothing. `kind` is stable."""

    kind: Literal["not_deployed", "removed_source", "version", "schema", "trigger", "newer_major", "returned"]
    text: str
    pond: PondKey


Change = Literal["added", "changed", "removed", "unchanged"]


class JobChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a deploy does to a job."""

    name: str
    change: Change


class RippleChange(msgspec.Struct, frozen=True, kw_only=True):
    """How one Ripple changes. For a changed one, `what` says in which respects."""

    name: str
    change: Literal["added", "removed", "changed", "fused"]
    what: tuple[Literal["code", "inputs", "expectations", "parameters", "settings"], ...] = ()


class Fusion(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about an inner Ripple: the one it is fused into, None when its rows are written; and why."""

    pond: PondKey
    ripple: str
    into: str | None
    reason: str


class Rebound(msgspec.Struct, frozen=True, kw_only=True):
    """A Source that is read in another major than before."""

    pond: str
    before: int
    after: int

    @property
    def text(self) -> str:
        """Answer it in a line: `by_kind@1 → @2`."""
        return f"{self.pond}@{self.before} → @{self.after}"


class KeptMajor(msgspec.Struct, frozen=True, kw_only=True):
    """A major that left the project's files and stays deployed, with its own code, for those who are bound to it."""

    key: PondKey
    binders: tuple[str, ...]


class PondChange(msgspec.Struct, frozen=True, kw_only=True):
    """How one Pond changes. `what` names everything but Ripples; `runs` says whether its next Run computes anew.

    `bump` is the part of the version that the change calls for, `proposed` the version that follows from it; both are
    None when the author's version already says so.
    """

    key: PondKey
    ripples: tuple[RippleChange, ...] = ()
    what: tuple[str, ...] = ()
    version_from: str
    version_to: str
    bump: Literal["major", "minor", "patch"] | None = None
    proposed: str | None = None
    mode_from: str = "replace"
    mode_to: str = "replace"
    runs: bool = False
    rebound: tuple[Rebound, ...] = ()
    is_size_known: bool = True
    """False: code changed, and only an analysis tells what that does to the tables."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a deploy of a project into an environment does, exactly.

    `ponds` are the project's Ponds as they will be stored, with their Sources bound to majors. `base` is the digest of
    what was deployed when the plan was made and `digest` that of the whole plan: a deploy makes the plan again from
    what it finds under its lock, and refuses when the digests differ.
    """

    project: str
    environment: str
    ponds: tuple[PondDefinition, ...] = ()
    added: tuple[PondKey, ...] = ()
    changed: tuple[PondChange, ...] = ()
    removed: tuple[PondKey, ...] = ()
    kept: tuple[KeptMajor, ...] = ()
    unchanged: tuple[PondKey, ...] = ()
    recomputes: tuple[PondKey, ...] = ()
    """What computes anew when it is wanted next, each behind its Sources: new and changed Ponds, and those below."""
    goes_on: tuple[PondKey, ...] = ()
    """Those of them whose tables grow: they keep their rows, and the new code gets the next batches."""
    fusions: tuple[Fusion, ...] = ()
    messages: tuple[Message, ...] = ()
    problems: tuple[Problem, ...] = ()
    reactors: tuple[ReactorChange, ...] = ()
    base: str = ""
    digest: str = ""
    parent: str = ""
    borrowed: tuple[PondKey, ...] = ()
    """The project's Ponds that the environment `parent` has and this one only reads."""

    @property
    def is_empty(self) -> bool:
        """Answer whether a deploy would change nothing."""
        return not (self.added or self.changed or self.removed) and all(
            each.change == "unchanged" for each in self.reactors
        )

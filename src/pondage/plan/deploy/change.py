"""How a Pond differs from the one that is deployed, and which version that calls for."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.define.pond.definition import PondDefinition, RippleDefinition, SourceDefinition
from pondage.define.values.names import parsed_version, pond_key
from pondage.plan.deploy.values import PondChange, Rebound, RippleChange

Bump = Literal["major", "minor", "patch"]
_PLAIN = (
    "sources", "windows", "retries", "triggers", "mode", "keys", "verify", "partition", "coherent", "fuse", "keep",
    "publish", "pool", "reading", "labels", "description", "owner", "tags", "entry", "version",
)  # fmt: skip


def change_of(old: PondDefinition, new: PondDefinition) -> PondChange | None:
    """Answer the difference, or None when a deploy would store the same. The archive and the place do not count."""
    ripples = _ripple_changes(old, new)
    rebound = _rebound(old, new)
    what = tuple(field for field in _PLAIN if getattr(old, field) != getattr(new, field))
    if rebound and _without_majors(old) == _without_majors(new):
        what = tuple(field for field in what if field != "sources")
    if not ripples and not what and not rebound:
        return None
    needed = _bump(old, new, ripples)
    # Whether changed code changes columns is not to be seen: it may be anything from a patch to a major.
    is_size_known = needed != "patch" or parsed_version(new.version) > parsed_version(old.version)
    bump, proposed = proposal(old.version, new.version, needed if is_size_known else None)
    return PondChange(
        key=pond_key(new.name, new.major),
        ripples=ripples,
        what=what,
        version_from=old.version,
        version_to=new.version,
        bump=bump,
        proposed=proposed,
        mode_from=old.mode_text,
        mode_to=new.mode_text,
        runs=any(each.change == "added" or {"code", "inputs", "parameters"} & set(each.what) for each in ripples)
        or _rows(old) != _rows(new)
        or bool(rebound),
        rebound=rebound,
        is_size_known=is_size_known,
    )


def goes_on(old: PondDefinition, new: PondDefinition) -> bool:
    """Answer whether a table that grows keeps its rows over this change: new code gets the next batches only."""
    if new.mode == "replace" or _rows(old) != _rows(new) or _rebound(old, new):
        return False
    return all(each.change == "changed" and "inputs" not in each.what for each in _ripple_changes(old, new))


def _rebound(old: PondDefinition, new: PondDefinition) -> tuple[Rebound, ...]:
    before = {source.pond: source.major for source in old.sources}
    return tuple(
        Rebound(pond=source.pond, before=major, after=source.major)
        for source in new.sources
        if (major := before.get(source.pond)) is not None and source.major is not None and source.major != major
    )


def _without_majors(pond: PondDefinition) -> list[SourceDefinition]:
    return [msgspec.structs.replace(source, major=None) for source in pond.sources]


def proposal(old: str, new: str, bump: Bump | None) -> tuple[Bump | None, str | None]:
    """Answer the bump and the version that a change calls for, or nothing when the new version already says so."""
    proposed = None if bump is None else _raised(old, bump)
    if proposed is None or parsed_version(new) >= parsed_version(proposed):
        return None, None
    return bump, proposed


def _ripple_changes(old: PondDefinition, new: PondDefinition) -> tuple[RippleChange, ...]:
    before = {ripple.name: ripple for ripple in old.ripples}
    after = {ripple.name: ripple for ripple in new.ripples}
    changes: list[RippleChange] = []
    for name in [*after, *(name for name in before if name not in after)]:
        if name not in before:
            changes.append(RippleChange(name=name, change="added"))
        elif name not in after:
            changes.append(RippleChange(name=name, change="fused" if new.fused_into(name) else "removed"))
        else:
            what = _respects(before[name], after[name])
            if what:
                changes.append(RippleChange(name=name, change="changed", what=what))
    return tuple(changes)


def _respects(
    old: RippleDefinition, new: RippleDefinition
) -> tuple[Literal["code", "inputs", "expectations", "parameters", "settings"], ...]:
    found: list[Literal["code", "inputs", "expectations", "parameters", "settings"]] = []
    if old.digest != new.digest or old.kind != new.kind:
        found.append("code")
    if old.reads != new.reads:
        found.append("inputs")
    if old.expectations != new.expectations:
        found.append("expectations")
    if old.parameters != new.parameters:
        found.append("parameters")
    fields = ("always", "has_probe", "probe_digest", "timeout_s", "progress_lease_s", "description", "injects",
              "materialize", "is_deterministic", "fused")  # fmt: skip
    if any(getattr(old, field) != getattr(new, field) for field in fields):
        found.append("settings")
    return tuple(found)


def _bump(old: PondDefinition, new: PondDefinition, ripples: tuple[RippleChange, ...]) -> Bump | None:
    kinds = {each.change for each in ripples}
    if kinds & {"removed", "fused"} or _rows(old) != _rows(new):
        return "major"
    if "added" in kinds:
        return "minor"
    if any({"code", "inputs", "parameters"} & set(each.what) for each in ripples):
        return "patch"
    return None


def _rows(pond: PondDefinition) -> object:
    """Answer what says how the rows of its Runs become a table."""
    # Kept up to date or made anew: it is the table that its function returns.
    mode = "replace" if pond.mode == "auto" else pond.mode
    return mode, pond.keys, () if pond.partition is None else pond.partition.texts


def _raised(version: str, bump: Bump) -> str:
    major, minor, patch = parsed_version(version)
    if bump == "major":
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if bump == "minor" else f"{major}.{minor}.{patch + 1}"

"""Fusion: Ripples that are not written become part of the one Ripple that reads them. Pure.

A fused Ripple is no node of the demand machine and has no table. That is a matter of the Pond's contract, so nothing is
fused that nobody asked for: the author says `materialize=False` of a Ripple, or `fuse=True` of a Pond whose inner
Ripples are nobody else's business. What he says of one Ripple is refused where it cannot be done; what he says of a
Pond is done where it is safe, and the reason is told where it is not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition, ReadDefinition, RippleDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.plan.deploy.values import Fusion, Problem

# Calls that give something else each time. A body that only looks like one of them is written: that is always right.
_CHANGING = re.compile(
    r"\b(rand|randn|random|randint|uuid|uuid4|shuffle|sample|sampleBy|randomSplit|monotonically_increasing_id|now|today|"
    r"utcnow|current_timestamp|current_date|localtimestamp|unix_timestamp|spark_partition_id|input_file_name)\s*\(",
    re.IGNORECASE,
)


class Fused(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond after fusion, what was decided about each of its inner Ripples, and what is refused."""

    pond: PondDefinition
    decisions: tuple[Fusion, ...] = ()
    problems: tuple[Problem, ...] = ()


def outside_readers(ponds: Sequence[PondDefinition]) -> dict[tuple[PondKey, str], str]:
    """Answer which tables (Pond, Ripple) are read from another Pond, and by whom. Sources are bound."""
    found: dict[tuple[PondKey, str], str] = {}
    for pond in ponds:
        majors = {source.pond: source.major for source in pond.sources}
        for ripple in pond.ripples:
            for read in ripple.reads:
                if read.pond is not None:
                    found.setdefault((pond_key(read.pond, majors.get(read.pond) or 1), read.ripple), pond.name)
    return found


def fused(pond: PondDefinition, readers: Mapping[tuple[PondKey, str], str]) -> Fused:
    """Answer the Pond with every Ripple that is not to be written moved into its consumer."""
    key = pond_key(pond.name, pond.major)
    uses = _uses(pond)
    decisions: list[Fusion] = []
    problems: list[Problem] = []
    members: set[str] = set()
    for ripple in pond.ripples:
        consumer = uses[ripple.name][0] if uses[ripple.name] else None
        refusal = _refusal(pond, ripple, uses[ripple.name], readers.get((key, ripple.name)))
        if ripple.materialize is False:
            if refusal is not None:
                problems.append(_refused(pond, ripple, refusal))
                continue
            reason = "it says materialize=False"
        else:
            if consumer is None:
                continue
            refusal = refusal or _doubt(pond, ripple, consumer)
            reason = refusal or "safe, and the Pond says fuse=True"
        is_fused = refusal is None and consumer is not None
        if is_fused:
            members.add(ripple.name)
        into = consumer.name if is_fused and consumer is not None else None
        decisions.append(Fusion(pond=key, ripple=ripple.name, into=into, reason=reason))
    return Fused(pond=_merged(pond, members), decisions=tuple(decisions), problems=tuple(problems))


def unfused(pond: PondDefinition) -> PondDefinition:
    """Answer the Pond as it was declared, every Ripple for itself: to look at one, or to find its schema."""
    if not any(ripple.fused for ripple in pond.ripples):
        return pond
    ripples = [each for ripple in pond.ripples for each in (*ripple.members, ripple)]
    return msgspec.structs.replace(pond, ripples=tuple(_apart(each) for each in ripples))


def _uses(pond: PondDefinition) -> dict[str, list[RippleDefinition]]:
    """Answer the Ripples that read each one, once for each parameter."""
    found: dict[str, list[RippleDefinition]] = {ripple.name: [] for ripple in pond.ripples}
    for ripple in pond.ripples:
        for read in ripple.reads:
            if read.pond is None:
                found[read.ripple].append(ripple)
    return found


def _refusal(
    pond: PondDefinition, ripple: RippleDefinition, uses: Sequence[RippleDefinition], reader: str | None
) -> str | None:
    """Answer why a Ripple cannot be fused, whoever wants it."""
    names = list(dict.fromkeys(each.name for each in uses))
    if not uses:
        return "it is a result of the Pond: no Ripple of it reads it"
    if len(names) > 1:
        return f"{' and '.join(names)} read it, so it would be computed {len(names)} times"
    if any(read.by_check and read.ripple == ripple.name and read.pond is None for each in uses for read in each.reads):
        return f"an expectation of {names[0]} looks its rows up"
    if len(uses) > 1:
        return f"{names[0]} reads it under {len(uses)} names, so it would be computed {len(uses)} times"
    if reader is not None:
        return f"Pond {reader} reads its table"
    if "job" in (ripple.kind, uses[0].kind):
        return "a Ripple whose body is a Job stands for itself"
    if not ripple.tables:
        return "it reads nothing, so it brings data in from outside: its table is the only record of it"
    if not ripple.is_deterministic:
        return "it says deterministic=False, and its plan may be evaluated more than once"
    if ripple.expectations:
        return f"its expectation {ripple.expectations[0].name} needs its rows"
    if ripple.always:
        return "it says always=True, and its consumer does not run for its sake"
    if any(read.by_changes for read in ripple.reads):
        return "it follows a table with run.changes(…), and its own result says how far it has come"
    if pond.mode not in ("replace", "auto"):
        return f'the Pond has mode="{pond.mode}": what its Ripples wrote before is part of what they read'
    return None


def _doubt(pond: PondDefinition, ripple: RippleDefinition, consumer: RippleDefinition) -> str | None:
    """Answer why a Ripple is not fused although it could be: nobody asked, or it may not be safe."""
    if ripple.materialize is True:
        return "it says materialize=True"
    if not pond.fuse:
        return "the Pond does not say fuse=True"
    if ripple.name == pond.name:
        return "it has the Pond's name: Sinks that name no Ripple read it"
    if "run" in ripple.injects:
        return "it asks for `run`"
    if "run" in consumer.injects:
        return f"its consumer {consumer.name} asks for `run`"
    if "spark" in ripple.injects:
        return "it asks for `spark`, so it may read from elsewhere"
    changing = _CHANGING.search(ripple.source)
    if changing is not None:
        return f"its code calls {changing[1]}(), which may give something else each time"
    if (ripple.timeout_s, ripple.progress_lease_s) != (consumer.timeout_s, consumer.progress_lease_s):
        return f"it has other time limits than its consumer {consumer.name}"
    return None


def _refused(pond: PondDefinition, ripple: RippleDefinition, reason: str) -> Problem:
    return Problem(
        code="CANNOT_FUSE",
        message=f"Ripple {pond.name}.{ripple.name} says materialize=False, but {reason}",
        pond=pond_key(pond.name, pond.major),
        place=pond.place or None,
        hint="drop materialize=False: it is then written, and read by everybody",
    )


def _merged(pond: PondDefinition, members: set[str]) -> PondDefinition:
    if not members:
        return pond
    declared = {ripple.name: ripple for ripple in pond.ripples}
    made: dict[str, RippleDefinition] = {}

    def merge(name: str) -> RippleDefinition:
        if name not in made:
            made[name] = _with_members(
                declared[name], {each: merge(each) for each in declared[name].parents if each in members}
            )
        return made[name]

    return msgspec.structs.replace(pond, ripples=tuple(merge(name) for name in declared if name not in members))


def _with_members(ripple: RippleDefinition, members: Mapping[str, RippleDefinition]) -> RippleDefinition:
    if not members:
        return ripple
    reads: list[ReadDefinition] = []
    inside: dict[str, RippleDefinition] = {}
    for read in ripple.reads:
        member = members.get(read.ripple) if read.pond is None else None
        if member is None:
            reads.append(read)
            continue
        inside[read.parameter] = member
        reads += [msgspec.structs.replace(each, parameter=member.input_name(each.parameter)) for each in member.reads]
    covered = [ripple.digest, [[name, each.digest, sorted(each.parameters.items())] for name, each in inside.items()]]
    digest = hashlib.sha256(msgspec.json.encode(covered)).hexdigest()
    return msgspec.structs.replace(ripple, reads=tuple(reads), fused=inside, digest=digest)


def _apart(ripple: RippleDefinition) -> RippleDefinition:
    own = tuple(read for read in ripple.reads if "/" not in read.parameter)
    inner = tuple(ReadDefinition(parameter=name, ripple=each.name) for name, each in ripple.fused.items())
    return msgspec.structs.replace(ripple, reads=own + inner, fused={})

"""Reactors as plain values: what a deploy carries, and everything that can be wrong with it at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

KINDS = ("passthrough", "stream", "polling", "batch", "state", "pond")
POLICIES = ("block", "reject", "drop_oldest")
FAILURE_POLICIES = ("drop", "retry", "dead_letter", "halt")
DURABILITIES = (False, True, "process", "power")


class Problem(NamedTuple):
    """One thing that is wrong with a declaration: a stable code, and what it is about."""

    code: str
    about: str


class AccumulatorDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """An accumulator; times are microseconds. `pond` names the Pond that a Pond source reads."""

    name: str
    kind: str = "passthrough"
    policy: str = "block"
    capacity: int = 1024
    size: int | None = None
    interval: int | None = None
    window: int = -1
    flush_on_fire: bool = False
    stale_after: int | None = None
    optional: bool = False
    pond: str | None = None
    minimum: str | None = None
    major: int | None = None
    """Of a Pond source without a minimum, once it is deployed: the major version that it reads and stays on."""
    is_spark: bool = False
    """A stream that Spark reads on a worker; `interval` is the time between two micro-batches."""

    @property
    def bound_major(self) -> int | None:
        """Answer the major version that a Pond source reads; None while there is none to be bound to."""
        return self.major if self.minimum is None else int(self.minimum.removeprefix(">=").partition(".")[0])


class FailureDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to a fire that failed; `base` and `cap` of the waits between retries are microseconds."""

    policy: str
    retries: int = 3
    base: int = 1_000_000
    cap: int = 60_000_000
    then: str = "dead_letter"


class PublicationDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """The Pond that a reactor publishes."""

    pond: str
    every: int | None = None
    mode: str = "append"


class JobDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A Job that each good fire may start: when the expression says so, or always."""

    file: str
    when: str | None = None


class ReactorDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A reactor. The contract under one version is: source names, criteria, strategy."""

    name: str
    accumulators: tuple[AccumulatorDeclaration, ...]
    version: str = "1.0.0"
    criteria: str = "any"
    strategy: str = "latest"
    on_failure: FailureDeclaration | None = None
    durable: bool | str = "process"
    window: int = 64
    gate: str = "none"
    publish: PublicationDeclaration | None = None
    timeout: int | None = None
    on_source_failed: str = "fail"
    warming_timeout: int | None = None
    crash_attempts: int = 3
    graphs: tuple[str, ...] = ()
    dispatched: tuple[str, ...] = ()
    """Those of the graphs that run on Spark, on a worker."""
    jobs: tuple[JobDeclaration, ...] = ()
    description: str = ""


class ReactorDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A reactor as a deploy carries it: the digest is that of its functions and of what its sources read."""

    declaration: ReactorDeclaration
    entry: str
    digest: str
    place: str = ""
    jobs: tuple[str, ...] = ()
    """For each of the declaration's jobs the planned job, as JSON."""
    code: str = ""
    """The code that it runs with; empty before it is deployed."""
    basis: str = ""
    """The digest of everything but the graphs: while it is the same, others are bound to the reactor as it runs."""

    @property
    def name(self) -> str:
        """Answer the reactor's name."""
        return self.declaration.name


def problems_of(declaration: ReactorDeclaration) -> list[Problem]:
    """Give everything that is wrong with a reactor, in the order in which one reads it."""
    return list(_reactor_problems(declaration))


def _reactor_problems(given: ReactorDeclaration) -> Iterator[Problem]:
    if not given.name:
        yield Problem("NAME_EMPTY", "")
    if not given.accumulators:
        yield Problem("NO_ACCUMULATORS", "")
    seen: set[str] = set()
    for accumulator in given.accumulators:
        if accumulator.name in seen:
            yield Problem("DUPLICATE_ACCUMULATOR", accumulator.name)
        seen.add(accumulator.name)
    if given.criteria not in ("any", "all"):
        yield Problem("UNKNOWN_CRITERIA", given.criteria)
    if given.strategy not in ("latest", "sequential"):
        yield Problem("UNKNOWN_STRATEGY", given.strategy)
    for accumulator in given.accumulators:
        yield from _accumulator_problems(accumulator)
    yield from _policy_problems(given)
    if given.criteria == "all" and given.accumulators and all(each.optional for each in given.accumulators):
        yield Problem("ALL_OPTIONAL", "")


def _accumulator_problems(given: AccumulatorDeclaration) -> Iterator[Problem]:
    if given.kind not in KINDS:
        yield Problem("UNKNOWN_KIND", given.name)
    if given.kind == "polling" and not given.interval:
        yield Problem("NO_INTERVAL", given.name)
    if given.kind == "batch" and not (given.size or given.interval or given.flush_on_fire):
        yield Problem("NO_FLUSH_RULE", given.name)
    if given.policy not in POLICIES:
        yield Problem("UNKNOWN_POLICY", given.name)
    if given.capacity < 1:
        yield Problem("BAD_CAPACITY", given.name)


def _policy_problems(given: ReactorDeclaration) -> Iterator[Problem]:
    failure = given.on_failure
    if failure is not None:
        if failure.policy not in FAILURE_POLICIES:
            yield Problem("UNKNOWN_FAILURE_POLICY", failure.policy)
        if failure.then not in FAILURE_POLICIES or failure.then == "retry":
            yield Problem("UNKNOWN_FAILURE_POLICY", failure.then)
    if given.durable not in DURABILITIES:
        yield Problem("UNKNOWN_DURABILITY", str(given.durable))
    if given.gate not in ("none", "demand"):
        yield Problem("UNKNOWN_GATE", given.gate)
    if given.gate == "demand" and given.publish is None:
        yield Problem("GATE_WITHOUT_POND", given.name)
    if given.on_source_failed not in ("fail", "degrade"):
        yield Problem("UNKNOWN_SOURCE_FAILURE", given.on_source_failed)

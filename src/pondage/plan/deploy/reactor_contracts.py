"""What Ponds and reactors promise each other, looked at before a deploy: versions that are read, rows that are given.

Within a major version the tables of a Pond may only grow, so a reactor that hears of a Pond is promised what it needs
by the version alone; the rows of a Pond that a reactor publishes are checked here, before anything is written. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from pondage.define.pond.contract import check_contract
from pondage.define.pond.definition import PondDefinition
from pondage.define.reactor.reaction import ReactorDeclaration, ReactorDefinition
from pondage.define.values.names import PondKey, parsed_minimum, parsed_version, pond_key
from pondage.plan.deploy.binding import version_text
from pondage.plan.deploy.graph import key_of
from pondage.plan.deploy.reactors import DeployedReactor
from pondage.plan.deploy.values import Deployed, Message, Problem

World = Mapping[PondKey, PondDefinition]


class Promises(NamedTuple):
    """What a deploy would break between Ponds and reactors, and what is worth saying about them."""

    problems: Sequence[Problem] = ()
    messages: Sequence[Message] = ()


class _Read(NamedTuple):
    """A Pond source of a reactor: which Pond it is bound to, and how old that may be."""

    reactor: str
    pond: str
    key: PondKey
    minimum: tuple[int, int, int] | None
    place: str | None
    is_bound: bool


def reactor_promises(
    ponds: Sequence[PondDefinition],
    declared: Sequence[ReactorDefinition],
    *,
    project: str,
    here: Sequence[Deployed],
    running: Sequence[DeployedReactor],
    fed: Mapping[PondKey, str],
    ended: Collection[str] = (),
) -> Promises:
    """Look at everything that Ponds and reactors promise each other, were these the project's in this environment.

    `here` and `running` are what is deployed there, of every project; `fed` what Ponds of reactors have published;
    `ended` are majors that are taken away although somebody is bound to them.
    """
    others = [each for each in running if each.project != project]
    before = {each.key: each.definition for each in here}
    after = {each.key: each.definition for each in here if each.project != project}
    after |= {key_of(pond): pond for pond in ponds}
    names = {pond.name for pond in ponds}
    # A major that left the files while another one stays is kept for whoever reads it.
    after = {key: pond for key, pond in before.items() if pond.name in names and key not in ended} | after
    return Promises(
        problems=[*reactor_problems(declared, others, before=before, after=after), *fed_problems(ponds, fed)],
        messages=reactor_messages(declared, others, before=before, after=after),
    )


def reactor_problems(
    declared: Sequence[ReactorDefinition], others: Sequence[DeployedReactor], *, before: World, after: World
) -> list[Problem]:
    """Answer which reactors would read a Pond that is too old: the project's own, and others that are fine today."""
    own = [_too_old(read, after) for each in declared for read in _reads(each.declaration, after, each.place)]
    broken = [
        _too_old(read, after, owner=each.project)
        for each in others
        for read in _reads(each.declaration, after)
        if _too_old(read, before) is None
    ]
    return [problem for problem in (*own, *broken) if problem is not None]


def reactor_messages(
    declared: Sequence[ReactorDefinition], others: Sequence[DeployedReactor], *, before: World, after: World
) -> list[Message]:
    """Answer which Ponds that reactors read are not there, or would be gone: allowed, and worth saying."""
    absent = [
        Message(
            kind="not_deployed",
            text=f"reactor {read.reactor}: its Source {read.key} is not deployed; it hears nothing of it until that is",
            pond=read.key,
        )
        for each in declared
        for read in _reads(each.declaration, after)
        if read.key not in after and read.key not in before
    ]
    everybody = [*(each.declaration for each in declared), *(each.declaration for each in others)]
    gone = [
        Message(
            kind="removed_source",
            text=f"reactor {read.reactor} reads {read.key}, which is removed: it hears nothing of it any more",
            pond=read.key,
        )
        for declaration in everybody
        for read in _reads(declaration, before)
        if read.key in before and not _is_there(read, after)
    ]
    return [*absent, *gone, *_newer(declared, after)]


def _newer(declared: Sequence[ReactorDefinition], after: World) -> list[Message]:
    """Answer which reactors of the project read an older major than there is, and what to write to move."""
    return [
        Message(
            kind="newer_major",
            text=f"reactor {read.reactor} reads {read.key}; @{newest} exists: "
            f'write `Source("{read.pond}", ">={newest}")`',
            pond=read.key,
        )
        for each in declared
        for read in _reads(each.declaration, after)
        if read.is_bound
        and (newest := max((pond.major for pond in after.values() if pond.name == read.pond), default=0))
        > int(read.key.rpartition("@")[2])
    ]


def fed_problems(ponds: Sequence[PondDefinition], schemas: Mapping[PondKey, str]) -> list[Problem]:
    """Answer which Ponds of reactors would have narrower rows than their major version has published."""
    return [
        Problem(
            code="CONTRACT",
            message=f"Pond {pond.name} of reactor {pond.feed.reactor} breaks the contract of its major version: "
            + "; ".join(differences),
            pond=key_of(pond),
            place=pond.place or None,
            hint="keep the columns, or give the reactor a new major version so that Sinks can choose when to follow",
        )
        for pond in ponds
        if pond.feed is not None and pond.feed.schema and key_of(pond) in schemas
        if (differences := check_contract(schemas[key_of(pond)], pond.feed.schema))
    ]


def _reads(declaration: ReactorDeclaration, world: World, place: str = "") -> Iterator[_Read]:
    for each in declaration.accumulators:
        if each.kind == "pond" and each.pond is not None:
            minimum = None if each.minimum is None else parsed_minimum(each.minimum, place=place)
            majors = [pond.major for pond in world.values() if pond.name == each.pond]
            major = each.bound_major or max(majors or [1])
            is_bound = each.bound_major is not None
            yield _Read(declaration.name, each.pond, pond_key(each.pond, major), minimum, place or None, is_bound)


def _is_there(read: _Read, world: World) -> bool:
    """Answer whether the Pond that a source is bound to is there; one that is not bound yet takes any major version."""
    if not read.is_bound:
        return any(pond.name == read.pond for pond in world.values())
    return read.key in world


def _too_old(read: _Read, world: World, *, owner: str | None = None) -> Problem | None:
    target = world.get(read.key)
    if target is None or read.minimum is None or parsed_version(target.version) >= read.minimum:
        return None
    by = "" if owner is None else f" (deployed by project {owner!r})"
    return Problem(
        code="SOURCE_TOO_OLD",
        message=f"reactor {read.reactor} needs {read.pond} >={version_text(read.minimum)}, "
        f"which would be {target.version}{by}",
        pond=read.key,
        place=read.place,
        hint=f"raise the version of {read.pond}, or lower the minimum in {read.reactor}",
    )

"""Making a plan: the project's definitions and what is deployed go in, frozen values come out. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, parsed_version
from pondage.errors import PondageError
from pondage.plan.deploy.binding import bound, source_messages, source_problems
from pondage.plan.deploy.change import change_of, goes_on
from pondage.plan.deploy.columns import column_problems
from pondage.plan.deploy.fusion import Fused, fused, outside_readers
from pondage.plan.deploy.graph import downstream, key_of, pond_cycle, source_keys
from pondage.plan.deploy.majors import kept_majors, newer_majors, require_ended
from pondage.plan.deploy.reactor_contracts import Promises
from pondage.plan.deploy.reactors import ReactorChange
from pondage.plan.deploy.values import Deployed, Message, Plan, PondChange, Problem

_ENCODER = msgspec.json.Encoder(order="deterministic")


class Ground(NamedTuple):
    """What is known of the environment that a plan is for, beside what is deployed in it.

    `above` are the Ponds that it can read from the environments above, `gone` those that it once had. `holders` say
    what is bound to a Pond but Sinks: triggers, promotions, readers below. `ended` are taken away all the same.
    """

    above: Mapping[PondKey, PondDefinition] = {}
    gone: Collection[PondKey] = ()
    holders: Mapping[PondKey, Sequence[str]] = {}
    ended: Collection[str] = ()


class PlanError(PondageError):
    """A plan is refused, or is no longer the one that was shown. `problems` holds the reasons one by one."""

    code = "PLAN_REFUSED"

    def __init__(self, message: str, *, problems: Sequence[Problem] = (), **details: str | None) -> None:
        super().__init__(message, **details)
        self.problems = tuple(problems)


def make_plan(
    definitions: Sequence[PondDefinition],
    deployed: Sequence[Deployed],
    *,
    project: str,
    environment: str = "main",
    is_restored: bool = False,
    schemas: Mapping[str, str] | None = None,
    reactors: Sequence[ReactorChange] = (),
    promises: Promises | None = None,
    ground: Ground | None = None,
) -> Plan:
    """Answer what deploying `definitions` as `project` would do. Problems are in the plan; `checked` raises them.

    `deployed` may hold Ponds of every project and environment: only this environment counts. Ponds of the project that
    are deployed but no longer declared are removed. `is_restored` says that the definitions were deployed before and
    come back as they were: nothing more is fused. `schemas` are the published ones, by table, as far as they are known.
    What Ponds and reactors promise each other was looked at before (`reactor_contracts`). `ground` is what else is
    known of where this is deployed.
    """
    promises, ground = promises or Promises(), ground or Ground()
    here = [each for each in deployed if each.environment == environment]
    mine = {each.key: each.definition for each in here if each.project == project}
    foreign = {each.key: each for each in here if each.project != project}
    own = _bound_to(definitions, mine, foreign, ground)
    left = {key: pond for key, pond in mine.items() if key not in own}
    others = {key: each.definition for key, each in foreign.items()}
    ended = require_ended(ground.ended, own, mine)
    kept = kept_majors(left, others | own, ground.holders, ended)
    # What an environment above has, and this project no longer declares, is read from there.
    shown = {
        key: pond for key, pond in ground.above.items() if key not in own and key not in others and key not in mine
    }
    stays = {each.key: mine[each.key] for each in kept}
    read_above = {each.key: shown[each.key] for each in kept_majors(shown, others | own, {}, ())}
    others |= shown | stays
    elsewhere = list(others.values())
    readers = outside_readers([*elsewhere, *own.values()])
    made = {key: Fused(pond=pond) if is_restored else fused(pond, readers) for key, pond in own.items()}
    own = {key: each.pond for key, each in made.items()}
    world = others | own
    changed = [change for key, pond in own.items() if key in mine and (change := change_of(mine[key], pond))]
    removed = tuple(sorted(left.keys() - {each.key for each in kept}))
    added = tuple(sorted(key for key in own if key not in mine))
    recomputes = downstream(world, [*added, *(change.key for change in changed if change.runs)])
    plan = Plan(
        project=project,
        environment=environment,
        ponds=tuple(own[key] for key in sorted(own)),
        added=added,
        changed=tuple(sorted(changed, key=lambda change: change.key)),
        removed=removed,
        kept=kept,
        unchanged=tuple(sorted(key for key in own if key in mine and key not in {each.key for each in changed})),
        recomputes=recomputes,
        goes_on=_going_on(recomputes, world, {**ground.above, **others, **mine}),
        fusions=tuple(decision for key in sorted(made) for decision in made[key].decisions),
        messages=(
            *_messages(own, world, changed, removed),
            *newer_majors(own, world),
            *_returned(added, ground),
            *promises.messages,
        ),
        problems=(
            *(problem for key in sorted(made) for problem in made[key].problems),
            *_problems(own, foreign, world, {**ground.above, **mine}, read_above | stays),
            *(problem for key in sorted(own) for problem in column_problems(own[key], schemas or {}, recomputes)),
            *promises.problems,
        ),
        reactors=tuple(reactors),
        base=_digest(sorted((each.key, each.project, each.definition) for each in here)),
    )
    return msgspec.structs.replace(plan, digest=_digest(plan))


def _going_on(
    recomputes: Sequence[PondKey], world: Mapping[PondKey, PondDefinition], before: Mapping[PondKey, PondDefinition]
) -> tuple[PondKey, ...]:
    """Answer those whose tables grow and only take their next batch: nothing that they read begins anew either."""
    found: list[PondKey] = []
    for key in recomputes:
        is_fed_anew = any(source in recomputes and source not in found for source in source_keys(world[key]))
        if key in before and not is_fed_anew and goes_on(before[key], world[key]):
            found.append(key)
    return tuple(found)


def _bound_to(
    definitions: Sequence[PondDefinition],
    mine: Mapping[PondKey, PondDefinition],
    foreign: Mapping[PondKey, Deployed],
    ground: Ground,
) -> dict[PondKey, PondDefinition]:
    """Answer the project's Ponds bound to what they were bound to, here or above, and else to the newest major."""
    former = {**ground.above, **mine}
    declared = {key_of(pond): pond for pond in definitions}
    known = {*former, *foreign, *declared, *ground.gone}
    there: dict[PondKey, PondDefinition] = {}
    # Of one name those of the project come first, then those of others, then what has left the files.
    for some in (declared, {key: each.definition for key, each in foreign.items()}, former):
        names = {pond.name for pond in there.values()}
        there |= {key: pond for key, pond in some.items() if pond.name not in names}
    return {key: bound(pond, list(there.values()), former.get(key), known=known) for key, pond in declared.items()}


def _returned(added: Sequence[PondKey], ground: Ground) -> list[Message]:
    return [
        Message(
            kind="returned",
            text=f"{key} was removed before: it begins anew, and `pondage runs {key}` also lists its earlier Runs",
            pond=key,
        )
        for key in added
        if key in ground.gone
    ]


def with_problems(plan: Plan, problems: Sequence[Problem]) -> Plan:
    """Answer the plan with what else is wrong with it."""
    return msgspec.structs.replace(plan, problems=(*plan.problems, *problems)) if problems else plan


def checked(plan: Plan) -> Plan:
    """Answer the plan when nothing is wrong with it, else raise `PlanError` with every problem."""
    refuse(plan.problems)
    return plan


def refuse(problems: Sequence[Problem]) -> None:
    """Raise `PlanError` with every problem; nothing when there is none."""
    if not problems:
        return
    lines = [
        f"{f'{each.place}: ' if each.place else ''}{each.message} [{each.code}]"
        + (f" ({each.hint})" if each.hint else "")
        for each in problems
    ]
    first = problems[0]
    if len(lines) == 1:
        raise PlanError(first.message, problems=problems, hint=first.hint, place=first.place, code=first.code)
    text = "\n".join([f"the plan is refused for {len(lines)} reasons", *(f"  {line}" for line in lines)])
    raise PlanError(text, problems=problems, hint="nothing was changed; fix them and plan again")


def _problems(
    own: Mapping[PondKey, PondDefinition],
    foreign: Mapping[PondKey, Deployed],
    world: Mapping[PondKey, PondDefinition],
    mine: Mapping[PondKey, PondDefinition],
    left: Mapping[PondKey, PondDefinition],
) -> list[Problem]:
    problems: list[Problem] = []
    for key, pond in sorted(own.items()):
        if key in foreign:
            problems.append(_owned(key, pond, foreign[key].project))
        problems += source_problems(pond, world)
    for each in sorted(foreign.values(), key=lambda each: each.key):
        if each.key not in own:
            problems += _breaks(each.definition, f"deployed by project {each.project!r}", own, world, mine)
    for _, pond in sorted(left.items()):
        problems += _breaks(pond, "which has left the files and stays deployed", own, world, mine)
    path = pond_cycle(world)
    if path:
        key = next((PondKey(each) for each in path if each in own), PondKey(path[0]))
        problems.append(
            Problem(
                code="CYCLE",
                message=f"Ponds wait for each other: {' -> '.join(path)}",
                pond=key,
                place=world[key].place or None,
                hint="a Pond may only read Ponds that do not read it",
            )
        )
    return problems


def _owned(key: PondKey, pond: PondDefinition, owner: str) -> Problem:
    return Problem(
        code="OTHER_PROJECT",
        message=f"Pond {key} belongs to project {owner!r}",
        pond=key,
        place=pond.place or None,
        hint=f"a project changes only its own Ponds: rename this one, or deploy it from {owner!r}",
    )


def _breaks(
    sink: PondDefinition,
    whose: str,
    own: Mapping[PondKey, PondDefinition],
    world: Mapping[PondKey, PondDefinition],
    mine: Mapping[PondKey, PondDefinition],
) -> list[Problem]:
    """Answer how this deploy would break a Sink that it does not change, and that is fine today."""
    touched = {key_of(pond).partition("@")[0] for pond in own.values()}
    if not any(source.pond in touched for source in sink.sources):
        return []
    before = source_problems(sink, {**world, **mine})
    return [
        msgspec.structs.replace(
            problem,
            message=f"{problem.message} ({whose})",
            hint=f"keep it in this major version, or publish a new major and let {sink.name} follow",
        )
        for problem in source_problems(sink, world)
        if problem.message not in {each.message for each in before}
    ]


def _messages(
    own: Mapping[PondKey, PondDefinition],
    world: Mapping[PondKey, PondDefinition],
    changed: Sequence[PondChange],
    removed: Sequence[PondKey],
) -> list[Message]:
    messages = [message for _, pond in sorted(own.items()) for message in source_messages(pond, world)]
    for pond in sorted(world.values(), key=key_of):
        gone = [each for each in pond.sources if f"{each.pond}@{each.major}" in removed]
        messages += [
            Message(
                kind="removed_source",
                text=f"{pond.name} reads {source.pond}@{source.major}, which is removed",
                pond=key_of(pond),
            )
            for source in gone
            if key_of(pond) not in own
        ]
    for change in changed:
        if not change.is_size_known:
            text = f"{change.key}: size not known; `--analyze` tells (it is {change.version_to})"
            messages.append(Message(kind="version", text=text, pond=change.key))
        if change.proposed is not None:
            messages.append(
                Message(
                    kind="version",
                    text=f"{change.key}: a {change.bump} change; version {change.proposed} would say so "
                    f"(it is {change.version_to})",
                    pond=change.key,
                )
            )
        elif parsed_version(change.version_to) < parsed_version(change.version_from):
            messages.append(
                Message(
                    kind="version",
                    text=f"{change.key}: the version goes back from {change.version_from} to {change.version_to}",
                    pond=change.key,
                )
            )
    return messages


def _digest(value: object) -> str:
    return hashlib.sha256(_ENCODER.encode(value)).hexdigest()

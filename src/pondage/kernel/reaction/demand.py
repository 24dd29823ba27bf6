"""Joining demand: the reactor as a Pond, and Ponds as its sources (section 6)."""

from pondage.kernel.reaction import records as r
from pondage.kernel.reaction.effects import DropDemand, PondFailed, Publish, TargetPond, WantPond
from pondage.kernel.reaction.facts import is_dirty
from pondage.kernel.reaction.shape import NEVER, Gate, Kind
from pondage.kernel.reaction.state import Condition, SourceLife, State


def on_want(state: State, f: int) -> None:
    """Somebody who has `f` wants newer: a max-register. What is older than the last commit is served already."""
    facts = state.facts
    if not _takes_demand(state) or f < facts.com_f or f <= facts.want:
        return
    state.record(r.Want(f))
    for source in _ponds(state):
        state.out.append(WantPond(source.name, source.facts.taken))


def on_target(state: State, f: int) -> None:
    """Somebody wants freshness `f`: remembered until it is published, and passed on when no fire can meet it yet."""
    facts = state.facts
    if not _takes_demand(state) or f <= facts.pub_f or f in facts.targets:
        return
    state.record(r.Target(f))
    forward_target(state, f)
    arm_targets(state)


def forward_target(state: State, f: int, only: SourceLife | None = None) -> None:
    """Pass a target on to the Pond sources that must bring it."""
    if f <= state.facts.com_f:
        return
    for source in _ponds(state):
        if only is not None and source is not only:
            continue
        if state.shape.needs_all and (source.shape.optional or source.facts.f >= f):
            continue
        state.out.append(TargetPond(source.name, f))


def arm_targets(state: State) -> None:
    """A target ahead of the clock is looked at again when its time comes."""
    ahead = [target for target in state.facts.targets if target > state.now]
    if ahead:
        state.arm("target", "", ahead[0])
    else:
        state.disarm("target")


def on_blocked(_: State, source: SourceLife) -> None:
    """A Pond source is blocked."""
    source.is_blocked = True


def on_unblocked(state: State, source: SourceLife) -> None:
    """A Pond source goes on: ask again for what is still wanted."""
    if not source.is_blocked:
        return
    source.is_blocked = False
    say_blocked(state)
    ask_source(state, source)
    for target in state.facts.targets:
        forward_target(state, target, source)


def ask_source(state: State, source: SourceLife) -> None:
    """Ask a Pond source for newer than what was taken, when this reactor is eager or a want is open."""
    if source.shape.kind is Kind.POND and is_asking(state):
        state.out.append(WantPond(source.name, source.facts.taken))


def is_asking(state: State) -> bool:
    """Is newer data of Pond sources wanted?"""
    return state.shape.gate is Gate.NONE or state.facts.want >= state.facts.com_f


def is_gated(state: State) -> bool:
    """Does the reactor wait for demand?"""
    if state.shape.gate is Gate.NONE or state.is_draining:
        return False
    facts = state.facts
    return not (facts.want >= facts.com_f or any(target > facts.com_f for target in facts.targets))


def drop_demand(state: State) -> None:
    """Drop all demand and tell the Sinks."""
    state.record(r.DemandDropped())
    state.disarm("target")
    if state.shape.publish is not None:
        say_blocked(state)
        state.out.append(DropDemand())


def say_blocked(state: State) -> None:
    """Say that the Pond is blocked, or not any more, when that changed. Always said before what follows from it."""
    if state.shape.publish is None:
        return
    is_bad = state.facts.is_bad or is_stuck(state)
    if is_bad is not state.looks_bad:
        state.looks_bad = is_bad
        state.out.append(PondFailed(is_bad))


def is_stuck(state: State) -> bool:
    """Failed, halted, or behind a blocked required Pond source: no new demand is taken."""
    if state.condition is Condition.FAILED or state.facts.hold == "halted":
        return True
    return state.shape.needs_all and any(
        source.is_blocked and not source.shape.optional for source in state.sources.values()
    )


def publish_fire(state: State, before: int) -> None:
    """After a committed fire: publish it, or let it wait for the interval."""
    publish, facts = state.shape.publish, state.facts
    if publish is None or facts.com_f == before:
        return
    say_blocked(state)
    if publish.every is None:
        state.out.append(Publish(facts.pub_f, facts.pub_d, facts.com_fire))
        arm_targets(state)
    elif ("publish", "") not in state.timers:
        state.arm("publish", "", state.now + publish.every)


def publish_waiting(state: State) -> bool:
    """Publish what committed fires left waiting, under the last one's freshness; answers whether anything did."""
    facts = state.facts
    if state.shape.publish is None or facts.com_f <= facts.pub_f:
        return False
    state.disarm("publish")
    state.record(r.Published())
    state.out.append(Publish(facts.pub_f, facts.pub_d, facts.com_fire))
    arm_targets(state)
    return True


def say_again(state: State) -> None:
    """Each life says the blocked state, the published freshness and the open targets again."""
    if state.shape.publish is None:
        return
    state.looks_bad = None
    say_blocked(state)
    facts = state.facts
    if not publish_waiting(state) and facts.pub_f != NEVER:
        state.out.append(Publish(facts.pub_f, facts.pub_d, None))
    for target in facts.targets:
        forward_target(state, target)
    arm_targets(state)


def try_pass(state: State) -> None:
    """Meet a target without a fire: an idle healthy event source is current, a Pond source as current as its Run."""
    facts = state.facts
    if not facts.targets or not _may_pass(state):
        return
    reach = _reach(state)
    met = [target for target in facts.targets if target <= reach]
    if met:
        state.record(r.Passed(met[-1]))
        state.out.append(Publish(facts.pub_f, facts.pub_d, None))
        arm_targets(state)


def _may_pass(state: State) -> bool:
    facts = state.facts
    if state.condition is not Condition.LIVE or facts.hold is not None or facts.is_bad or is_stuck(state):
        return False
    if facts.pub_f == NEVER or facts.com_f > facts.pub_f or facts.fire is not None or facts.plan:
        return False
    return not any(
        is_dirty(state.shape, source.facts) or source.facts.buffer or source.parked for source in state.sources.values()
    )


def _reach(state: State) -> int:
    shape = state.shape
    current = [
        source.facts.f if source.shape.kind is Kind.POND else state.now
        for source in state.sources.values()
        if not (shape.needs_all and source.shape.optional)
    ]
    if not current:
        return NEVER
    return min(current) if shape.needs_all else max(current)


def _takes_demand(state: State) -> bool:
    return state.shape.publish is not None and not is_stuck(state)


def _ponds(state: State) -> list[SourceLife]:
    return [source for source in state.sources.values() if source.shape.kind is Kind.POND]

"""What the end of a fire changes: consumption, cache, dead letters, freshness; and what a failed attempt leaves."""

from pondage.kernel.reaction.facts import Entry, Facts, Fire, LastFire, Letter, SourceFacts, Standing
from pondage.kernel.reaction.records import Commit, Failure
from pondage.kernel.reaction.shape import ReactorShape


def version_vector(consumes: dict[str, int], inputs: dict[str, Entry]) -> str:
    """Name what a fire consumes and sees: equal names mean the same fire (invariant I-3b)."""
    taken = ",".join(f"{name}:{consumes[name]}" for name in sorted(consumes))
    shown = ",".join(f"{name}:{inputs[name].arrival}" for name in sorted(inputs))
    return f"{taken}|{shown}"


def apply_commit(shape: ReactorShape, facts: Facts, fire: Fire, record: Commit) -> None:
    """End a fire for good."""
    if record.outcome == "ok":
        commit_good(shape, facts, fire, record.at)
        return
    for name, seq in fire.consumes.items():
        if name in facts.sources:
            is_dead, source = record.outcome == "dead", facts.sources[name]
            _consume(source, fire.inputs.get(name), seq, shape.is_sequential, is_dead)
    facts.bad += 1
    facts.is_bad = True
    if record.outcome == "dead":
        facts.dead[str(fire.id)] = Letter(fire.id, fire.inputs, record.error or "", record.at)
    if fire.consumes:
        _forget_failures(facts)
    facts.last = LastFire(record.id, record.attempt, record.outcome, record.at)


def commit_good(shape: ReactorShape, facts: Facts, fire: Fire, at: int) -> None:
    """End a fire well: what it consumed is consumed, nothing else, and what it saw was good."""
    sources, inputs, consumes, sequential = facts.sources, fire.inputs, fire.consumes, shape.is_sequential
    for name, seq in consumes.items():
        if name in sources:
            _consume(sources[name], inputs.get(name), seq, sequential, False)
    facts.ok += 1
    facts.is_bad = False
    if fire.kind == "auto":
        for name, entry in inputs.items():
            if name in sources:
                sources[name].good = entry
    else:
        _keep_manual(shape, facts, fire)
    if shape.publish is not None and (consumes or (fire.kind == "with" and inputs)):
        _freshen(shape, facts, fire)
    if consumes:
        _forget_failures(facts)
    elif facts.standing:
        facts.standing = {vector: each for vector, each in facts.standing.items() if each.id != fire.id}
    facts.last = LastFire(fire.id, fire.attempt, "ok", at)


def apply_failure(shape: ReactorShape, facts: Facts, fire: Fire, record: Failure) -> None:
    """End an attempt that consumed nothing. A Sequential fire stays at the head; others are known by their inputs."""
    facts.bad += 1
    facts.tries, facts.retry_at = record.tries, record.retry_at
    if record.is_halted:
        facts.hold = "halted"
    fire.done = list(record.done)
    facts.last = LastFire(record.id, record.attempt, "failed", record.at)
    if fire.is_kept:
        fire.pending, fire.errors, fire.cid, fire.kind = {}, {}, None, "auto"
        facts.plan.insert(0, fire)
        return
    if shape.is_sequential and fire.kind != "with":
        for name in fire.consumes:
            facts.sources[name].pinned -= 1
    if fire.kind != "with":
        vector = version_vector(fire.consumes, fire.inputs)
        facts.standing[vector] = Standing(fire.id, fire.attempt, fire.done)


def _forget_failures(facts: Facts) -> None:
    facts.tries, facts.retry_at = 0, None
    if facts.standing:
        facts.standing = {}


def _consume(source: SourceFacts, entry: Entry | None, seq: int, sequential: bool, is_dead: bool) -> None:
    if seq > source.consumed:
        source.consumed = seq
    if sequential:
        queue = source.queue
        if source.pinned and queue and queue[0].seq <= seq:
            del queue[0]
            source.pinned -= 1
            source.cur = source.good if is_dead else entry
    elif is_dead and source.cur is not None and source.cur.seq <= seq:
        # A quarantine: what was given up is not shown to later fires.
        source.cur = source.good


def _keep_manual(shape: ReactorShape, facts: Facts, fire: Fire) -> None:
    if fire.kind == "with":
        _replace_cache(shape, facts, fire)
    elif fire.letter is not None:
        facts.dead.pop(fire.letter, None)
    else:
        for name, entry in fire.inputs.items():
            if name in facts.sources:
                facts.sources[name].good = entry


def _replace_cache(shape: ReactorShape, facts: Facts, fire: Fire) -> None:
    for name, source in facts.sources.items():
        # Latest: a boundary that no fire consumed yet is pending, not cache; it stays.
        if shape.is_sequential or source.seen <= source.consumed:
            source.cur = source.good = fire.inputs.get(name)


def _freshen(shape: ReactorShape, facts: Facts, fire: Fire) -> None:
    entries = list(fire.inputs.values())
    if shape.needs_all:
        required = [e for n, e in fire.inputs.items() if n in shape.sources and not shape.sources[n].optional]
        entries = required or entries
        formula = min((entry.f for entry in entries), default=facts.com_f)
    else:
        formula = max((entry.f for entry in entries), default=facts.com_f)
    facts.com_d = max((entry.d for entry in entries if entry.f == formula), default=0)
    facts.com_f = max(formula, facts.com_f + 1)
    facts.com_fire = fire.id
    assert shape.publish is not None
    if shape.publish.every is None:
        facts.pub_f, facts.pub_d = facts.com_f, facts.com_d
        if facts.targets:
            facts.targets = [target for target in facts.targets if target > facts.pub_f]

"""Random reactors in random worlds, and a host that checks the machine's invariants at every step."""

import random
from collections.abc import Callable

import msgspec

from pondage.conform.reaction_host import Later, Perform, VirtualReactorHost
from pondage.conform.reaction_scenario import ReactionScenario
from pondage.conform.reaction_world import ReactionWorld
from pondage.kernel.reaction import (
    AnyRecord,
    Effect,
    Event,
    Facts,
    ReactorShape,
    State,
    apply,
    decode_facts,
    decode_records,
    encode_facts,
    encode_records,
    recover,
)
from pondage.kernel.reaction.choosing import choose_latest, choose_sequential
from pondage.kernel.reaction.committing import version_vector
from pondage.kernel.reaction.demand import is_gated
from pondage.kernel.reaction.effects import Log, StartFire
from pondage.kernel.reaction.records import Boundary, Commit, Full, Launch, Plan, Start
from pondage.kernel.reaction.shape import Kind, Policy
from pondage.kernel.reaction.state import Condition

KINDS = ["passthrough"] * 4 + ["stream", "polling", "batch", "batch", "state", "pond"]
COMMANDS = ["force_fire", "fire_with", "redrive", "get_state", "pause", "resume", "revive", "sleep", "kill"]


class CheckedHost(VirtualReactorHost):
    """The virtual host, with a second fold of the records, made of their JSON, beside the machine's own facts."""

    def __init__(self, shape: ReactorShape, perform: Perform, later: Later, commit_takes: int) -> None:
        super().__init__(shape, perform, later, commit_takes)
        self.shadow: Facts | None = None
        self.cut: Callable[[int], int] = lambda pending: 0
        self.steps = 0

    def begin(self, now: int) -> None:
        self.shadow = recover(self.shape, self.journal)
        super().begin(now)

    def crash(self) -> None:
        # A crash may come anywhere: any beginning of what waits for the commit may have reached the disk.
        self.journal += self._pending[: self.cut(len(self._pending))]
        super().crash()

    def advance(self, state: State, event: Event | list[object], now: int) -> list[Effect]:
        self.steps += 1
        effects = super().advance(state, event, now)
        records: list[AnyRecord] = [effect.record for effect in effects if isinstance(effect, Log)]
        if state.shape.is_durable:
            assert self.shadow is not None
            for record in decode_records(encode_records(records)):
                apply(self.shape, self.shadow, record)
            assert self.shadow == state.facts, "fold(records) is not durable(state)"
        check_step(state, effects)
        return effects


def check_step(state: State, effects: list[Effect]) -> None:
    """Check what must hold after every step."""
    facts, shape = state.facts, state.shape
    assert sum(isinstance(effect, StartFire) for effect in effects) <= 1
    for name, source in facts.sources.items():
        waiting = len(source.queue) - source.pinned
        assert 0 <= source.pinned <= len(source.queue), name
        assert waiting <= shape.sources[name].capacity + 1, name
        assert source.consumed <= source.seen, name
        assert not state.sources[name].parked or shape.sources[name].policy is Policy.BLOCK, name
        assert not source.dropped or shape.sources[name].policy is Policy.DROP_OLDEST, name
    if facts.fire is None and state.condition in (Condition.LIVE, Condition.DEGRADED) and facts.graphs:
        assert not facts.commands, "a command is stranded"
        waits = facts.retry_at is not None and state.now < facts.retry_at
        if facts.hold is None and not waits and not is_gated(state):
            assert not facts.plan
            chosen = choose_sequential(shape, facts, 1) if shape.is_sequential else choose_latest(shape, facts)
            assert not chosen, "a true criterion is left unfired"


class Script(msgspec.Struct):
    """A random scenario as a file would have it."""

    id: str
    reactor: dict[str, object]
    env: dict[str, object]
    events: list[list[object]]
    crashes: list[list[int]]
    until: int
    expect: dict[str, object] = {}


def random_scenario(seed: int, *, crashes: bool = True) -> ReactionScenario:
    """Make a scenario: faults up to 6 s, then everything is resumed and revived, and a long time to come to rest."""
    dice = random.Random(seed)
    names = ["a", "b", "c"][: dice.randint(1, 3)]
    script = Script(
        id=f"fuzz-{seed}",
        reactor=_reactor(dice, names),
        env=_environment(dice, names),
        events=[],
        crashes=[],
        until=130_000,
    )
    sources: dict[str, dict[str, object]] = script.reactor["sources"]  # type: ignore[assignment]
    script.events = _events(dice, sources)
    if crashes:
        at = dice.randint(50, 900)
        while at < 6000:
            up = at + dice.randint(0, 300)
            script.crashes.append([at, up])
            at = up + dice.randint(1, 2500)
    return msgspec.convert(msgspec.to_builtins(script), ReactionScenario)


def _reactor(dice: random.Random, names: list[str]) -> dict[str, object]:
    sources = {name: _source(dice, optional=dice.random() < 0.2 and name != "a") for name in names}
    reactor: dict[str, object] = {
        "sources": sources,
        "criteria": dice.choice(["any", "all"]),
        "strategy": dice.choice(["latest", "sequential"]),
        "window": dice.choice([1, 1, 3, 8]),
        "graphs": dice.choice([["g"], ["g"], ["g", "h"]]),
        "on_source_failed": dice.choice(["fail", "degrade"]),
    }
    if dice.random() < 0.3:
        reactor["dispatched"] = ["g"]
    if dice.random() < 0.3:
        reactor["timeout"] = dice.choice([30, 200])
    if dice.random() < 0.6:
        policy = dice.choice(["drop", "retry", "dead_letter", "halt"])
        then = dice.choice(["drop", "dead_letter", "halt"])
        reactor["on_failure"] = {"policy": policy, "retries": 2, "base": 40, "then": then}
    if dice.random() < 0.5:
        reactor["publish"] = {"pond": "P", "every": dice.choice([None, None, 300])}
        if dice.random() < 0.4:
            reactor["gate"] = "demand"
    return reactor


def _source(dice: random.Random, *, optional: bool) -> dict[str, object]:
    kind = dice.choice(KINDS)
    source: dict[str, object] = {
        "kind": kind,
        "policy": dice.choice(["block", "reject", "drop_oldest"]),
        "capacity": dice.choice([1, 2, 5, 1024]),
        "optional": optional,
    }
    if kind == "polling":
        source["interval"] = 170
    if kind == "batch":
        source |= {"size": dice.choice([2, 3]), "interval": dice.choice([None, 90])}
        source["flush_on_fire"] = dice.random() < 0.3
    if kind == "state":
        source["window"] = dice.choice([-1, 0, 2])
    if kind == "pond":
        source["pond"] = "U"
    if dice.random() < 0.2:
        source["stale_after"] = 500
    return source


def _environment(dice: random.Random, names: list[str]) -> dict[str, object]:
    env: dict[str, object] = {"takes": dice.choice([0, 5, 60]), "commit_ms": dice.choice([0, 0, 3, 25])}
    if dice.random() < 0.6:
        env["fail"] = [{"times": dice.randint(1, 6)}]
    if dice.random() < 0.4:
        env["start"] = {name: [dice.choice([0, 40])] for name in names}
    env["polls"] = {name: [dice.choice([1, 2, None, {"err": "down"}]) for _ in range(20)] for name in names}
    env["log"] = {name: [[offset, f"{name}{offset}"] for offset in range(1, 9)] for name in names}
    return env


def _events(dice: random.Random, sources: dict[str, dict[str, object]]) -> list[list[object]]:
    events: list[list[object]] = []
    now = 0
    offsets = dict.fromkeys(sources, 8)
    for number in range(dice.randint(20, 90)):
        now += dice.choice([0, 0, 1, 7, 40, 150])
        name = dice.choice(list(sources))
        events.append([now, *_event(dice, number, name, str(sources[name]["kind"]), now, offsets)])
    events += [[now, *_garbage(dice, now)] for _ in range(3)]
    healed = max(now, 6500) + 1
    events += [[healed, "bind", "g"], [healed, "cmd", "heal-1", "resume"], [healed, "cmd", "heal-2", "revive"]]
    return events


def _event(dice: random.Random, number: int, name: str, kind: str, now: int, offsets: dict[str, int]) -> list[object]:
    roll = dice.random()
    if roll < 0.6:
        if kind == "pond":
            return ["pond", name, now, f"run{now}", dice.randint(0, 5)]
        event: list[object] = ["push", name, number, f"p{number}"]
        if kind == "stream":
            offsets[name] += dice.choice([0, 1, 1])
            event.append(offsets[name])
        return event
    if roll < 0.78:
        command = dice.choice(COMMANDS)
        argument = {"fire_with": {name: -number}, "redrive": dice.randint(1, 9)}.get(command)
        return ["cmd", f"c{dice.choice([number, number, number - 1])}", command, argument]
    if roll < 0.88:
        return ["acc", name, dice.choice(["crashed", "lost", "connected", "started"])]
    return dice.choice(
        [
            ["want", now - dice.randint(0, 50)],
            ["target", now + dice.randint(-50, 50)],
            ["blocked", name],
            ["unblocked", name],
            ["flush", name],
            ["reactor_crashed"],
            ["journal", dice.random() < 0.7],
            ["unbind", "g"],
            ["bind", "g"],
            ["skip", name, offsets[name]],
            ["done", dice.randint(1, 9), 1, "g", dice.random() < 0.5, "late"],
        ]
    )


def _garbage(dice: random.Random, now: int) -> list[object]:
    return dice.choice(
        [
            ["explode"],
            ["push"],
            ["push", "nobody", 1],
            ["push", {"x": 1}, 1],
            ["push", "a", 1, "g", "no offset"],
            ["done", "x"],
            ["cmd", "g1", ["pause"]],
            ["cmd", "g2", "fire_with", 7],
            ["cmd", "g3", "redrive", {"x": []}],
            ["pond", "a", "now", None],
            ["want", None],
            ["shutdown", "soon"],
            ["acc", "a", "vanished"],
        ]
    )


class Oracle:
    """Reads a finished world: nothing acknowledged is lost, nothing is consumed twice, one id has one set of inputs."""

    def __init__(self, world: ReactionWorld, host: CheckedHost) -> None:
        self.world, self.host = world, host

    def check(self) -> None:
        self._commits()
        self._acknowledgements()
        self._inputs()
        self._answers()
        self._publications()

    def _commits(self) -> None:
        shape, facts = self.host.shape, recover(self.host.shape, [])
        taken: set[tuple[str, int]] = set()
        ids: dict[str, int] = {}
        for record in self.host.journal:
            if isinstance(record, Full):
                facts = decode_facts(encode_facts(record.facts))
                continue
            if isinstance(record, Commit):
                fire = facts.fire
                assert fire is not None
                assert (fire.id, fire.attempt) == (record.id, record.attempt)
                if fire.kind != "with":
                    for name, seq in fire.consumes.items():
                        assert (name, seq) not in taken, f"{name}:{seq} was consumed by two commits"
                        taken.add((name, seq))
                        if shape.is_sequential:
                            assert seq > facts.sources[name].consumed, "the order of a source was lost"
            apply(shape, facts, record)
            fire = facts.fire
            if isinstance(record, (Start, Plan, Launch)) and fire is not None and fire.consumes and fire.kind != "with":
                vector = version_vector(fire.consumes, fire.inputs)
                assert ids.setdefault(vector, fire.id) == fire.id, "equal inputs have two fire ids"
        self._endings(facts, taken)

    def _endings(self, facts: Facts, taken: set[tuple[str, int]]) -> None:
        if not self.host.shape.is_sequential:
            return
        for name, source in facts.sources.items():
            pending = {entry.seq for entry in source.queue}
            consumed = {seq for other, seq in taken if other == name}
            accepted = set(range(1, source.seen + 1))
            assert not pending & consumed
            assert len(accepted - pending - consumed) == source.dropped, f"a boundary of {name} is lost"

    def _acknowledgements(self) -> None:
        if not self.host.shape.is_durable:
            return
        kept = {
            (record.source, record.seq): record.value for record in self.host.journal if isinstance(record, Boundary)
        }
        pushes = {event[3]: (event[1], event[2]) for event in map(_push_of, self.world.given) if event}
        for _, cid, payload in self.world.trace.replies:
            if cid in pushes and isinstance(payload, dict) and payload.get("accepted") and "seq" in payload:
                name, value = pushes[cid]
                if self.host.shape.sources[name].kind in (Kind.PASSTHROUGH, Kind.STREAM, Kind.POLLING):
                    assert kept.get((name, payload["seq"])) == value, f"{cid} was acknowledged and is lost"

    def _inputs(self) -> None:
        inputs: dict[int, object] = {}
        for (fire, _), entry in zip(self.world.trace.ids, self.world.trace.fires, strict=True):
            assert inputs.setdefault(fire, entry[1]) == entry[1], f"fire {fire} was given other inputs"

    def _answers(self) -> None:
        answers: dict[str, object] = {}
        for _, cid, payload in self.world.trace.replies:
            if isinstance(payload, dict) and "outcome" in payload:
                said = (payload["fire"], payload["outcome"])
                assert answers.setdefault(cid, said) == said, f"{cid} has two outcomes"

    def _publications(self) -> None:
        last = -1
        for entry in self.world.trace.ponds:
            if entry[1] == "publish":
                assert isinstance(entry[3], int)
                assert entry[3] > last or (entry[3] == last and entry[5] is None), "the published freshness fell"
                last = entry[3]


def _push_of(given: list[object]) -> list[object] | None:
    return given[1:] if len(given) > 4 and given[1] == "push" else None  # type: ignore[return-value]


class MortalHost(CheckedHost):
    """Dies once, right after its n-th durable record, between two records of one step if it comes to that."""

    def __init__(self, shape: ReactorShape, perform: Perform, later: Later, commit_takes: int) -> None:
        super().__init__(shape, perform, later, 0)
        self.dies_after: int | None = None
        self.on_death: Callable[[], None] = lambda: None

    def feed(self, event: Event | list[object], now: int) -> None:
        try:
            super().feed(event, now)
        except Death:
            self.on_death()

    def _write(self, record: AnyRecord, now: int) -> None:
        super()._write(record, now)
        if len(self.journal) == self.dies_after:
            self.dies_after = None
            raise Death


class Death(Exception):
    """The process died."""


class FuzzWorld(ReactionWorld):
    """A world with a checked host."""

    def __init__(self, scenario: ReactionScenario, seed: int = 0) -> None:
        self.given = scenario.events
        super().__init__(scenario, CheckedHost)
        assert isinstance(self.host, CheckedHost)
        dice = random.Random(seed)
        self.host.cut = lambda pending: dice.randint(0, pending)


class MortalWorld(ReactionWorld):
    """A world in which the process dies after its n-th durable record and begins again a millisecond later."""

    def __init__(self, scenario: ReactionScenario, dies_after: int) -> None:
        self.given = scenario.events
        super().__init__(scenario, MortalHost)
        assert isinstance(self.host, MortalHost)
        self.host.dies_after = dies_after
        self.host.on_death = self._die

    def _die(self) -> None:
        self._fall()
        self._deaths.insert(0, (self._now + 1, 1, None))


def play(scenario: ReactionScenario, seed: int = 0) -> FuzzWorld:
    """Play a scenario with all checks."""
    world = FuzzWorld(scenario, seed)
    world.play()
    assert isinstance(world.host, CheckedHost)
    Oracle(world, world.host).check()
    return world

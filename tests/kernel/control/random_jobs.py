"""Random jobs with every kind of edge, joblets and iterators, and random behaviour that depends on names alone."""

from __future__ import annotations

import hashlib
import random

from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.job.job import Call, ControlLink, DataLink, JobConfig, JobDefinition, JobRefused
from pondage.plan.job.planner import PlannedJob, plan_job
from pondage.simulate.control_drive import Ending

KEYS = ("k", "m", "p")


def chance(seed: int, *parts: object) -> float:
    """Give a number in [0, 1) that depends on the names alone."""
    digest = hashlib.sha256(repr((seed, *parts)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


class Maker:
    """Makes one definition; `calls` are the names made so far, in topological order."""

    def __init__(self, rng: random.Random, size: int, joblets: list[str], *, is_joblet: bool = False) -> None:
        self.rng = rng
        self.calls: list[Call] = []
        self.data: list[DataLink] = []
        self.control: list[ControlLink] = []
        self.orders: dict[str, int] = {}
        self.outputs: list[tuple[str, str]] = []
        self.joblets = joblets
        while len(self.calls) < size:
            self.add()
        self.inputs = {"entry": (self.calls[0].name, "input")} if is_joblet else {}
        self.exposed = {"result": self.outputs[-1]} if is_joblet and self.outputs else {}

    def add(self) -> None:
        kind = self.rng.random()
        if self.calls and kind < 0.15:
            self.add_fork()
        elif kind < 0.28:
            self.add_iterator()
        elif self.joblets and kind < 0.42:
            self.add_joblet()
        else:
            self.add_plain()

    def call(self, type_: str, **extra: object) -> str:
        name = f"c{len(self.calls)}"
        if self.rng.random() < 0.3:
            extra["global_export"] = KEYS[:1]
        self.calls.append(
            Call(name=name, type=type_, die_on_error=self.rng.random() < 0.8, **extra)  # type: ignore[arg-type]
        )
        return name

    def older(self) -> list[str]:
        return [call.name for call in self.calls]

    def link(self, target: str, olders: list[str]) -> None:
        """Give it some inbound control."""
        for _ in range(self.rng.choice([0, 1, 1, 1, 2])):
            if not olders:
                return
            source = self.rng.choice(olders)
            kind = self.rng.choice(["ok", "ok", "ok", "error", "if", "if", "subjob_ok", "subjob_error"])
            if kind == "if":
                order = self.orders[source] = self.orders.get(source, 0) + 1
                key = self.rng.choice(KEYS)
                text = self.rng.choice([f"{key} == 2", f"global.{key} == 1", "1 == 1", "1 == 2", f"not ({key} == 1)"])
                self.control.append(ControlLink(kind="if", source=source, target=target, order=order, expression=text))
            else:
                self.control.append(ControlLink(kind=kind, source=source, target=target))

    def feed(self, target: str, port: str) -> None:
        source, output = self.rng.choice(self.outputs)
        self.data.append(DataLink(source=source, source_port=output, target=target, target_port=port))

    def add_plain(self) -> None:
        olders = self.older()
        kinds = ["task", "task", "source"] + (["transform", "opt2", "union", "sink"] if self.outputs else [])
        type_ = self.rng.choice(kinds) if self.calls else "task"
        name = self.call(type_)
        self.link(name, olders)
        for port in {"transform": ["input"], "opt2": ["left", "right"], "sink": ["input"]}.get(type_, []):
            self.feed(name, port)
        if type_ == "union":
            for _ in range(self.rng.choice([1, 2, 3])):
                self.feed(name, "input")
        if type_ != "sink":
            self.outputs.append((name, "main"))

    def add_fork(self) -> None:
        fork = self.rng.choice(self.older())
        roots = [self.call("task") for _ in range(self.rng.choice([2, 2, 3]))]
        ends = []
        for root in roots:
            self.control.append(ControlLink(kind="parallelise", source=fork, target=root))
            end = root
            if self.rng.random() < 0.4:
                end = self.call("task")
                kind = self.rng.choice(["ok", "error", "subjob_ok", "subjob_error"])
                self.control.append(ControlLink(kind=kind, source=root, target=end))
            ends.append(end)
            self.outputs.append((end, "main"))
        if self.rng.random() < 0.7:
            join = self.call("task")
            for end in ends:
                self.control.append(ControlLink(kind="synchronise", source=end, target=join))
            self.outputs.append((join, "main"))
            if self.rng.random() < 0.3:
                self.control.append(ControlLink(kind="error", source=ends[0], target=join))
        if self.rng.random() < 0.3:
            handler = self.call("task")
            for root in roots:
                self.control.append(ControlLink(kind="error", source=root, target=handler))

    def add_iterator(self) -> None:
        olders = self.older()
        # Which of several concurrent iterations had begun when one fails is a matter of timing: no `halt` with them.
        strategy, parallel = self.rng.choice([("halt", 1), ("halt", 1), ("continue", 1), ("continue", 2)])
        name = self.call(
            "iterator",
            params={
                "parallel": parallel,
                "fail_strategy": strategy,
                "globals": self.rng.choice(["accumulate", "reset", "override"]),
                **self.rng.choice([{}, {}, {"tolerate": 1}, {"tolerate": "50%"}]),
            },
        )
        self.link(name, olders)
        body = self.call("transform")
        self.data.append(DataLink(source=name, source_port="item", target=body, target_port="input"))
        if self.rng.random() < 0.5:
            second = self.call("task")
            kind = self.rng.choice(["ok", "error", "subjob_ok"])
            self.control.append(ControlLink(kind=kind, source=body, target=second))
        if self.rng.random() < 0.4:
            each = self.call("task")
            kind = self.rng.choice(["iteration_ok", "iteration_error"])
            self.control.append(ControlLink(kind=kind, source=name, target=each))
        done = self.call("union")
        self.control.append(ControlLink(kind="iterator_complete", source=name, target=done))
        self.data.append(DataLink(source=body, source_port="main", target=done, target_port="input"))
        self.outputs.append((done, "main"))

    def add_joblet(self) -> None:
        olders = self.older()
        name = self.call(f"@{self.rng.choice(self.joblets)}")
        self.link(name, olders)
        if self.outputs and self.rng.random() < 0.4:
            self.feed(name, "entry")
        self.outputs.append((name, "result"))

    def made(self) -> JobDefinition:
        return JobDefinition(
            calls=tuple(self.calls),
            data=tuple(dict.fromkeys(self.data)),
            control=tuple({(one.kind, one.source, one.target, one.order): one for one in self.control}.values()),
            inputs=self.inputs,
            outputs=self.exposed,
            config=JobConfig(),
        )


def random_plan(seed: int) -> PlannedJob | None:
    """Give a plan, or None when the random job is refused."""
    rng = random.Random(seed)
    inner = Maker(rng, rng.randint(1, 3), [], is_joblet=True).made()
    outer = Maker(rng, rng.randint(1, 3), ["inner"], is_joblet=True).made()
    job = Maker(rng, rng.randint(3, 9), ["inner", "outer"]).made()
    try:
        return plan_job(job, {"inner": inner, "outer": outer}, TEST_REGISTRY, fuses=False)
    except JobRefused:
        return None


def behaviour(seed: int, durations: int, *, fails: float) -> object:
    """Give how instances end: by their names; how long they take: by `durations`."""

    def behave(instance: str, attempt: int) -> Ending:
        writes = {
            key: int(chance(seed, instance, key, "value") * 3) for key in KEYS if chance(seed, instance, key) < 0.3
        }
        return Ending(
            takes=1 + int(chance(durations, instance, attempt) * 6),
            raises="boom" if chance(seed, instance, "fails") < fails else None,
            writes=dict(writes),
            items=list(range(int(chance(seed, instance, "items") * 4))),
        )

    return behave

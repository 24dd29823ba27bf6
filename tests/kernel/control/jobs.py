"""Short ways to write a job, to play it, and to look at what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.job.component import ComponentDefinition, Registry
from pondage.kernel.control import JobPlan
from pondage.kernel.control.events import Start
from pondage.plan.job.planner import plan_job
from pondage.project.job import load_job
from pondage.simulate.control_drive import Ending, Play, play
from pondage.simulate.control_virtual import VirtualControlHost


def plan_of(
    text: str, joblets: Mapping[str, str] | None = None, registry: Registry | None = None, *, fuses: bool = False
) -> JobPlan:
    """Plan a job file; raises JobRefused."""
    known = joblets or {}
    loaded = load_job(text, lambda name: (known[name], name) if name in known else None)
    assert loaded.job is not None, loaded.problems
    components: dict[str, ComponentDefinition] = {**TEST_REGISTRY, **(registry or {})}
    return plan_job(loaded.job, loaded.joblets, components, fuses=fuses, problems=loaded.problems).plan


def job(components: str, control: Sequence[str] = (), data: Sequence[str] = (), extra: str = "") -> str:
    """Write a job file: `components` is `a:task b:source`."""
    lines = [
        f"  - {{name: {name}, type: '{kind}'}}" for name, _, kind in (one.partition(":") for one in components.split())
    ]
    text = [extra, "components:", *lines, "connections:"]
    for name, links in (("control", control), ("data", data)):
        text += [f"  {name}:", *(f"    - {link!r}" for link in links)] if links else []
    return "\n".join(text) + ("" if control or data else " {}") + "\n"


def run(
    plan: JobPlan,
    endings: Mapping[str, Ending] | None = None,
    *,
    host: VirtualControlHost | None = None,
    kill_at: Sequence[int] = (),
    is_resumed: bool = False,
) -> tuple[VirtualControlHost, Play]:
    """Play a plan in ticks of a second; whatever is not said takes one and returns."""
    host = host or VirtualControlHost()
    known = endings or {}

    def behave(instance: str, attempt: int) -> Ending:
        for name in (f"{instance}@{attempt}", instance, instance.partition("[#")[0]):
            if name in known:
                return known[name]
        return Ending()

    start = Start(second=1, context={"env": "test", "run_id": "r"})
    return host, play(host, plan, behave, start=start, kill_at=kill_at, is_resumed=is_resumed)


def shown(play_: Play) -> list[str]:
    """Give every line of a timeline."""
    return [line for _, lines in play_.timeline for line in lines]

"""Conformance scenarios of jobs, as they stand in a JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from pondage.errors import NotFound, PondageError


class Behaviour(msgspec.Struct, frozen=True):
    """What a component does: how long it takes, what it raises, writes and finds; `runs`: one for each run."""

    takes: int = 1
    raises: str | None = None
    code: str = ""
    writes: dict[str, Any] = {}
    deletes: list[str] = []
    after: dict[str, Any] = {}
    items: list[Any] | None = None
    runs: list[dict[str, Any]] | None = None

    def in_run(self, number: int) -> Behaviour:
        """Give what it does in a run, counted from 0; the last entry holds for all later ones."""
        if not self.runs:
            return self
        chosen = self.runs[min(number, len(self.runs) - 1)]
        return msgspec.convert({**msgspec.to_builtins(self), "runs": None, **chosen}, Behaviour)


class ExpectedError(msgspec.Struct, frozen=True):
    """What the loader or planner answers instead of running."""

    code: str
    message: str | None = None
    path: str | None = None


Timeline = list[tuple[int, list[str]]]


class ControlScenario(msgspec.Struct, frozen=True):
    """One scenario."""

    id: str
    job: str
    title: str = ""
    joblets: dict[str, str] = {}
    behave: dict[str, Behaviour] = {}
    kill_at: int | None = None
    expr_step_ms: float | None = None
    timeline: Timeline | None = None
    run2_timeline: Timeline | None = None
    states: dict[str, str] | None = None
    globals: dict[str, Any] | None = None
    job_state: str | None = None
    code: str | None = None
    error: ExpectedError | None = None


def read_control_scenarios(path: Path) -> list[ControlScenario]:
    """Read a file of scenarios; raises NotFound, or PondageError when it is not one."""
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[ControlScenario])
    except msgspec.MsgspecError as error:
        raise PondageError(f"{path} is no file of control scenarios: {error}", code="BAD_SCENARIO") from error

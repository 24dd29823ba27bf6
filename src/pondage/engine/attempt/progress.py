"""What `executions.progress` holds: how far Spark is with an attempt, and in the end what it did."""

from __future__ import annotations

import msgspec

from pondage.work.progress import JobProgress, StageView

MOST_STAGES = 12
"""So many stages of an attempt are kept when it has ended, the newest: a row stays small."""


class ProgressText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The text itself, as views read it. `done` is there when the attempt has ended."""

    phase: str
    jobs: int
    stages: int
    tasks_done: int
    tasks_all: int
    done: tuple[StageView, ...] = ()


def progress_text(phase: str, jobs: JobProgress) -> str:
    """Say how far an attempt is."""
    told = ProgressText(
        phase=phase, jobs=jobs.jobs, stages=jobs.stages, tasks_done=jobs.tasks_done, tasks_all=jobs.tasks_all
    )
    return msgspec.json.encode(told).decode()


def summary_text(stages: tuple[StageView, ...]) -> str | None:
    """Say what Spark did for an attempt that has ended; None when it did nothing."""
    if not stages:
        return None
    tasks = sum(stage.tasks for stage in stages)
    told = ProgressText(phase="done", jobs=0, stages=len(stages), tasks_done=tasks, tasks_all=tasks, done=stages)
    return msgspec.json.encode(told).decode()

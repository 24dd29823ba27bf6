"""What Spark did, as a table: one row for each Ripple or component; `--json` has every stage."""

from __future__ import annotations

from collections.abc import Iterable

from pondage.cli.client.settings import Settings
from pondage.cli.printing.layout import Row
from pondage.cli.printing.output import print_table, print_title
from pondage.views.runs.active import Progress
from pondage.views.words import duration_text, size_text
from pondage.work.progress import StageView

_FIGURES = ("STAGES", "TASKS", "WORK", "READ", "SHUFFLED", "SPILLED")


def print_stages(settings: Settings, title: str, found: Iterable[tuple[str, Progress | None]]) -> None:
    """Print the sums of the stages that are kept of each attempt, and its longest one; nothing when there are none."""
    rows = [_row(name, progress.done) for name, progress in found if progress is not None and progress.done]
    if rows:
        print_title("spark", settings)
        print_table(settings, (title, *_FIGURES, "LONGEST"), rows, numbers=_FIGURES)


def _row(name: str, stages: tuple[StageView, ...]) -> Row:
    tasks, failed = sum(stage.tasks for stage in stages), sum(stage.failed for stage in stages)
    longest = max(stages, key=lambda stage: stage.work_us)
    return (
        name,
        f"{len(stages):,}",
        f"{tasks:,}" + (f" ({failed:,} failed)" if failed else ""),
        duration_text(sum(stage.work_us for stage in stages)),
        _size(sum(stage.read_bytes for stage in stages)),
        _size(sum(stage.shuffled_bytes for stage in stages)),
        _size(sum(stage.spilled_bytes for stage in stages)),
        f"stage {longest.id}, {duration_text(longest.work_us)}" if len(stages) > 1 else "",
    )


def _size(found: int) -> str:
    return size_text(found) if found else ""

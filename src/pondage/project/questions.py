"""`[questions]` of the project file: what somebody may cost who only asks."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pondage.define.project.durability import LONGEST_S
from pondage.define.values.size import mebibytes
from pondage.errors import PondageError, ProjectError

LEAST_HEAP = 512
"""With less, Spark does not start."""
ASKERS = ("read", "demand", "operate", "admin")
"""The levels that may ask something of the data."""


class QuestionsTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[questions]`: what somebody may cost who only asks: a query, a sample, an analysis, a difference.

    `timeout_s` is how long one may run, `timeouts` the same for a level (`read`, `demand`, `operate`, `admin`). The
    rest is of the process that answers them, which is started when a question comes and ends when none has come for
    `idle_s`: `slots` side by side, the heap, the cores that they share (None: half of the machine's), how many bytes an
    answer has at most, and variables of the environment that its Spark needs to read the warehouse.
    """

    timeout_s: float = 60.0
    timeouts: dict[str, float] = {}
    slots: int = 4
    memory: str = "1g"
    cores: int | None = None
    answer: str = "64m"
    idle_s: float = 300.0
    env: tuple[str, ...] = ()

    def limit_s(self, level: str) -> float:
        """Answer how long a question of somebody with this level may run."""
        return self.timeouts.get(level, self.timeout_s)


def bad_questions(questions: QuestionsTable) -> Iterator[ProjectError]:
    """Answer what is wrong with the numbers and sizes of the table."""
    times = {"timeout_s": questions.timeout_s, "idle_s": questions.idle_s}
    times |= {f"timeouts.{level}": value for level, value in questions.timeouts.items()}
    for key, value in times.items():
        if not 0 < value <= LONGEST_S:  # which NaN is not
            yield _refused(f"questions.{key}", f"is {value:g}", f"give seconds above zero, up to {LONGEST_S:,}")
    for level in sorted(questions.timeouts.keys() - set(ASKERS)):
        yield _refused(f"questions.timeouts.{level}", "is no level that may ask", f"write {', '.join(ASKERS)}")
    for key, size, least in (("memory", questions.memory, LEAST_HEAP), ("answer", questions.answer, 1)):
        try:
            is_enough = mebibytes(size) >= least
        except PondageError:
            is_enough = False
        if not is_enough:
            yield _refused(f"questions.{key}", f"is {size!r}", f'give a size from "{least}m": "1g"')


def _refused(key: str, message: str, hint: str) -> ProjectError:
    return ProjectError(f"{key} {message}", hint=hint, place=f"pondage.toml: {key}", code="BAD_PROJECT_FILE")

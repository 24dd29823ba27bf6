"""What the driver needs of Spark beyond the common API: one small interface, so that Spark Connect can be added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pondage.work.progress import JobProgress, StageView

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Backend(Protocol):
    """A way to run attempts on Spark. All methods may be called from any thread.

    It may die between a question and its answer: `cancel`, `progress` and `stages` then do and know nothing, and never
    raise, because they must not hide what became of the work itself.
    """

    @property
    def pid(self) -> int | None:
        """Answer the process id of the driver JVM, or None when it is not ours."""

    def open_attempt(self, token: str, description: str, pool: str) -> SparkSession:
        """Answer a new session for the calling thread, whose jobs carry the token and run in the pool."""

    def close_attempt(self, token: str) -> None:
        """Take back from the calling thread everything that `open_attempt` set."""

    def cancel(self, token: str) -> None:
        """Stop the jobs that run under the token now; later ones are not stopped. Nothing runs: nothing happens."""

    def progress(self, token: str) -> JobProgress:
        """Answer the progress of the jobs under the token; all zero when none is known."""

    def stages(self, token: str, most: int) -> tuple[StageView, ...]:
        """Answer the newest stages that Spark ran under the token, in order; none when that is not known."""

    def add_python_path(self, paths: tuple[str, ...]) -> None:
        """Let Python workers that start from now on import from these places too."""

    def is_alive(self) -> bool:
        """Answer whether attempts can still be run."""

    def ran_out_of_memory(self) -> bool:
        """Answer whether it is dead because its memory was not enough."""

    def stop(self, timeout_s: float) -> None:
        """End it, by force after `timeout_s`. Calling it twice is harmless."""

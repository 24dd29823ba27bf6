"""One Spark driver in a worker process: started once, used by many threads, one session for each attempt."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pondage.spark.jvm.class_archive import archive_for, cache_directory
from pondage.spark.jvm.java import find_java
from pondage.spark.jvm.settings import SparkSettings, session_conf
from pondage.spark.jvm.workspace import Workspace
from pondage.spark.session.backend import Backend
from pondage.work.progress import JobProgress, StageView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from pondage.spark.jvm.launch import OnPhase


class SparkDriver:
    """The worker's handle of Spark. Every method may be called from any thread; `attempt` binds its own thread."""

    def __init__(self, backend: Backend, workspace: Workspace, stop_timeout_s: float) -> None:
        self._backend = backend
        self._workspace = workspace
        self._stop_timeout_s = stop_timeout_s
        self._lock = threading.Lock()
        self._used_pools: set[int] = set()

    @classmethod
    def start(
        cls,
        settings: SparkSettings,
        state_directory: Path,
        on_phase: OnPhase | None = None,
        *,
        cache: Path | None = None,
        extra_java_options: tuple[str, ...] = (),
        ways: tuple[Literal["own", "ordinary"], ...] = ("own", "ordinary"),
        stop_timeout_s: float = 20.0,
    ) -> SparkDriver:
        """Start a JVM and a session; `on_phase` is told what is being done.

        Scratch files go under `state_directory`, where leftovers of dead drivers are removed first. Raises `NoJava`,
        `SparkStartError`, or `PondageError` for a setting that cannot be used. A process starts one driver: after the
        JVM has died, the process should end too.
        """
        on_phase = on_phase or (lambda _: None)
        if settings.remote is not None:
            return cls._connected(settings, state_directory, on_phase, stop_timeout_s)
        on_phase("importing Spark")
        import pyspark  # importing it costs half a second, and not every worker needs Spark

        from pondage.spark.jvm import command, launch
        from pondage.spark.session.classic import ClassicBackend

        java = find_java()
        cache = cache_directory() if cache is None else cache
        workspace = Workspace.create(state_directory)
        try:
            conf = session_conf(settings, local_directory=workspace.local, warehouse=workspace.warehouse, cache=cache)
            archive = archive_for(
                java, command.class_path(command.spark_home(), conf), cache, pyspark_version=pyspark.__version__
            )
            process = launch.launch(
                launch.LaunchPlan(
                    java=java, settings=settings, conf=conf, workspace=workspace,
                    archive_options=extra_java_options or archive.use_options, ways=ways,
                ),
                on_phase,
            )  # fmt: skip
            on_phase("starting the session")
            try:
                backend = ClassicBackend(process)
            except BaseException:
                process.stop(timeout_s=2.0)
                raise
        except BaseException:
            workspace.remove()
            raise
        on_phase("ready")
        return cls(backend, workspace, stop_timeout_s)

    @classmethod
    def _connected(
        cls, settings: SparkSettings, state_directory: Path, on_phase: OnPhase, stop_timeout_s: float
    ) -> SparkDriver:
        """Use a Connect server: nothing is started here, and each attempt finds out whether it answers."""
        from pondage.spark.session.connect import ConnectBackend

        on_phase("connecting to Spark")
        backend = ConnectBackend(settings)
        workspace = Workspace.create(state_directory)
        workspace.log.touch()
        on_phase("ready")
        return cls(backend, workspace, stop_timeout_s)

    @property
    def pid(self) -> int | None:
        """Answer the process id of the JVM, or None when it is not ours."""
        return self._backend.pid

    @property
    def log(self) -> Path:
        """Answer the file that takes what the JVM prints."""
        return self._workspace.log

    @property
    def backend(self) -> Backend:
        """Answer the way in which attempts are run."""
        return self._backend

    @contextmanager
    def attempt(self, token: str, description: str) -> Iterator[SparkSession]:
        """Yield a session of its own for the calling thread, until the block ends.

        Its SQL settings and temporary views are seen by nobody else, its jobs carry `token` as their tag and run in a
        FAIR pool of their own. Everything is cleared at the end, also when the block raises.
        """
        number = self._take_pool()
        try:
            session = self._backend.open_attempt(token, description, f"pondage-{number}")
            try:
                yield session
            finally:
                self._backend.close_attempt(token)
        finally:
            with self._lock:
                self._used_pools.discard(number)

    def cancel(self, token: str) -> None:
        """Stop the Spark jobs that the attempt runs now.

        The attempt's next job is not stopped, so this is repeated until the attempt has ended. An unknown token is
        no error. A driver that has died has nothing to cancel.
        """
        if self.is_alive():
            self._backend.cancel(token)

    def progress(self, token: str) -> JobProgress:
        """Answer how far the attempt is: all zero when it is unknown or the driver has died."""
        return self._backend.progress(token) if self.is_alive() else JobProgress()

    def stages(self, token: str, *, most: int) -> tuple[StageView, ...]:
        """Answer the newest stages that Spark ran for the attempt: none when it is unknown or the driver has died."""
        return self._backend.stages(token, most) if self.is_alive() else ()

    def add_python_path(self, *paths: Path) -> None:
        """Let user-defined functions import modules from these places (deployed code) in their Python workers."""
        self._backend.add_python_path(tuple(str(path) for path in paths))

    def is_alive(self) -> bool:
        """Answer whether attempts can be run. False for ever once the JVM has died or `stop` was called."""
        return self._backend.is_alive()

    def ran_out_of_memory(self) -> bool:
        """Answer whether the driver, which is dead, has died because its memory was not enough."""
        return self._backend.ran_out_of_memory()

    def stop(self) -> None:
        """End session and JVM, by force when it takes too long, and remove the scratch files. Twice is harmless."""
        self._backend.stop(self._stop_timeout_s)
        self._workspace.remove()

    def _take_pool(self) -> int:
        """Answer the smallest pool number that no attempt uses.

        Spark never forgets a pool and looks at all of them for every task, so they are used again.
        """
        with self._lock:
            number = next(n for n in range(len(self._used_pools) + 1) if n not in self._used_pools)
            self._used_pools.add(number)
            return number

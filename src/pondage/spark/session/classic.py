"""Classic Spark: the JVM is ours, and the session reaches into it. The only module that uses PySpark's inside.

PySpark offers no public call for three things that an attempt needs: the jobs of a tag, the session of a thread, and
the end of a gateway. Each is a public method of Spark's Scala API, called through the private handle `_jsc` or `_jvm`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from pondage.errors import PondageError
from pondage.spark.jvm.launch import Jvm, SparkStartError
from pondage.spark.jvm.settings import is_known_user
from pondage.work.progress import JobProgress, StageView

if TYPE_CHECKING:
    from collections.abc import Iterator

_POOL = "spark.scheduler.pool"
OUT_OF_MEMORY = 52
"""Spark's own exit code of a JVM whose heap was not enough."""
DYING_S = 2.0
_LOST = (Py4JError, OSError)
"""How a JVM that dies between a question and its answer shows, and one that has forgotten what is asked."""


class ClassicBackend:
    """Runs attempts on one SparkContext. See `Backend` for what each method promises."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        # Workers started by the driver use this variable of ours, not the JVM's.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        # They print each error with its Java trace on the terminal; we keep it with the error
        # (`spark/session/errors.py`).
        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            PySparkLogger.getLogger(name).disabled = True
        try:
            _log_in(jvm)
            with _signals_kept():
                self._context = SparkContext(gateway=jvm.gateway)
                self._root = SparkSession.builder.getOrCreate()
        except Py4JJavaError as error:
            raise SparkStartError(
                f"Spark did not start: {str(error.java_exception.toString()).partition(chr(10))[0]}",
                hint=f"look at [spark] in the project file; the JVM's log is {jvm.log}",
            ) from error
        assert SparkContext._jvm is not None
        # Found once: each part of such a name is a question to the JVM.
        self._sessions = SparkContext._jvm.org.apache.spark.sql.classic.SparkSession
        self._context.stop = _refuse_to_stop  # type: ignore[method-assign]
        # On machines of a cluster Python may be in another place.
        self._context.pythonExec = str(self._context.getConf().get("spark.pyspark.python", sys.executable))
        self._lock = threading.Lock()
        self._is_stopped = False

    @property
    def pid(self) -> int | None:
        """Answer the JVM's process id."""
        return self._jvm.pid

    @property
    def context(self) -> SparkContext:
        """Answer the one SparkContext of this process."""
        return self._context

    def open_attempt(self, token: str, description: str, pool: str) -> SparkSession:
        """See `Backend`. What an earlier attempt may have left on this thread is cleared first."""
        context = self._context
        context.clearJobTags()
        session = self._root.newSession()
        context.setLocalProperty(_POOL, pool)
        context.setJobDescription(description)
        context.addJobTag(token)
        self._set_active(session)
        return session

    def close_attempt(self, token: str) -> None:
        """See `Backend`. A JVM that died or was ended in the meantime has nothing left to clear."""
        del token  # a thread runs one attempt at a time, and its author may have added tags of his own
        try:
            self._context.clearJobTags()
            self._context.setLocalProperty(_POOL, None)  # type: ignore[arg-type]
            self._context.setJobDescription(None)  # type: ignore[arg-type]
            self._set_active(None)
        except _LOST:
            pass
        except AttributeError:
            # What PySpark raises once its context was stopped, and its way to the JVM is None.
            if not self._is_stopped:
                raise

    def cancel(self, token: str) -> None:
        """See `Backend`."""
        with suppress(*_LOST):
            self._context.cancelJobsWithTag(token)

    def progress(self, token: str) -> JobProgress:
        """See `Backend`."""
        with suppress(*_LOST):
            return self._progress(token)
        return JobProgress()

    def stages(self, token: str, most: int) -> tuple[StageView, ...]:
        """See `Backend`. A stage that was skipped, because its output existed already, is none."""
        with suppress(*_LOST):
            return self._stages(token, most)
        return ()

    def _progress(self, token: str) -> JobProgress:
        tracker = self._context.statusTracker()
        stages = tasks_done = tasks_all = tasks_begun = 0
        jobs = self.jobs(token)
        seen: set[int] = set()
        for job_id in jobs:
            job = tracker.getJobInfo(job_id)
            if job is None:
                continue
            is_running = job.status == "RUNNING"
            for stage_id in job.stageIds:
                stage = None if stage_id in seen else tracker.getStageInfo(stage_id)
                seen.add(stage_id)
                # A finished job's stages without a finished task were skipped: their output existed already.
                if stage is None or not (is_running or stage.numCompletedTasks):
                    continue
                stages += 1
                tasks_done += stage.numCompletedTasks
                tasks_all += stage.numTasks
                tasks_begun += stage.numCompletedTasks + stage.numActiveTasks
        return JobProgress(
            jobs=len(jobs), stages=stages, tasks_done=tasks_done, tasks_all=tasks_all, tasks_begun=tasks_begun
        )

    def _stages(self, token: str, most: int) -> tuple[StageView, ...]:
        tracker, store = self._context.statusTracker(), self._context._jsc.sc().statusStore()
        known = [job for job_id in self.jobs(token) if (job := tracker.getJobInfo(job_id)) is not None]
        newest = sorted({int(stage) for job in known for stage in job.stageIds})[-most:]
        found = []
        for number in newest:
            # One that Spark has forgotten, or never began, is an error there.
            with suppress(Py4JError):
                stage = store.lastStageAttempt(number)
                if int(stage.numCompleteTasks()):
                    found.append(_stage(number, stage))
        return tuple(found)

    def jobs(self, token: str) -> tuple[int, ...]:
        """Answer the ids of the jobs that Spark remembers of a token, running and ended."""
        tracker = self._context._jsc.sc().statusTracker()
        return tuple(sorted(int(job_id) for job_id in tracker.getJobIdsForTag(token)))

    def add_python_path(self, paths: tuple[str, ...]) -> None:
        """See `Backend`. Workers with another path are other processes: none of them has imported anything yet.

        Machines of a cluster do not have our directories: they are sent.
        """
        with self._lock:
            if not str(self._context.master).startswith("local"):
                for place in map(Path, paths):
                    sent = shutil.make_archive(f"{self._context._temp_dir}/{place.name}", "zip", root_dir=place)
                    self._context.addPyFile(sent)
                return
            environment = self._context.environment
            known = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
            environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, *known]))

    def is_alive(self) -> bool:
        """See `Backend`."""
        if self._is_stopped or self._jvm.exit_code is not None:
            return False
        try:
            return not self._context._jsc.sc().isStopped()
        except _LOST:
            return False

    def ran_out_of_memory(self) -> bool:
        """See `Backend`. Spark's way to say so is the exit code; a dying JVM is given a moment."""
        with suppress(subprocess.TimeoutExpired):
            return self._jvm.process.wait(DYING_S) == OUT_OF_MEMORY
        return False

    def stop(self, timeout_s: float) -> None:
        """See `Backend`."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
        # A JVM that is suspended answers nobody: it is asked from a thread that may be left behind.
        asking = threading.Thread(target=self._ask_to_stop, name="pondage-stop", daemon=True)
        asking.start()
        asking.join(timeout_s)
        if asking.is_alive():
            self._jvm.process.kill()
        self._jvm.stop(timeout_s)
        # PySpark keeps the gateway for ever: a later start in this process would talk to the dead one.
        SparkContext._gateway = None
        SparkContext._jvm = None

    def _ask_to_stop(self) -> None:
        with suppress(Exception):  # a JVM that is dead cannot be asked to stop
            del self._context.stop
            self._root.stop()

    def _set_active(self, session: SparkSession | None) -> None:
        """Make this thread's active session in the JVM the attempt's, so that its settings hold in all that it runs.

        Python's own `SparkSession.getActiveSession()` is one for the whole process: an author asks for `spark` instead.
        """
        if session is None:
            self._sessions.clearActiveSession()
        else:
            self._sessions.setActiveSession(session._jsparkSession)


def _refuse_to_stop() -> None:
    """Stand in for the `stop` of the context and of every session: scripts end with it, and it would end the others."""
    raise PondageError(
        "this code stops Spark, which belongs to the worker and runs other work at the same time",
        code="SPARK_STOP",
        hint="remove spark.stop(); the session of an attempt ends by itself",
    )


def _log_in(jvm: Jvm) -> None:
    """Tell Hadoop who we are when the system cannot: its own login fails for a user without an entry in passwd."""
    if is_known_user():
        return
    users = jvm.gateway.jvm.org.apache.hadoop.security.UserGroupInformation
    name = os.environ.get("HADOOP_USER_NAME") or f"user{os.getuid()}"
    users.setLoginUser(users.createRemoteUser(name))


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep our own handler of Ctrl-C: SparkContext would cancel every job on it, and a worker drains instead."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stage(number: int, stage: Any) -> StageView:
    """Read a stage of Spark's own status; each field is a question to the JVM."""
    return StageView(
        id=number,
        tasks=int(stage.numTasks()),
        failed=int(stage.numFailedTasks()),
        work_us=int(stage.executorRunTime()) * 1000,
        read_bytes=int(stage.inputBytes()),
        shuffled_bytes=int(stage.shuffleReadBytes()) + int(stage.shuffleWriteBytes()),
        spilled_bytes=int(stage.diskBytesSpilled()),
    )

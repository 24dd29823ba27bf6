"""The set-up command: decide what is missing, then install it phase by phase."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.setup import environment as virtual
from scripts.setup import java, page, stamp
from scripts.setup.failure import SetupFailed
from scripts.setup.install import Installer
from scripts.setup.machine import GIGABYTE, check_disk, has_passwd_entry, installer_environment
from scripts.setup.plan import SETS, Kind, Phase, Wanted, is_ready, plan, warm_key
from scripts.setup.process import run_watched
from scripts.setup.progress import Progress

ROOT = Path(__file__).resolve().parent.parent.parent
STOPPED = 130


def run(arguments: list[str]) -> int:
    """Set the checkout up with the named extras; answer an exit code. Does nothing when all is there."""
    unknown = sorted(set(arguments) - set(SETS))
    if unknown:
        sys.stderr.write(f"There is no set of packages named {', '.join(unknown)}. Known: {', '.join(SETS)}.\n")
        return 2
    signal.signal(signal.SIGTERM, _stop)
    try:
        Setup(ROOT, tuple(arguments)).run()
    except SetupFailed as failure:
        sys.stderr.write(f"\n{failure}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. Nothing is lost: the same command goes on from here.\n")
        return STOPPED
    return 0


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


class Setup:
    """One call of the set-up on one checkout."""

    def __init__(self, root: Path, extras: tuple[str, ...]) -> None:
        self.root = root
        self.environment = root / ".venv"
        self.cache = root / ".cache"
        self.wanted = self._wanted(extras)
        self.stamp = stamp.read(self.environment)

    def run(self) -> None:
        """Do what is missing."""
        if is_ready(self.wanted, self.stamp) and virtual.python_of(self.environment).exists():
            return
        self.cache.mkdir(exist_ok=True)
        with self._alone() as lock_file, self._temporary() as temporary:
            # Another call may have done the work while this one waited for the lock.
            self.stamp = stamp.read(self.environment)
            if not virtual.python_of(self.environment).exists():
                self.stamp = None
            found, passed_over = java.find(os.environ)
            node = page.node_of_machine(os.environ)
            phases = plan(self.wanted, self._adopted(), java_is_found=found is not None, node_is_found=node is not None)
            progress = Progress([phase.title for phase in phases])
            installer = Installer(
                environment=self.environment,
                project=self.root,
                temporary=temporary,
                log=self.cache / "setup.log",
                variables=installer_environment(os.environ, self.cache),
                progress=progress,
                lock_file=lock_file,
            )
            for phase in phases:
                progress.begin(phase.detail)
                if phase.kind is Kind.CHECK:
                    self._check(phases, found, passed_over, progress)
                elif phase.kind is Kind.ENVIRONMENT:
                    self._make_environment(installer)
                elif phase.kind is Kind.LOCKED_SET:
                    self._install_set(phase, installer)
                elif phase.kind is Kind.PROJECT:
                    self._install_project(installer)
                elif phase.kind is Kind.PAGE:
                    self._build_page(installer, node)
                else:
                    self._warm_up(installer, java_is_found=found is not None)
                progress.end()
            self._record(java=self.wanted.java, java_is_found=found is not None)
            progress.finish()

    def _wanted(self, extras: tuple[str, ...]) -> Wanted:
        locks = {name: self.root / "locks" / f"{name}.txt" for name in SETS}
        missing = [path.name for path in locks.values() if not path.is_file()]
        if missing:
            raise SetupFailed(f"Lock files are missing: {', '.join(missing)}.\n  Restore them: git checkout locks")
        spark = re.search(r"^pyspark==(\S+)", locks["base"].read_text(encoding="utf-8"), re.MULTILINE)
        return Wanted(
            location=str(self.root),
            python="{}.{}".format(*sys.version_info),
            extras=extras,
            locks={name: stamp.digest(path) for name, path in locks.items()},
            spark_version=spark.group(1) if spark else "",
            project=stamp.digest(self.root / "pyproject.toml"),
            java=java.fingerprint(os.environ),
            page=page.digest(self.root),
        )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[int]:
        """Hold the checkout's set-up lock. A pip that outlives a killed set-up holds it on."""
        with (self.cache / "setup.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sys.stdout.write("Another set-up of this checkout is running; waiting for it …\n")
                sys.stdout.flush()
                fcntl.flock(file, fcntl.LOCK_EX)
            yield file.fileno()

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[Path]:
        """Answer an empty directory for pip, on the checkout's own disk: /tmp may be small or in memory."""
        temporary = self.cache / "setup"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _adopted(self) -> stamp.Stamp | None:
        """Answer the stamp to go on from; a working environment that somebody made by hand is taken over."""
        if self.stamp is None and virtual.version_of(self.environment) == self.wanted.python:
            self.stamp = stamp.Stamp(location=self.wanted.location, python=self.wanted.python, unfinished="all")
        return self.stamp

    def _check(
        self, phases: list[Phase], found: java.Java | None, passed_over: list[java.Java], progress: Progress
    ) -> None:
        free = check_disk(self.root, sum(phase.needed_bytes for phase in phases))
        for unfit in passed_over:
            progress.say(f"      {unfit} is passed over: Spark needs Java 17 or 21")
        if not has_passwd_entry():
            progress.say(f"      user {os.getuid()} has no name on this machine; that is fine")
        version = "{}.{}.{}".format(*sys.version_info)
        progress.say(f"      Python {version}, {found or 'no Java'}, {free / GIGABYTE:.0f} GB free")

    def _make_environment(self, installer: Installer) -> None:
        virtual.create(self.environment, installer.variables)
        self.stamp = stamp.Stamp()
        self._record(location=self.wanted.location, python=self.wanted.python)

    def _install_set(self, phase: Phase, installer: Installer) -> None:
        assert self.stamp is not None
        if self.stamp.unfinished:
            virtual.drop_half_installed(virtual.packages_of(self.environment))
        self._record(unfinished=phase.set_name)
        lock = self.root / "locks" / f"{phase.set_name}.txt"
        # pyspark is published as source only: it is built by the locked tools, not by whatever is newest today.
        arguments = ["--require-hashes", "--no-build-isolation", "--use-pep517", "--requirement", str(lock)]
        installer.install(phase.title, arguments)
        sets = {**self.stamp.sets, phase.set_name: self.wanted.locks[phase.set_name]}
        self._record(unfinished="", sets=sets)

    def _install_project(self, installer: Installer) -> None:
        installer.install("Pondage", ["--no-deps", "--no-build-isolation", "--editable", str(self.root)])
        self._record(project=self.wanted.project)

    def _build_page(self, installer: Installer, node: page.Node | None) -> None:
        """Build the web page. All but the page works without it, so a failure is told and passed over."""
        found = node or page.node_of_packages(virtual.packages_of(self.environment))
        reason = page.build(self.root, found, installer)
        if reason is not None:
            installer.progress.say(f"      the web page was not built ({reason}); the same command tries it again")
            return
        self._record(page=page.digest(self.root))

    def _warm_up(self, installer: Installer, *, java_is_found: bool) -> None:
        """Let Pondage prepare Spark's start. It only saves time, so a failure is told and passed over."""
        pondage = str(self.environment / "bin" / "pondage")
        if subprocess.run([pondage, "warmup", "--help"], capture_output=True, check=False).returncode != 0:
            installer.progress.say("      this version has no warm-up")
            return
        code, tail = run_watched(
            [pondage, "warmup", "--if-needed"],
            variables=os.environ,
            directory=self.root,
            log=installer.log,
            on_line=lambda _: None,
            on_tick=lambda: installer.progress.move(lambda: "starting Spark once"),
        )
        if code != 0:
            reason = tail[-1] if tail else f"exit code {code}"
            installer.progress.say(f"      the warm-up failed ({reason}); Spark starts slower, and that is all")
        self._record(warmed=warm_key(self.wanted, java_is_found=java_is_found))

    def _record(self, **changes: object) -> None:
        assert self.stamp is not None
        for name, value in changes.items():
            setattr(self.stamp, name, value)
        stamp.write(self.environment, self.stamp)

"""Run `make demo` as a stranger would have it: a fresh clone, no Java or Node, an empty HOME, a user without a name.

Everything happens in a temporary directory that is removed afterwards. Of the environment only the search path
(without any `java` or `node`), the language and the settings of pip, proxies and certificates are kept.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

STRANGER = 54321
"""A user id that no machine gives a name to: the set-up and Spark must both do without one."""

KEPT = re.compile(
    r"PATH|LANG|PIP_.*|npm_config_.*|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|(REQUESTS_CA|CURL_CA)_BUNDLE"
    r"|NODE_EXTRA_CA_CERTS",
    re.IGNORECASE,
)

PYTHONS = ["python3.11", "python3.12", "python3.13", "python3"]
IS_NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))"

EXPECTED_OUTPUT = {
    "a Java of its own was installed": re.compile(r"^\[\d+/\d+\] Java: ", re.MULTILINE),
    "Spark was installed": re.compile(r"^\[\d+/\d+\] Spark: ", re.MULTILINE),
    "a Node of its own was installed": re.compile(r"^\[\d+/\d+\] Node: ", re.MULTILINE),
    "the web page was built": re.compile(r"^\[\d+/\d+\] Page: .*\n(?!.*page was not built)", re.MULTILINE),
}
EXPECTED_END = re.compile(r"\bpondage (init|dev|status|why|run)\b")
"""The demo closes with what to type next."""
END_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who runs the demo; None is the current user."""

    user: int | None = None

    def options(self) -> dict[str, object]:
        """Answer the options that start a process as this user."""
        return {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}


HIDDEN = {"java", "node"}


def path_without_hidden(path: str, shadows: Path) -> str:
    """Answer a search path on which everything is found but `java` and `node`.

    A directory that holds one of them is replaced by one of links to all the rest of it.
    """
    kept: list[str] = []
    for number, directory in enumerate(dict.fromkeys(os.path.realpath(part) for part in path.split(":") if part)):
        if not any(os.path.lexists(f"{directory}/{name}") for name in HIDDEN):
            kept.append(directory)
            continue
        shadow = shadows / str(number)
        shadow.mkdir(parents=True)
        for program in Path(directory).iterdir():
            if program.name not in HIDDEN:
                (shadow / program.name).symlink_to(program)
        kept.append(str(shadow))
    return ":".join(kept)


def scrubbed(environment: Mapping[str, str], *, path: str, home: Path) -> dict[str, str]:
    """Answer the environment of a stranger on this machine."""
    kept = {name: value for name, value in environment.items() if KEPT.fullmatch(name)}
    return {**kept, "PATH": path, "HOME": str(home)}


def can_run_python(identity: Identity, environment: Mapping[str, str], directory: Path) -> bool:
    """Tell whether a user finds a Python that is new enough on the search path."""
    for name in PYTHONS:
        for part in environment["PATH"].split(":"):
            with contextlib.suppress(OSError):
                command = [f"{part}/{name}", "-c", IS_NEW_ENOUGH]
                answer = subprocess.run(
                    command,
                    capture_output=True,
                    check=False,
                    cwd=directory,
                    env=dict(environment),
                    **identity.options(),
                )  # type: ignore[call-overload]
                if answer.returncode == 0:
                    return True
    return False


def give_to(identity: Identity, directory: Path) -> None:
    """Make a directory and all in it belong to a user."""
    if identity.user is None:
        return
    for folder, _, names in os.walk(directory):
        for path in (folder, *(f"{folder}/{name}" for name in names)):
            os.chown(path, identity.user, identity.user, follow_symlinks=False)


def clone(target: Path) -> None:
    """Clone what is committed; say so when there is more."""
    command = ["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"]
    if subprocess.run(command, capture_output=True, text=True, check=True).stdout:
        print("note: changes that are not committed are not part of the clone", flush=True)
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(target)], check=True)


@contextlib.contextmanager
def started(command: list[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    """Start a program in a process group of its own; whatever of the group is left at the end is ended."""
    process = subprocess.Popen(command, start_new_session=True, **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_demo(checkout: Path, environment: Mapping[str, str], identity: Identity) -> tuple[int, str]:
    """Run `make demo`, showing and keeping what it prints; answer its exit code and its output."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
    shown: list[str] = []
    with started(["make", "demo"], cwd=checkout, env=dict(environment), **options, **identity.options()) as process:
        assert process.stdout is not None
        for line in process.stdout:
            shown.append(line)
            sys.stdout.write(f"  | {line}")
            sys.stdout.flush()
        code = process.wait()
    return code, "".join(shown)


def faults(code: int, output: str) -> list[str]:
    """Answer what was wrong with a run of the demo; nothing when it was as it should be."""
    found = [] if code == 0 else [f"make demo ended with {code}"]
    found += [f"not seen: {what}" for what, pattern in EXPECTED_OUTPUT.items() if not pattern.search(output)]
    if not EXPECTED_END.search("\n".join(output.rstrip().splitlines()[-END_LINES:])):
        found.append("the demo did not close with what to type next")
    return found


def main() -> int:
    """Run the check; the exit code is 1 when something was wrong."""
    began = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="pondage-bare-"))
    try:
        clone(directory / "pondage")
        home = directory / "home"
        home.mkdir()
        path = path_without_hidden(os.environ.get("PATH", os.defpath), directory / "path")
        environment = scrubbed(os.environ, path=path, home=home)
        identity = Identity(user=STRANGER if os.getuid() == 0 else None)
        give_to(identity, directory)
        if not can_run_python(identity, environment, directory):
            print("note: no Python here can be run by another user; staying with this one", flush=True)
            identity = Identity()
            os.chown(directory, os.getuid(), os.getgid())
        print(f"make demo as user {identity.user or os.getuid()} in a fresh clone, without Java and Node", flush=True)
        found = faults(*run_demo(directory / "pondage", environment, identity))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for fault in found:
        print(f"bare: {fault}")
    print(f"bare: {'FAILED' if found else 'ok'} in {time.monotonic() - began:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

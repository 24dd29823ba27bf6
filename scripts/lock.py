"""Make the lock files: every requirement of every set pinned with the hashes of all its files.

A set is one file under `locks/` and one step of the set-up. The sets are resolved one after another, each
constrained by those before it, so that any combination of them can be installed together. The resolution is
universal: one file serves Linux and macOS, every processor and every Python that the project supports. No file
names an index: where packages come from is the business of the machine that installs them.

`make lock` keeps the versions it finds; `make lock ARGS=--upgrade` takes the newest that fit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "locks"
RESOLVER = "uv==0.13.7"

BUILD_REQUIREMENTS = ["hatchling>=1.27", "setuptools>=75", "wheel>=0.45"]
"""What builds pyspark, which is published as source only, and the project itself. Nothing is built in isolation."""

PINS = ["pyspark==4.2.1"]
"""Versions narrower than pyproject's ranges: the newest pyspark in the range has no Delta connector."""

HEADER = "# Made by `make lock` from pyproject.toml. Do not edit.\n"


def requirements_by_set() -> dict[str, list[str]]:
    """Answer what each lock file must cover, in the order in which they are resolved."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return {"build": BUILD_REQUIREMENTS, "base": project["dependencies"], **extras}


def resolver_environment() -> dict[str, str]:
    """Carry pip's choice of index over to the resolver, which reads other variables."""
    environment = dict(os.environ)
    for ours, theirs in (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_EXTRA_INDEX_URL", "UV_INDEX")):
        if ours in environment:
            environment.setdefault(theirs, environment[ours])
    return environment


def install_resolver(directory: Path) -> Path:
    """Install the resolver into an environment of its own and answer its path."""
    venv.create(directory, with_pip=True)
    subprocess.run([directory / "bin" / "pip", "install", "--quiet", RESOLVER], check=True)
    return directory / "bin" / "uv"


def resolve(resolver: Path, name: str, requirements: list[str], earlier: list[str], options: list[str]) -> None:
    """Write `locks/NAME.txt`, agreeing with the sets locked before it."""
    target = LOCKS / f"{name}.txt"
    command = [str(resolver), "pip", "compile", "-", "--output-file", str(target), "--quiet"]
    command += ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", *options]
    for constraint in earlier:
        command += ["--constraint", str(LOCKS / f"{constraint}.txt")]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as pins:
        pins.write("\n".join(PINS) + "\n")
        pins.flush()
        command += ["--constraint", pins.name]
        subprocess.run(command, input="\n".join(requirements), text=True, check=True, env=resolver_environment())
    target.write_text(HEADER + target.read_text(encoding="utf-8"), encoding="utf-8")


def main(options: list[str]) -> int:
    """Resolve every set; the exit code is not zero when the resolver found no answer."""
    LOCKS.mkdir(exist_ok=True)
    earlier: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        resolver = install_resolver(Path(directory))
        for name, requirements in requirements_by_set().items():
            resolve(resolver, name, requirements, earlier, options)
            earlier.append(name)
            pinned = sum("==" in line for line in (LOCKS / f"{name}.txt").read_text(encoding="utf-8").splitlines())
            print(f"locks/{name}.txt: {pinned} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

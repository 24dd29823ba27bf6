"""Duckstring (PyPI package `duckstring`) in an environment of its own, asked through a subprocess.

It is never a dependency of ours. When it cannot be installed, the rows say so and the benchmark goes on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".cache" / "bench" / "duckstring"
REQUIREMENT = "duckstring==0.7.0"
SIDE = Path(__file__).with_name("duckstring_side.py")


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What Duckstring did: a figure, or why there is none."""

    figure: float = 0.0
    count: int = 0
    problem: str = ""

    @property
    def against(self) -> str:
        """Name what was compared with, and what it could not do."""
        return f"{name()}: {self.problem}" if self.problem else name()


@cache
def python() -> Path | str:
    """Answer the interpreter that has Duckstring, installing it the first time; a text when that failed."""
    found = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "complete").exists():
        ENVIRONMENT.parent.mkdir(parents=True, exist_ok=True)
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)],
            [str(found), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIREMENT],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return "could not be installed"
        (ENVIRONMENT / "complete").touch()
    return found


@cache
def name() -> str:
    """Answer name and version as rows show them."""
    return REQUIREMENT.replace("==", " ")


def ask(question: dict[str, object], *, timeout_s: float = 120.0) -> Answered:
    """Ask one question of `duckstring_side.py`; whatever goes wrong becomes the answer's problem."""
    interpreter = python()
    if isinstance(interpreter, str):
        return Answered(problem=interpreter)
    try:
        done = subprocess.run(
            [str(interpreter), "-I", str(SIDE)],
            input=json.dumps({**question, "patience_s": timeout_s}),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answered(problem=f"not done after {timeout_s:g} s")
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return Answered(problem=last[0].partition(":")[0])
    answer = json.loads(done.stdout)
    return Answered(figure=answer.get("figure", 0.0), count=answer.get("count", 0), problem=answer.get("problem", ""))

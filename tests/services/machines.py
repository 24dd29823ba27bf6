"""Machines that work for one ledger: a `pondage worker` each, with its own state, network and way to the server."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg

from pondage.ledger.ledger import Ledger
from pondage.project.project import Project, load_project
from tests.engine.projects import write_project
from tests.patience import PATIENCE_S
from tests.services.postgres import PostgresServer
from tests.services.proxy import Proxy

PLUGIN = Path(__file__).parent / "plugin"
ROOT = Path(__file__).parents[2]

_PONDAGE = "import sys; from pondage.cli.main import main; sys.exit(main())"
_numbers = count(1)
_dice = random.SystemRandom()


class Network:
    """A network namespace of its own with one wire to ours, when we may make one; else the loopback of all."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.host = "127.0.0.1"
        number = next(_numbers)
        name, wire = f"pondage-{os.getpid()}-{number}", f"pw{os.getpid() % 100_000}x{number}"
        # By chance: another run of these tests, or what is left of one that was killed, must not have the same.
        address = f"10.{_dice.randrange(200, 250)}.{_dice.randrange(250)}"
        if os.geteuid() != 0 or shutil.which("ip") is None:
            return
        steps = (
            f"netns add {name}",
            f"link add {wire}a type veth peer name {wire}b",
            f"link set {wire}b netns {name}",
            f"addr add {address}.1/24 dev {wire}a",
            f"link set {wire}a up",
            f"-n {name} addr add {address}.2/24 dev {wire}b",
            f"-n {name} link set {wire}b up",
            f"-n {name} link set lo up",
        )
        if all(_ip(step) for step in steps):
            self.name, self.host = name, f"{address}.1"
        else:
            _ip(f"netns del {name}")

    def command(self) -> list[str]:
        return [] if self.name is None else ["ip", "netns", "exec", self.name]

    def close(self) -> None:
        if self.name is not None:
            _ip(f"netns del {self.name}")


def _ip(arguments: str) -> bool:
    return subprocess.run(["ip", *arguments.split()], capture_output=True, check=False).returncode == 0


class Machine:
    """One machine. Its ledger is a proxy, so that the test can cut it off."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        self.network = Network()
        self.proxy = Proxy(cluster.server.port, host=self.network.host)
        self.folder = cluster.folder / name
        self.folder.mkdir()
        self.output = self.folder / "output.log"
        self._cluster = cluster
        self._process: subprocess.Popen[bytes] | None = None
        self.temporary = tempfile.mkdtemp(prefix="pm")
        url = f"postgresql://pondage@{self.proxy.host}:{self.proxy.port}/{cluster.database}"
        (self.folder / "pondage.toml").write_text(
            f'[project]\nname = "machine"\nledger = "{url}"\nwarehouse = "{cluster.warehouse}"\n{cluster.settings}'
        )

    def start(self, *arguments: str, verb: str = "worker") -> None:
        """Start a verb that serves, with its state where no other machine sees it."""
        python_path = [*([str(PLUGIN)] if self._cluster.is_plain else []), str(ROOT / "src")]
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                [*self.network.command(), *self._apart(), sys.executable, "-P", "-c", _PONDAGE, verb, *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=self.folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(python_path), "TMPDIR": self.temporary},
                start_new_session=True,
            )  # fmt: skip

    def _apart(self) -> list[str]:
        """Give what makes the state directory one of this machine only, where it has a network of its own."""
        if self.network.name is None:
            return []
        places = [str(self.folder / ".pondage"), self.temporary]
        for place in places:
            Path(place).mkdir(exist_ok=True)
        script = 'mount -t tmpfs none "$0" && mount -t tmpfs none "$1" && shift && exec "$@"'
        return ["sh", "-c", script, *places]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a verb on this machine to its end."""
        return subprocess.run(
            [*self.network.command(), sys.executable, "-P", "-c", _PONDAGE, *arguments],
            capture_output=True, text=True, cwd=self.folder, timeout=PATIENCE_S, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )  # fmt: skip

    def freeze(self) -> None:
        """Stop every process of this machine."""
        assert self._process is not None
        for pid in _session(self._process.pid):
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on."""
        assert self._process is not None
        for pid in _session(self._process.pid):
            os.kill(pid, signal.SIGCONT)

    def ask_to_end(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def wait_ended(self) -> int:
        assert self._process is not None
        code = self._process.wait(PATIENCE_S)
        self._process = None
        return code

    def restart(self) -> int:
        """End in an orderly way, start again, and answer how it ended."""
        self.ask_to_end()
        code = self.wait_ended()
        self.start()
        return code

    def said(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def close(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE_S)
        self.proxy.close()
        self.network.close()
        shutil.rmtree(self.temporary, ignore_errors=True)


def _session(leader: int) -> list[int]:
    """Answer the processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(path.name)) == leader:
                found.append(int(path.name))
    return found


class Wire:
    """A wire between two machines, beside those to us."""

    def __init__(self, first: Machine, second: Machine) -> None:
        net = f"10.{_dice.randrange(150, 199)}.{_dice.randrange(250)}"
        self._ends = [(first.network.name, "wire0"), (second.network.name, "wire1")]
        self.addresses = [f"{net}.1", f"{net}.2"]
        steps = [f"link add wire0 netns {first.network.name} type veth peer name wire1 netns {second.network.name}"]
        for (name, end), address in zip(self._ends, self.addresses, strict=True):
            steps += [f"-n {name} addr add {address}/24 dev {end}", f"-n {name} link set {end} up"]
        assert all(_ip(step) for step in steps), "the wire could not be laid"

    def cut(self) -> None:
        self._set("down")

    def mend(self) -> None:
        self._set("up")

    def _set(self, how: str) -> None:
        name, end = self._ends[0]
        assert _ip(f"-n {name} link set {end} {how}")


class Cluster:
    """A database, a warehouse and machines."""

    def __init__(self, server: PostgresServer, folder: Path, settings: str, *, is_plain: bool = True) -> None:
        self.server = server
        self.folder = folder
        self.settings = settings
        self.is_plain = is_plain
        self.database = f"cluster_{next(_numbers)}"
        self.warehouse = folder / "warehouse"
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {self.database}")
        self.url = server.url.replace("/postgres", f"/{self.database}")
        self.machines: list[Machine] = []
        self.ledger: Ledger = Ledger.open(self.url, durability=self.project("").durability)

    def project(self, ponds: str) -> Project:
        """The author's project, on a machine that none of the workers sees."""
        head = f'[project]\nname = "shop"\nledger = "{self.url}"\nwarehouse = "{self.warehouse}"\n'
        write_project(self.folder / "author", ponds, head + self.settings)
        return load_project(self.folder / "author")

    def add(self, *names: str) -> list[Machine]:
        made = [Machine(self, name) for name in names]
        self.machines += made
        return made

    def rows(self, statement: str) -> list[dict[str, object]]:
        with self.ledger.reading() as tx:
            return [dict(row) for row in tx.rows(statement)]

    def count(self, statement: str) -> int:
        return len(self.rows(statement))

    def close(self) -> None:
        for machine in self.machines:
            machine.close()
        self.ledger.close()


@contextmanager
def cluster(server: PostgresServer, folder: Path, settings: str, *, is_plain: bool = True) -> Iterator[Cluster]:
    made = Cluster(server, folder, settings, is_plain=is_plain)
    try:
        yield made
    except BaseException:
        for machine in made.machines:
            print(f"--- {machine.name}\n{machine.said()}")
            for log in sorted(machine.folder.glob(".pondage/logs/*.log")):
                print(f"--- {machine.name} {log.name}\n{log.read_text()[-3000:]}")
        raise
    finally:
        made.close()

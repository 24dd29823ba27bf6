"""A RabbitMQ broker of our own: Debian's program in the foreground, on free loopback ports, with an epmd of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from tests.ports import free_port
from tests.services.postgres import NOBODY, wait_until

MISSING = "install RabbitMQ (Debian: apt-get install --no-install-recommends rabbitmq-server)"
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"


def find_rabbitmq() -> Path | None:
    """Answer the folder of the server's own scripts; Debian's wrappers on the path would change the user."""
    found = sorted(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin"))
    is_complete = found and (found[-1] / "rabbitmq-server").exists() and shutil.which("epmd")
    return found[-1] if is_complete else None


class RabbitServer:
    """One broker in a temporary directory, for as long as the tests run; never as root."""

    def __init__(self) -> None:
        scripts = find_rabbitmq()
        assert scripts is not None, MISSING
        self._scripts = scripts
        self.folder = Path(tempfile.mkdtemp(prefix="pondage-rabbitmq-"))
        self.port = free_port()
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}/"
        self._epmd_port = free_port()
        self._environment = self._settings()
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        epmd = shutil.which("epmd") or "epmd"
        self._epmd = self._start([epmd, "-port", str(self._epmd_port), "-address", "127.0.0.1"], "epmd.log")
        self.start()

    def start(self) -> None:
        """Start the broker, again with what it had, and wait until it speaks AMQP."""
        self._process = self._start([str(self._scripts / "rabbitmq-server")], "server.log")
        try:
            wait_until(self._answers)
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """Kill the broker; its data stays."""
        _kill(self._process)

    def close(self) -> None:
        """End the broker and its epmd and remove everything of them."""
        _kill(self._process)
        _kill(self._epmd)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _settings(self) -> dict[str, str]:
        """What Debian's service would set, each with a place and a port of our own."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C.UTF-8",
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"pondage{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_BASE": str(self.folder),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "no-env.conf"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            # One scheduler that never spins: the tests share two cores with Spark.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}",
        }

    def _start(self, command: list[str], log: str) -> subprocess.Popen[bytes]:
        as_other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        with (self.folder / log).open("ab") as said:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd="/",
                env=self._environment,
                start_new_session=True,
                **as_other,  # type: ignore[call-overload]
            )

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise AssertionError(f"RabbitMQ ended: {(self.folder / 'server.log').read_text()[-2000:]}")
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.settimeout(5)
                connection.sendall(PROTOCOL_HEADER)
                return bool(connection.recv(1))
        except OSError:
            return False


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and its helpers; each has a process group of its own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

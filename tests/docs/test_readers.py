"""The guide to reading: its snippets are executed, on a ledger and against a real SQL door."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path

import pytest

from pondage.embedded.apart import Apart
from pondage.ledger.ledger import Ledger
from pondage.server.call import Service
from pondage.server.serving import ServeOptions
from pondage.server.sql.running import sql_door
from tests.cli.conftest import Call, call, project, world  # noqa: F401 - fixtures
from tests.ledger.harness import World
from tests.operations.published import publish
from tests.server.conftest import token_of

GUIDE = (Path(__file__).parents[2] / "docs" / "readers.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture
def shop(world: World, project: Path) -> World:  # noqa: F811
    world.clock.time = time.time_ns() // 1_000 - 3_600_000_000
    publish(world, project, "reports")
    return world


def test_the_script_reads(shop: World) -> None:
    script, _ = snippets("python")
    names: dict[str, object] = {}
    exec(compile(script, "readers.md", "exec"), names)
    assert len(names["frame"]) == 10  # type: ignore[arg-type]
    assert names["table"] == names["yesterday"]
    assert len(names["files"]) == 1  # type: ignore[arg-type]


def test_the_commands_do_what_they_say(shop: World, call: Call, project: Path) -> None:  # noqa: F811
    lines = [line for block in snippets("sh") for line in block.splitlines()]
    assert len(lines) == 6
    for line in lines:
        said = call(*shlex.split(line)[1:])
        assert said.code == 0, (line, said.err)
    assert (project / "reports.parquet").is_file()
    assert (project / "clean.csv").read_text().count("\n") == 11
    assert "reports@1" in call("readers").out


def test_the_client_of_the_sql_door_reads(shop: World, project: Path) -> None:  # noqa: F811
    _, script = snippets("python")
    ledger = Ledger.open(f"sqlite:///{project}/.pondage/ledger.db")
    engine = Apart(at_once=1)
    service = Service(ledger=ledger, environment="main", warehouse=project / "warehouse", engine=engine)
    try:
        with sql_door(service, ServeOptions(), 0) as url:
            names: dict[str, object] = {"url": url, "token": token_of(shop, "read")}
            exec(compile(script, "readers.md", "exec"), names)
    finally:
        engine.close()
        ledger.close()
    assert len(names["frame"]) == 3  # type: ignore[arg-type]


def test_every_code_of_the_guide_is_one() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (Path(__file__).parents[2] / "src").rglob("*.py"))
    codes = set(re.findall(r"`([A-Z]+_[A-Z_]+|TIMEOUT)`", GUIDE)) - {"PONDAGE_SERVER", "PONDAGE_TOKEN"}
    assert codes
    for code in codes:
        assert f'"{code}"' in sources, code

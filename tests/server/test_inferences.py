"""Types that workers find are kept for everybody, under a key that the server makes of what was asked."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec

from pondage.define.types.types import parse_type
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.exposed import given
from pondage.ledger.kinds.infer import InferTask
from pondage.plan.job.inference import question_of
from pondage.project.archive import pack_project
from pondage.project.project import load_project
from tests.ledger.harness import World
from tests.server.conftest import As
from tests.server.test_twins import TOOLBOX

ROW = "Table<{id: bigint}>"


def exposed(world: World) -> None:
    """Deploy two components whose outputs only Spark knows."""
    with world.ledger.reading() as tx:
        before = deployed(tx, world.ledger, "main")
    deploy(
        world.ledger, "main", project="tools", definitions=[], removed=[], archive=b"t", summary="{}", expected=before,
        exposed=TOOLBOX,
    )  # fmt: skip


def true_key(name: str) -> str:
    """The key under which every planner looks for what a deployed component gives."""
    (definition,) = [one for one in TOOLBOX.components if one.name == name]
    return question_of(definition, {}, {"in": [parse_type(ROW)]}, (), {}).key


def asked(world: World) -> list[str]:
    """The keys that workers will keep their answers under."""
    rows = world.rows("SELECT inputs FROM dispatches WHERE kind = 'infer' ORDER BY id")
    return [one.key for row in rows for one in msgspec.json.decode(str(row["inputs"]), type=InferTask).questions]


def test_the_answer_about_one_component_is_never_kept_as_that_of_another(
    client: As, world: World, tmp_path: Path
) -> None:
    exposed(world)
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    (tmp_path / "ponds.py").write_text("def evil(**_):\n    return {}\n")
    archive = b64encode(pack_project(load_project(tmp_path)).data).decode()
    victim = true_key("guess")
    lies: tuple[dict[str, Any], ...] = (
        {"component": "guess", "entry": "ponds:evil"},
        {"component": "guess", "entry": "tools:guess"},
        {"component": "evil", "entry": "ponds:evil"},
        {"component": "filter", "entry": "ponds:evil"},
    )
    for lie in lies:
        question = {"key": victim, "inputs": {"in": [ROW]}, **lie}
        answer = client("operate").post("/v1/inferences", {"questions": [question], "archive": archive})
        assert answer.status == 202, answer.data
        ours = answer.json["keys"][victim]
        assert ours == asked(world)[-1], "so that whoever asked finds his answer"
    assert victim not in asked(world)
    assert len(set(asked(world))) == len(lies)


def test_what_is_asked_of_deployed_code_is_kept_under_the_key_that_every_planner_finds(
    client: As, world: World
) -> None:
    exposed(world)
    with world.ledger.reading() as tx:
        (code,) = given(tx, "main").archives
    question = {"component": "guess", "entry": "tools:guess", "inputs": {"in": [ROW]}}
    for said in ("0" * 64, true_key("guess")):
        answer = client("operate").post("/v1/inferences", {"questions": [{"key": said, **question}], "code": code})
        assert answer.json["keys"] == ({} if said == true_key("guess") else {said: true_key("guess")})
    assert asked(world) == [true_key("guess")] * 2

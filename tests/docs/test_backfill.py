"""docs/backfill.md, played: its commands print what it says, its Pond is one that Pondage reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from pondage.cli.main import main
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.project.project import load_project
from pondage.project.reader import read_project
from tests.docs.examples import ROOT, blocks, examples, matches
from tests.ledger.harness import World
from tests.ledger.step.test_backfills import daily, published

DOCUMENT = ROOT / "docs" / "backfill.md"


def test_the_document_does_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    monkeypatch.chdir(tmp_path)
    world = World(lambda clock: SqliteDriver(tmp_path / ".pondage" / "ledger.db", clock))
    published(world, daily("daily"))
    commands = examples(DOCUMENT)
    assert len(commands) == 6
    for example in commands:
        found = world.rows("SELECT public_id FROM backfills")
        known = str(found[0]["public_id"]) if found else ""
        capsys.readouterr()
        code = main([known if word == "BACKFILL" else word for word in example.words[1:]])
        said = capsys.readouterr()
        assert code == 0, f"{example.place}: {said.err}"
        assert matches(said.out, example.printed), f"{example.place}: {' '.join(example.words)} printed\n{said.out}"
    world.ledger.close()


def test_its_pond_is_one_that_pondage_reads(tmp_path: Path) -> None:
    (block,) = blocks(DOCUMENT, "python")
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    (tmp_path / "ponds.py").write_text(block.text)
    (made,) = read_project(load_project(tmp_path))
    assert made.mode == "partition"

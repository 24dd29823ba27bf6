"""docs/versions.md, played: its files are written where they stand in the text, its commands print what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pondage.cli.main import main
from pondage.engine.supervise import dev
from tests.cli.workers import FakeWorkers
from tests.docs.examples import ROOT, Block, blocks, examples, matches

DOCUMENT = ROOT / "docs" / "versions.md"


def written(block: Block, project: Path) -> None:
    """Write a block into the file that its first line names."""
    found = re.match(r"# (ponds/\w+\.py)\n", block.text)
    assert found is not None, f"{block.document}:{block.line} names no file"
    (project / found[1]).write_text(block.text)


def test_the_document_does_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    (tmp_path / "ponds").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dev, "attached", FakeWorkers().attached)
    files = blocks(DOCUMENT, "python")
    commands = examples(DOCUMENT)
    assert len(commands) > 10
    for example in commands:
        line = int(example.place.rpartition(":")[2])
        while files and files[0].line < line:
            written(files.pop(0), tmp_path)
        capsys.readouterr()
        code = main(list(example.words[1:]))
        said = capsys.readouterr()
        assert code == 0, f"{example.place}: {said.err}"
        assert matches(said.out, example.printed), f"{example.place}: {' '.join(example.words)} printed\n{said.out}"

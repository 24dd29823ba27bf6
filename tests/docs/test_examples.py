"""Every example of the documentation is executed, or, where it needs Spark or never ends, checked for what it types."""

from __future__ import annotations

import ast
from pathlib import Path

import click
import pytest

from pondage.cli.main import main, program
from pondage.engine.supervise import dev
from pondage.project.project import Project, load_project
from pondage.project.reader import read_project
from tests.cli.workers import FakeWorkers
from tests.docs.examples import DOCUMENTS, ROOT, Example, blocks, examples, matches

EXECUTED = {"docs/triggers.md": "ponds.py"}
"""Documents whose commands are run one after the other, on the project of their own Python block."""

OTHER_TESTS = {"docs/backfill.md", "docs/simulate.md", "docs/versions.md"}
"""Documents that a test of their own executes."""

OTHER_PROGRAMS = {"python", "make", "pip", "cd"}


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


TYPED = [
    pytest.param(example, id=f"{example.place} {' '.join(example.words)}")
    for document in DOCUMENTS
    for example in examples(document)
]


@pytest.mark.parametrize("example", TYPED)
def test_what_a_document_types_is_understood(example: Example) -> None:
    name, *rest = example.words
    if name != "pondage":
        assert name in OTHER_PROGRAMS, f"{example.place} types {name}"
        if name == "make":
            targets = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert any(f"\n{word}:" in targets for word in rest), f"{example.place}: no such target"
        return
    group = click.Context(program)
    verb = program.get_command(group, rest[0])
    assert verb is not None, f"{example.place}: there is no verb {rest[0]}"
    verb.make_context(rest[0], list(rest[1:]), parent=group)  # raises for an option that does not exist


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_the_python_of_a_document_can_be_read(document: Path) -> None:
    for block in blocks(document, "python"):
        ast.parse(block.text, filename=f"{block.document}:{block.line}")


@pytest.mark.parametrize("document", [ROOT / "README.md", *(ROOT / name for name in EXECUTED)], ids=named)
def test_the_ponds_of_a_document_are_declarations_that_pondage_reads(document: Path, tmp_path: Path) -> None:
    for block in blocks(document, "python"):
        assert read_project(_project(tmp_path, block.text))


@pytest.mark.parametrize("document", [ROOT / name for name in EXECUTED], ids=named)
def test_the_commands_of_a_document_do_what_it_says(
    document: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (block,) = blocks(document, "python")
    _project(tmp_path, block.text)
    monkeypatch.chdir(tmp_path)
    workers = FakeWorkers()
    monkeypatch.setattr(dev, "attached", workers.attached)
    for example in examples(document):
        capsys.readouterr()
        code = main(list(example.words[1:]))
        said = capsys.readouterr()
        assert code == 0, f"{example.place}: {said.err}"
        assert matches(said.out, example.printed), f"{example.place}: {' '.join(example.words)} printed\n{said.out}"


def test_the_first_steps_of_the_readme_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dev, "attached", FakeWorkers().attached)
    done: list[str] = []
    for example in examples(ROOT / "README.md"):
        match example.words:
            case ("cd", directory):
                monkeypatch.chdir(directory)
            case ("pondage", verb, *_) if verb != "dev":
                assert main(list(example.words[1:])) == 0, f"{example.place}: {capsys.readouterr().err}"
                done.append(verb)
    assert done == ["init", "deploy", "run"]


def test_every_document_is_looked_at() -> None:
    with_commands = {named(document) for document in DOCUMENTS if examples(document)}
    assert with_commands >= {"README.md", *EXECUTED}
    assert {named(document) for document in DOCUMENTS} >= OTHER_TESTS


def _project(directory: Path, ponds: str) -> Project:
    (directory / "pondage.toml").write_text('[project]\nname = "shop"\n')
    (directory / "ponds.py").write_text(ponds)
    return load_project(directory)

"""The rules of the house are kept, and what checks them finds what breaks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import house, rooms
from tests.setup.test_import_rules import graph_of


def package_of(root: Path, **modules: str) -> Path:
    package = root / "src" / "pondage"
    for name in (*house.BY_NAME, *modules):
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(modules.get(name, "import_module(name)\n"))
    return package


def test_this_house_keeps_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert house.main() == 0, capsys.readouterr().out


def test_the_table_of_rooms_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert rooms.main(["--check"]) == 0, capsys.readouterr().out


def test_a_folder_of_more_than_25_modules_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "spark" / "files"
    folder.mkdir(parents=True)
    for number in range(25):
        (folder / f"file_{number}.py").touch()
    (folder / "__init__.py").touch()
    assert list(house.crowded(tmp_path)) == []
    (folder / "one_more.py").touch()
    assert list(house.crowded(tmp_path)) == [
        "spark/files/ has 26 modules, and a folder holds at most 25: cut it into rooms"
    ]


@pytest.mark.parametrize(
    "line", ["importlib.import_module('pondage.engine')", "import_module(name)", "__import__('pondage.spark')"]
)
def test_an_import_by_name_is_found(tmp_path: Path, line: str) -> None:
    package = package_of(tmp_path, **{"define/pond.py": f"def ask() -> None:\n    {line}\n"})
    (found,) = house.imported_by_name(package)
    assert found.startswith("define/pond.py:2 imports by name")


def test_a_module_that_may_import_by_name_and_does_not_is_found(tmp_path: Path) -> None:
    (found,) = house.imported_by_name(package_of(tmp_path, **{"cli/main.py": "import click\n"}))
    assert found.startswith("cli/main.py imports nothing by name")


@pytest.mark.parametrize("name", ["spark/write.py", "spark/write", "spark/", "src/pondage/spark/write.py", "write.py"])
def test_a_document_may_name_what_exists(tmp_path: Path, name: str) -> None:
    package_of(tmp_path, **{"spark/write.py": ""})
    (tmp_path / "READ.md").write_text(f"It lies in `{name}`, beside `of/somebody/else.py` and `a / b`.\n")
    assert list(house.unknown_files(tmp_path, [tmp_path / "READ.md"])) == []


@pytest.mark.parametrize("name", ["spark/read.py", "spark/read", "src/pondage/spark/read.py", "read.py", "spark/old/"])
def test_a_document_that_names_what_does_not_exist_is_found(tmp_path: Path, name: str) -> None:
    package_of(tmp_path, **{"spark/write.py": ""})
    (tmp_path / "READ.md").write_text(f"# Files\nIt lies in `{name}`.\n")
    assert list(house.unknown_files(tmp_path, [tmp_path / "READ.md"])) == [
        f"READ.md:2 names {name}, which does not exist"
    ]


CONTRACT = """
[[tool.importlinter.contracts]]
id = "plan"
rooms = ["plan"]
purpose = "plans"
only_rooms = ["define", "kernel"]
only_packages = []

[[tool.importlinter.contracts]]
id = "no-circles"
"""


def test_the_table_is_written_between_its_marks_and_nothing_else_changes() -> None:
    table = rooms.table(rooms.contracts(CONTRACT))
    assert table.endswith("|---|---|---|---|\n| `plan/` | plans | define, kernel | – |\n")
    document = rooms.written(f"before\n{rooms.BEGIN}old\n{rooms.END}after\n", table)
    assert document == f"before\n{rooms.BEGIN}\n{table}\n{rooms.END}after\n"
    assert rooms.written(document, table) == document
    with pytest.raises(ValueError, match=r"ARCHITECTURE\.md lacks"):
        rooms.written("no marks\n", table)


def test_the_folders_of_rooms_are_shown_by_the_first_sentence_of_their_package(tmp_path: Path) -> None:
    for folder, said in (("spark", "The data plane."), ("spark/jvm", "The JVM:\nhow it is started.\n\nMore.")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(f'"""{said}"""\n')
    assert rooms.inner_table(tmp_path) == f"{rooms.INNER_HEAD}| `spark/jvm/` | The JVM: how it is started. |\n"


def test_an_import_for_types_only_is_in_the_table_too() -> None:
    graph = graph_of(
        ("pondage.plan.diff", "pondage.define.pond"),
        ("pondage.plan.diff", "pondage.plan.names"),
        ("pondage.plan.diff", "pondage.ledger.store"),
        ("pondage.other.diff", "pondage.ledger.store"),
    )
    assert list(rooms.imports_outside(graph, rooms.contracts(CONTRACT))) == [
        "pondage.plan.diff:7 imports pondage.ledger.store"
    ]

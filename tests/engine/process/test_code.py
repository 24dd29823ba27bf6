"""Deployed code is imported from its archive and from nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.engine.process.code import CodeError, DeployedCode
from pondage.ledger.ledger import Ledger
from tests.engine.projects import deployed_into, write_project

PONDS = """
from pondage import Pond
shop = Pond("shop")

@shop.ripple
def orders(spark):
    return spark.range(1)

nothing = 1
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger.open(f"sqlite://{tmp_path / 'ledger.db'}")
    yield opened
    opened.close()


@pytest.fixture
def code(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeployedCode:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ponds", raising=False)
    digest = deployed_into(ledger, write_project(tmp_path / "project", PONDS))
    return DeployedCode(ledger, digest, tmp_path / "code")


def test_the_authors_object_comes_from_the_archive(code: DeployedCode, tmp_path: Path) -> None:
    (tmp_path / "project" / "ponds.py").unlink()
    pond = code.pond("ponds:shop")
    assert pond.ripples["orders"].function is not None
    assert Path(sys.modules["ponds"].__file__ or "").parent == code.place()
    assert code.pond("ponds:shop") is pond, "imported once"


def test_what_is_not_there_is_said(code: DeployedCode) -> None:
    with pytest.raises(CodeError, match="no module others"):
        code.pond("others:shop")
    with pytest.raises(CodeError, match="is no Pond"):
        code.pond("ponds:nothing")


def test_places_are_shown_as_the_author_knows_them(code: DeployedCode) -> None:
    unpacked = code.place()
    assert code.shown(f"{unpacked}/ponds.py:7") == "ponds.py:7"
    assert code.shown("ponds.py:7") == "ponds.py:7"
    assert code.shown(None) is None


def test_a_module_of_another_place_is_refused(code: DeployedCode) -> None:
    with pytest.raises(CodeError, match="not from the deployed code"):
        code.pond("json:shop")

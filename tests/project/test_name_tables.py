"""`[locations]`, `[secrets.COMPONENT]` and `[types]` of the project file."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pondage.cli.look.type import type as types
from pondage.errors import ProjectError
from pondage.project.project import load_project

GOOD = """
[locations]
landing = "data/landing"
lake = "s3a://lake/raw"

[secrets.fetch]
API_KEY = "env:SHOP_KEY"
token = "shop_token"

[types.Customer]
definition = "{id: bigint not null}"

[types."Order@2"]
definition = "{id: bigint not null, who: Customer@1}"
version = "2.3.0"
doc = "What the shop sold."
"""


def written(root: Path, text: str) -> Path:
    (root / "pondage.toml").write_text(text, encoding="utf-8")
    return root


def test_locations_and_types_have_names(tmp_path: Path) -> None:
    project = load_project(written(tmp_path, GOOD))
    assert project.locations == {"landing": str(tmp_path.resolve() / "data/landing"), "lake": "s3a://lake/raw"}
    assert project.secrets == {"fetch": {"API_KEY": "env:SHOP_KEY", "token": "shop_token"}}
    assert {key: one.version for key, one in project.types.items()} == {"Customer@1": "1.0.0", "Order@2": "2.3.0"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[locations]\n\"../up\" = \"x\"", "locations.../up is no name for a location"),
        ("[locations]\nlanding = 3", "locations.landing is 3"),
        ("locations = 3", "locations is not a table"),
        ("secrets = 3", "secrets. is no table"),
        ("[secrets.fetch]\nKEY = \"It is 5 o'clock!\"", "secrets.fetch.KEY does not say where a secret is"),
        ("[secrets.fetch]\nKEY = \"vault:x\"", "secrets.fetch.KEY does not say where a secret is"),
        ("[types.Table]\ndefinition = \"{a: int}\"", "types.Table is no name for a type"),
        ("[types.order]\ndefinition = \"{a: int}\"", "types.order is no name for a type"),
        ("[types.Order]\ndefinition = \"{a int}\"", "types.Order is no type: ':' is expected here"),
        ("[types.Order]\ndefinition = \"int\"", "types.Order must consist of columns"),
        ("[types.Order]\ndefinition = \"{a: Other}\"", "types.Order@1 names the unknown type Other"),
        ("[types.Order]\ndefinition = \"{a: array<Order>}\"", "types.Order@1 holds itself"),
        ("[types.Order]\ndefinition = \"{a: int}\"\nversion = \"two\"", "version 'two' is not of the form"),
        ("[types.\"Order@2\"]\ndefinition = \"{a: int}\"\nversion = \"1.0.0\"", "has the version 1.0.0"),
        ("[types.Order]\ncolumns = 3", "types.Order.columns is not a known key"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_name_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ProjectError) as caught:
        load_project(written(tmp_path, text))
    assert message in str(caught.value)


def test_types_are_listed_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written(tmp_path, GOOD))
    listed = CliRunner().invoke(types, ["list"], catch_exceptions=False)
    assert "Order@2" in listed.output
    assert "Stream" in listed.output
    shown = CliRunner().invoke(types, ["show", "Order", "--json"], catch_exceptions=False)
    assert '"long"' in shown.output
    assert "What the shop sold." in shown.output
    plain = CliRunner().invoke(types, ["show", "Value"], catch_exceptions=False)
    assert "JSON" in plain.output

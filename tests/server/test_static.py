"""The page: static files for everybody, small, packed, kept as long as they may be, and without anything inline."""

import gzip
import re
import shlex
from pathlib import Path

import click
import pytest

from pondage.cli.main import program
from pondage.server import static
from scripts.page_types import PLACE
from tests.server.conftest import As

BUILT = pytest.mark.skipif(
    not (static.FOLDER / "index.html").is_file(), reason="the page is not built here: make setup builds it"
)


def test_files_of_a_folder_are_open_and_scripts_are_kept_for_ever(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<html>")
    (tmp_path / "page-0123.js").write_text("code")
    (tmp_path / "notes.txt").write_text("not for anybody")
    found = static.files(tmp_path)
    assert set(found) == {"/", "/page-0123.js"}
    assert found["/"].keep == "no-cache"
    assert found["/page-0123.js"].keep == "public, max-age=31536000, immutable"
    assert gzip.decompress(found["/page-0123.js"].packed) == b"code"


def test_without_a_build_the_server_says_how_to_build_it(tmp_path: Path) -> None:
    found = static.files(tmp_path / "nowhere")
    assert set(found) == {"/"}
    assert b"make setup" in found["/"].plain


def test_the_page_needs_no_token_and_everything_else_does(client: As) -> None:
    nobody = client(None)
    answer = nobody.get("/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-cache"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert nobody.get("/index.html").status == 401
    assert nobody.ask("POST", "/").status == 405
    assert client("read").get("/v1/status").headers["cache-control"] == "no-store"


def test_a_foreign_name_does_not_get_the_page(client: As) -> None:
    assert client(None).get("/", headers={"host": "evil.example"}).status == 421


def test_packed_only_for_those_who_take_it(client: As) -> None:
    plain = client(None).get("/")
    packed = client(None).get("/", headers={"accept-encoding": "gzip, br"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data


@BUILT
def test_the_page_is_two_small_files_that_ask_nobody_else() -> None:
    found = static.files()
    assert len(found) == 2, sorted(found)
    assert sum(len(file.packed) for file in found.values()) <= 250_000
    html = found["/"].plain.decode()
    assert re.findall(r'(?:src|href)="(?!data:)([^"]+)"', html) == [f".{path}" for path in found if path != "/"]
    assert "<style" not in html
    assert re.search(r"<script(?![^>]*\ssrc=)", html) is None


def test_a_ticket_says_who_asked_for_it(client: As) -> None:
    found = client("operate", "main").post("/v1/tickets").json
    assert (found["name"], found["level"], found["environment"]) == ("a operate", "operate", "main")
    assert found["environments"] == ["main"]
    everywhere = client("read", "*").post("/v1/tickets").json
    assert "main" in everywhere["environments"]


def test_the_rhythm_of_today_can_be_read(client: As) -> None:
    answer = client("read").get("/v1/rhythm?since=0")
    assert answer.status == 200
    assert answer.json["ponds"] == []


def test_no_two_pages_share_a_name_or_a_key() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (PLACE.parent / "pages").glob("*.tsx")]
    for field in ("id", "shortcut"):
        found = [name for text in pages for name in re.findall(rf'^  {field}: "([^"]+)",$', text, re.MULTILINE)]
        assert len(found) == len(set(found)) > 5, (field, sorted(found))


def test_every_command_that_the_page_offers_is_one_of_the_command_line() -> None:
    files = [file for kind in ("*.ts", "*.tsx") for file in PLACE.parent.rglob(kind)]
    texts = {found[2] for file in files for found in COMMAND.finditer(file.read_text(encoding="utf-8"))}
    assert len(texts) > 30
    assert {text: wrong for text in texts if (wrong := unknown(text))} == {}


COMMAND = re.compile(r"""(["'`])pondage ([a-z](?:(?!\1).)*)\1""")


def unknown(text: str) -> list[str]:
    """Words of a command that the parser does not know: verbs and options."""
    words = shlex.split(re.sub(r"\$\{[^}]*\}+", "X", text))
    found: click.Command | None = program
    while isinstance(found, click.Group) and words:
        found = found.get_command(click.Context(found), words[0])
        if found is None:
            return words[:1]
        words = words[1:]
    assert found is not None
    options = {name for each in found.params for name in (*each.opts, *each.secondary_opts)}
    return [word for word in words if word.startswith("-") and word.partition("=")[0] not in options]

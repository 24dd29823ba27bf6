"""The code digest: it changes when what a Ripple computes may change, and only then."""

from __future__ import annotations

import pytest

from pondage.project.project import load_project
from pondage.project.reader import read_project
from tests.project.conftest import Write

PONDS = """\
from pondage import Pond, rows
from helpers import doubled, Rule
import constants
from shared.text import *

LIMIT = 5
FACTORS = {"a": 1}
UNUSED = 7
shop = Pond("shop")

@shop.ripple(expect=[rows(min=1)])
def raw(spark):
    '''A docstring.'''
    # a comment
    return spark.range(LIMIT), local(), FACTORS

@shop.ripple
def used(raw, scale=LIMIT):
    return doubled(raw), Rule().apply(raw)

@shop.ripple
def whole(raw):
    return constants.RATE

@shop.ripple
def starred(raw):
    return shout("x")

@shop.ripple
def inner(raw):
    from shared.late import late
    return [late(each) for each in raw]

def local():
    return deeper()

def deeper():
    return 1

def unrelated():
    return 1

def made(amount):
    def ripple(raw):
        return raw + amount
    return ripple

produced = made(3)
produced.__name__ = "produced"
shop.ripple(produced)
shop.sql("query", "query.sql")
"""
HELPERS = """\
BASE = 2

def doubled(x):
    return x * BASE

class Rule:
    def apply(self, x):
        return x

def other():
    return 3
"""
FILES = {
    "ponds.py": PONDS,
    "query.sql": "SELECT a FROM raw -- all",
    "helpers.py": HELPERS,
    "constants.py": "RATE = 1\nOTHER = 2\n",
    "shared/text.py": "def shout(x):\n    return x.upper()\n\ndef whisper(x):\n    return x.lower()\n",
    "shared/late.py": "def late(x):\n    return x\n",
}


def digests(project_of: Write, files: dict[str, str]) -> dict[str, str]:
    (shop,) = read_project(project_of(files))
    return {ripple.name: ripple.digest for ripple in shop.ripples}


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("unchanged")
    for name, text in {**FILES, "pondage.toml": ""}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (shop,) = read_project(load_project(root))
    return {ripple.name: ripple.digest for ripple in shop.ripples}


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("ponds.py", "# a comment", "# another comment\n\n", set()),
        ("ponds.py", "A docstring.", "Another docstring.", set()),
        ("ponds.py", "rows(min=1)", "rows(min=2)", set()),
        ("ponds.py", "def unrelated():\n    return 1", "def unrelated():\n    return 2", set()),
        ("ponds.py", "UNUSED = 7", "UNUSED = 8", set()),
        ("ponds.py", "LIMIT = 5", "LIMIT = 2 + 3", set()),
        ("ponds.py", "LIMIT = 5", "LIMIT = 6", {"raw", "used"}),
        ("ponds.py", '{"a": 1}', '{"a": 2}', {"raw"}),
        ("ponds.py", "FACTORS = {", "import json\nFACTORS = {", set()),
        ("ponds.py", "def deeper():\n    return 1", "def deeper():\n    return 2", {"raw"}),
        ("ponds.py", "spark.range(LIMIT)", "spark.range(LIMIT + 1)", {"raw"}),
        ("ponds.py", "made(3)", "made(4)", {"produced"}),
        ("ponds.py", "return raw + amount", "return raw - amount", {"produced"}),
        ("helpers.py", "x * BASE", "x + BASE", {"used"}),
        ("helpers.py", "BASE = 2", "BASE = 3", {"used"}),
        ("helpers.py", "        return x\n", "        return -x\n", {"used"}),
        ("helpers.py", "return 3", "return 4", set()),
        ("constants.py", "RATE = 1", "RATE = 2", {"whole"}),
        ("constants.py", "OTHER = 2", "OTHER = 3", {"whole"}),
        ("shared/text.py", "x.upper()", "x.title()", {"starred"}),
        ("shared/text.py", "x.lower()", "x.title()", set()),
        ("shared/late.py", "return x", "return -x", {"inner"}),
        ("query.sql", "SELECT a FROM raw -- all", "select a\nfrom raw", set()),
        ("query.sql", "SELECT a", "SELECT b", {"query"}),
    ],
)
def test_a_digest_follows_what_the_ripple_uses(
    unchanged: dict[str, str], project_of: Write, file: str, old: str, new: str, changed: set[str]
):
    assert old in FILES[file]
    after = digests(project_of, {**FILES, file: FILES[file].replace(old, new)})
    assert {name for name in unchanged if unchanged[name] != after[name]} == changed


NAMING = {
    "pondage.toml": '[project]\nname = "shop"\ncode = ["lists/*.csv"]\n',
    "ponds.py": """\
from pathlib import Path
from pondage import Pond

shop = Pond("shop")
RATES = "rates.json"

@shop.ripple
def named(spark):
    return Path(RATES).read_text()

@shop.ripple
def listed(spark):
    return list((Path(__file__).parent / "lists").glob("*.csv"))

@shop.ripple
def written(spark):
    'rates.json'
    return Path("out/rows.json")
""",
    "rates.json": "1",
    "other.json": "1",
    "lists/a.csv": "1",
    "out/rows.json": "1",
}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("rates.json", {"named"}),
        ("lists/a.csv", {"listed"}),
        ("lists/new.csv", {"listed"}),
        ("out/rows.json", set()),
        ("other.json", set()),
    ],
)
def test_a_file_that_the_code_names_and_that_is_packed_with_it_decides_as_much_as_code(
    project_of: Write, file: str, changed: set[str]
):
    before = digests(project_of, NAMING)
    after = digests(project_of, {**NAMING, file: "2"})
    assert {name for name in before if before[name] != after[name]} == changed


def test_reading_another_ripple_under_the_same_parameter_is_a_change(project_of: Write):
    text = (
        "from pondage import Pond\np = Pond('p')\n@p.ripple\ndef a(spark): ...\n@p.ripple\ndef b(spark): ...\n"
        "@p.ripple(reads={'x': 'a'})\ndef c(x): ...\n"
    )
    before = digests(project_of, {"ponds.py": text})
    after = digests(project_of, {"ponds.py": text.replace("'x': 'a'", "'x': 'b'")})
    assert {name for name in before if before[name] != after[name]} == {"c"}


def test_the_code_of_a_check_or_a_probe_has_a_digest_of_its_own(project_of: Write):
    text = (
        "from pondage import check, pond\ndef rule():\n    return 1\n"
        "@pond(expect=[check('rule', rule)])\ndef orders(spark): ...\n@orders.probe\ndef newest():\n    return 5\n"
    )
    (before,) = read_project(project_of({"ponds.py": text}))
    (after,) = read_project(project_of({"ponds.py": text.replace("return 1", "return 2").replace("5", "6")}))
    old, new = before.ripples[0], after.ripples[0]
    assert old.digest == new.digest
    assert old.expectations[0].digest != new.expectations[0].digest
    assert old.probe_digest != new.probe_digest


def test_ripples_that_use_each_others_helpers_in_a_circle_have_digests(project_of: Write):
    text = (
        "from pondage import pond\n"
        "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)\n"
        "@pond\ndef orders(spark): return even(4)\n"
    )
    before = read_project(project_of({"ponds.py": text}))[0].ripples[0].digest
    assert before != read_project(project_of({"ponds.py": text.replace("n != 0", "n > 0")}))[0].ripples[0].digest

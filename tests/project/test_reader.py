"""Modules are imported in a subprocess: what comes back, and what an author is told."""

from __future__ import annotations

import sys

import pytest

from pondage.define.pond.verification import Verification
from pondage.errors import PondageError
from pondage.project.reader import read_project
from tests.project.conftest import Write


def refused(project_of: Write, files: dict[str, str], timeout_s: float = 60) -> list[PondageError]:
    with pytest.raises(PondageError) as caught:
        read_project(project_of(files), timeout_s=timeout_s)
    return list(getattr(caught.value, "errors", [caught.value]))


def test_ponds_come_back_with_entry_place_and_inputs(project_of: Write):
    ponds = read_project(
        project_of(
            {
                "ponds/inlets.py": "from pondage import pond\n\n@pond\ndef orders(spark): ...\n",
                "ponds/sales.py": """\
from pondage import Pond
sales = Pond("sales", version="2.0.0")
sales.source("orders")

@sales.ripple
def clean(orders): ...

sales.sql("total", "sql/total.sql")
""",
                "ponds/sql/total.sql": "WITH c AS (SELECT * FROM clean) SELECT count(*) AS n FROM c, orders.orders",
            }
        )
    )
    assert [(pond.name, pond.entry, pond.place) for pond in ponds] == [
        ("orders", "ponds.inlets:orders", "ponds/inlets.py:3"),
        ("sales", "ponds.sales:sales", "ponds/sales.py:2"),
    ]
    total = ponds[1].ripple("total")
    assert [(read.parameter, read.pond, read.ripple) for read in total.reads] == [
        ("clean", None, "clean"),
        ("orders__orders", "orders", "orders"),
    ]
    assert total.sql is not None
    assert "orders__orders AS orders" in total.sql
    assert all(len(ripple.digest) == 64 for pond in ponds for ripple in pond.ripples)


def test_the_parser_of_sql_is_loaded_for_sql_only_and_no_file_of_the_author_stands_in_for_it(project_of: Write):
    asked = "import sys\nassert 'sqlglot.parser' not in sys.modules, 'loaded for nothing'\n"
    ponds = asked + "from pondage import Pond\nsales = Pond('sales')\nsales.sql('total', 'total.sql')\n"
    stranger = "raise RuntimeError('this is not the parser')\n"
    (pond,) = read_project(project_of({"ponds.py": ponds, "total.sql": "SELECT 1 AS one", "sqlglot.py": stranger}))
    assert pond.ripple("total").sql == "SELECT 1 AS one"


def test_what_a_module_prints_does_not_disturb_and_no_ripple_is_run(project_of: Write):
    files = {
        "ponds.py": """\
import sys, os
from pondage import pond
print("hello"); os.write(1, b"raw"); sys.stderr.write("oops")
@pond
def orders(spark):
    raise SystemExit("a Ripple was run")
"""
    }
    before = set(sys.modules)
    assert [pond.name for pond in read_project(project_of(files))] == ["orders"]
    assert "ponds" not in set(sys.modules) - before


def test_a_pond_that_is_imported_elsewhere_is_found_once(project_of: Write):
    files = {
        "ponds/a.py": "from ponds.b import orders as mine\n",
        "ponds/b.py": "from pondage import pond\n@pond\ndef orders(spark): ...\n",
    }
    assert [pond.entry for pond in read_project(project_of(files))] == ["ponds.b:orders"]


def test_errors_of_all_modules_come_back_with_the_authors_lines(project_of: Write):
    errors = refused(
        project_of,
        {
            "ponds/a.py": "x = 1\nraise ValueError('no such thing')\n",
            "ponds/b.py": "def broken(:\n    pass\n",
            "ponds/c.py": "import a_library_that_is_not_there\n",
            "ponds/d.py": "from pondage import Pond\n\nPond('Bad-Name')\n",
            "ponds/e.py": "from pondage import Pond\np = Pond('p')\n@p.ripple\ndef r(unknown): ...\n",
        },
    )
    assert [error.place for error in errors] == [
        "ponds/a.py:2", "ponds/b.py:1", "ponds/c.py:1", "ponds/d.py:3", "ponds/e.py:3",
    ]  # fmt: skip
    assert "ValueError: no such thing" in errors[0].message
    assert "a_library_that_is_not_there" in (errors[2].hint or "")
    assert [error.code for error in errors[3:]] == ["BAD_NAME", "UNKNOWN_INPUT"]
    assert not any("Traceback" in error.message for error in errors)


def test_an_error_inside_a_helper_is_placed_at_the_authors_line_that_failed(project_of: Write):
    files = {
        "helper.py": "def load():\n    return {}['missing']\n",
        "ponds.py": "from helper import load\nload()\n",
    }
    (error,) = refused(project_of, files)
    assert error.place == "helper.py:2"


def test_what_python_does_not_understand_is_shown_with_its_file_and_line(project_of: Write):
    (error,) = refused(project_of, {"ponds.py": "from pondage import pond\n\ndef x(:\n"})
    assert (error.code, error.place) == ("IMPORT_FAILED", "ponds.py:3")
    assert "ponds.py cannot be read: SyntaxError" in error.message
    assert "def x(:" in (error.hint or "")


def test_what_needs_spark_at_import_is_refused_with_what_to_write_instead(project_of: Write):
    files = {"ponds.py": "from pyspark.sql import functions as F\n\n@F.udf('long')\ndef twice(x): ...\n"}
    (error,) = refused(project_of, files)
    assert (error.code, error.place) == ("IMPORT_FAILED", "ponds.py:3")
    assert "@F.udf(LongType())" in (error.hint or "")
    files["ponds.py"] = """\
from pondage import pond
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

@F.udf(LongType())
def twice(x): ...

@pond
def orders(spark):
    return spark.range(1).select(twice("id"))
"""
    assert len(read_project(project_of(files))) == 1


def test_a_pond_declared_twice_is_refused_but_two_majors_are_fine(project_of: Write):
    module = "from pondage import pond\n@pond(version='{}')\ndef orders(spark): ...\n"
    files = {"ponds/a.py": module.format("1.0.0"), "ponds/b.py": module.format("1.1.0")}
    (error,) = refused(project_of, files)
    assert error.code == "DUPLICATE_POND"
    assert error.place == "ponds/b.py:2"
    assert "ponds/a.py:2" in (error.hint or "")
    files["ponds/b.py"] = module.format("2.0.0")
    assert [pond.version for pond in read_project(project_of(files))] == ["1.0.0", "2.0.0"]


@pytest.mark.parametrize("second", ["1.0.0", "2.0.0"])
def test_a_pond_whose_name_a_later_one_of_its_file_takes_is_refused_with_both_places(project_of: Write, second: str):
    text = "from pondage import pond\n@pond\ndef report(spark): ...\n\n@pond(version='{}')\ndef report(spark): ...\n"
    (error,) = refused(project_of, {"ponds/a.py": text.format(second)})
    assert (error.code, error.place) == ("DUPLICATE_POND", "ponds/a.py:5")
    assert "the other one is at ponds/a.py:2" in (error.hint or "")


def test_ponds_that_are_kept_under_other_names_or_declared_again_by_the_same_line_are_fine(project_of: Write):
    kept = "@pond\ndef report(spark): ...\nold = report\n@pond(version='2.0.0')\ndef report(spark): ...\n"
    again = "for _ in range(2):\n    @pond\n    def orders(spark): ...\n"
    ponds = read_project(project_of({"ponds/a.py": f"from pondage import pond\n{kept}{again}"}))
    assert [(pond.name, pond.version) for pond in ponds] == [
        ("orders", "1.0.0"), ("report", "1.0.0"), ("report", "2.0.0"),
    ]  # fmt: skip


def test_a_module_that_does_not_come_back_is_given_up(project_of: Write):
    files = {"ponds.py": "import time\nprint('loading', flush=True)\ntime.sleep(600)\n"}
    for timeout_s in (1, 10, 100):  # on a busy machine it may not come to its first line in a second
        (error,) = refused(project_of, files, timeout_s=timeout_s)
        assert error.code == "TIMEOUT"
        if "loading" in (error.hint or ""):
            return
    pytest.fail("what it printed is not told")


def test_a_module_that_ends_the_process_is_an_error_with_its_last_words(project_of: Write):
    (error,) = refused(project_of, {"ponds.py": "import os\nprint('bye', flush=True)\nos._exit(3)\n"})
    assert error.code == "IMPORT_FAILED"
    assert "code 3" in error.message
    assert "bye" in (error.hint or "")


def test_a_module_that_calls_exit_is_the_authors_error(project_of: Write):
    (error,) = refused(project_of, {"ponds.py": "import sys\nsys.exit('not configured')\n"})
    assert "not configured" in error.message
    assert error.place == "ponds.py:2"


def test_a_file_of_the_author_cannot_stand_in_for_a_library_of_ours(project_of: Write):
    files = {
        "msgspec.py": "raise RuntimeError('wrong one')\n",
        "ponds.py": "from pondage import pond\n@pond\ndef orders(spark): ...\n",
    }
    assert len(read_project(project_of(files))) == 1


def test_a_missing_sql_file_is_placed_where_it_is_declared(project_of: Write):
    files = {"ponds.py": "from pondage import Pond\np = Pond('p')\np.sql('r', 'no.sql')\n"}
    (error,) = refused(project_of, files)
    assert (error.code, error.place) == ("NO_SQL_FILE", "ponds.py:3")


def test_a_project_without_modules_says_where_to_put_one(project_of: Write):
    (error,) = refused(project_of, {})
    assert error.code == "NO_MODULES"


def test_a_source_of_a_reactor_without_the_functions_that_read_it_is_refused(project_of: Write):
    text = "from pondage import Accumulator, Reactor\nr = Reactor('r', sources=[{}])\n"
    errors = refused(
        project_of,
        {
            "ponds/a.py": text.format("Accumulator.polling('a', int, every='1s')"),
            "ponds/b.py": text.format("Accumulator.spark('b', int)").replace("'r'", "'q'"),
        },
    )
    assert [(error.code, error.hint) for error in errors] == [
        ("NO_POLL", "@a.poll"),
        ("NO_QUERY", "declare both: @b.query and @b.gather"),
    ]


def test_the_project_decides_of_agreement_where_a_pond_says_nothing(project_of: Write):
    module = """\
from pondage import Pond, pond

@pond
def orders(spark): ...

@pond(coherent=False)
def sales(orders): ...

strict = Pond("strict", coherent="required")
strict.source("orders")

@strict.ripple
def total(orders): ...
"""
    plain = {pond.name: pond.coherent for pond in read_project(project_of({"ponds.py": module}))}
    assert plain == {"orders": True, "sales": False, "strict": "required"}
    project = project_of({"ponds.py": module, "pondage.toml": '[ponds]\ncoherent = "required"\n'})
    assert {pond.name: pond.coherent for pond in read_project(project)} == {
        "orders": "required", "sales": False, "strict": "required"
    }  # fmt: skip


def test_the_project_has_ponds_kept_up_to_date_that_read_others_and_say_nothing(project_of: Write):
    module = """\
from pondage import pond

@pond
def orders(spark): ...

@pond
def sales(orders): ...

@pond(verify="off")
def costs(orders): ...

@pond(mode="replace")
def whole(orders): ...

@pond(changes=["orders"])
def follows(run): ...

@pond(mode="append")
def grows(orders): ...
"""
    plain = {pond.name: (pond.mode, pond.verify) for pond in read_project(project_of({"ponds.py": module}))}
    assert {mode for mode, _ in plain.values()} == {"replace", "append"}
    assert {verify for _, verify in plain.values()} == {None}
    project = project_of({"ponds.py": module, "pondage.toml": '[ponds]\nmode = "auto"\n'})
    assert {pond.name: (pond.mode, pond.verify) for pond in read_project(project)} == {
        "orders": ("replace", None),
        "sales": ("auto", Verification(first=3, every=50)),
        "costs": ("auto", Verification()),
        "whole": ("replace", None),
        "follows": ("replace", None),
        "grows": ("append", None),
    }
    (error,) = refused(project_of, {"ponds.py": "", "pondage.toml": '[ponds]\nmode = "merge"\n'})
    assert error.code == "BAD_PROJECT_FILE"


def test_what_is_no_kind_of_agreement_is_refused(project_of: Write):
    (error,) = refused(
        project_of, {"ponds.py": 'from pondage import pond\n\n@pond(coherent="always")\ndef orders(spark): ...\n'}
    )
    assert "coherent is 'always'" in error.message
    assert error.hint == 'choose True, False or "required"'
    (error,) = refused(project_of, {"ponds.py": "", "pondage.toml": '[ponds]\ncoherent = "always"\n'})
    assert error.code == "BAD_PROJECT_FILE"


def test_what_reading_asks_is_said_by_the_pond_or_by_the_project(project_of: Write):
    module = """
from pondage import Pond, pond

@pond(reading="pulse", wait="30s")
def asked(spark): ...

@pond(reading="none")
def silent(spark): ...

@pond
def plain(spark): ...
"""
    project = project_of({"ponds.py": module, "pondage.toml": '[ponds]\nreading = "tap"\nwait = "0"\n'})
    found = {pond.name: (pond.reading.asks, pond.reading.wait_us) for pond in read_project(project)}
    assert found == {"asked": ("pulse", 30_000_000), "silent": ("none", 0), "plain": ("tap", 0)}
    found = {
        pond.name: (pond.reading.asks, pond.reading.wait_us) for pond in read_project(project_of({"ponds.py": module}))
    }
    assert found["plain"] == ("none", None)

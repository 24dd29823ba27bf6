import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import pondage
from pondage.cli import main as program
from pondage.errors import PondageError
from tests.cli.conftest import Call

VERBS = [name for _, _, rows in program.VERBS for name, _ in rows]
HEAVY = ("pyspark", "py4j", "pandas", "pyarrow", "sqlite3", "psycopg", "rich", "duckdb", "sqlglot", "zoneinfo")


def imported_by(*arguments: str, directory: Path | None = None) -> set[str]:
    """Answer the top packages that a call of the program imports, in an interpreter of its own."""
    code = (
        "import sys; from pondage.cli.main import main; main(sys.argv[1:]); "
        "print('\\n' + ' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    source = str(Path(pondage.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=directory,
        env=os.environ | {"PYTHONPATH": source},
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_no_spark_no_database_and_no_terminal_library(option: str) -> None:
    # `zoneinfo` comes with the words of an author (`import pondage`), which are part of the package itself.
    assert imported_by(option) & (set(HEAVY) - {"zoneinfo"}) == set()


@pytest.mark.parametrize("verb", ["status", "why", "run", "show", "demo"])
def test_the_help_of_a_verb_imports_no_spark_and_no_database(verb: str) -> None:
    assert imported_by(verb, "--help") & {"pyspark", "py4j", "pandas", "pyarrow", "sqlite3", "psycopg"} == set()


def test_a_verb_that_looks_imports_no_spark(world: object, project: Path) -> None:
    assert imported_by("status", "--json", directory=project) & {"pyspark", "py4j", "pandas", "pyarrow"} == set()
    assert imported_by("why", "reports", directory=project) & {"pyspark", "py4j", "pandas", "pyarrow"} == set()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(call: Call, verb: str) -> None:
    said = call(verb, "--help")
    assert said.code == 0
    assert said.out.startswith(f"Usage: pondage {verb}")
    assert len(said.out.split("\n\n")[1].strip()) > 20


def test_no_two_verbs_have_the_same_explanation(call: Call) -> None:
    explanations = [call(verb, "--help").out.split("\n\n")[1] for verb in VERBS]
    assert len(set(explanations)) == len(VERBS)


@pytest.mark.parametrize("verb", ["status", "why", "runs", "logs", "query", "show", "plan", "doctor"])
def test_every_reading_verb_takes_json(call: Call, verb: str) -> None:
    assert "--json" in call(verb, "--help").out


def test_help_names_every_verb_and_explains_every_word(call: Call) -> None:
    said = call("--help")
    assert said.code == 0
    for verb in VERBS:
        assert f"\n  {verb} " in said.out
    for word in ("Pond", "Ripple", "Tap", "Pulse", "Wave", "Tide", "freshness", "Window", "Source", "Inlet"):
        assert any(word in name for name, _ in program.GLOSSARY)
    for word, _ in program.GLOSSARY:
        assert f"\n  {word} " in said.out


def test_the_version_is_one_line(call: Call) -> None:
    assert call("--version").out == f"pondage {pondage.__version__}\n"


def test_an_unknown_verb_gets_the_nearest_and_exit_code_2(call: Call) -> None:
    said = call("stauts")
    assert said.code == 2
    assert "Did you mean: pondage status" in said.err


@pytest.mark.parametrize(("typed", "meant"), [("explain", "pondage why"), ("ls", "pondage status --once")])
def test_a_word_of_other_programs_leads_to_ours(call: Call, typed: str, meant: str) -> None:
    said = call(typed)
    assert said.code == 2
    assert f"Did you mean: {meant}" in said.err


def test_json_before_the_verb_says_where_it_stands(call: Call) -> None:
    assert "--json stands behind a verb" in call("--json", "status").err


def test_dev_outside_of_a_project_says_so_once(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("dev").err.count("there is no pondage.toml") == 1


def test_a_wrong_option_is_a_usage_error_that_says_where_help_is(call: Call) -> None:
    said = call("runs", "--limit", "many")
    assert said.code == 2
    assert said.err.startswith("error[USAGE]:")
    assert "try: pondage runs --help" in said.err


def test_usage_errors_are_json_when_json_is_asked_for(call: Call) -> None:
    said = call("why", "--json")
    assert said.code == 2
    assert msgspec.json.decode(said.err)["error"]["code"] == "USAGE"


def test_an_unknown_pond_is_an_error_with_the_nearest_name_and_what_to_type(world: object, call: Call) -> None:
    said = call("why", "reprots")
    assert said.code == 1
    assert said.err.splitlines() == [
        "error[NO_POND]: there is no Pond 'reprots'; did you mean 'reports'?",
        "  try: pondage status --once",
    ]
    assert said.out == ""


def test_an_error_is_a_json_object_when_json_is_asked_for(world: object, call: Call) -> None:
    error = msgspec.json.decode(call("why", "reprots", "--json").err)["error"]
    assert error == {
        "code": "NO_POND",
        "message": "there is no Pond 'reprots'; did you mean 'reports'?",
        "place": None,
        "hint": "pondage status --once",
    }


def test_outside_of_a_project_the_next_command_is_said(tmp_path: Path, call: Call) -> None:
    said = call("--project", str(tmp_path), "status")
    assert said.code == 1
    assert said.err.startswith("error[NO_PROJECT]:")
    assert "pondage init" in said.err


@pytest.mark.parametrize("place", ["before", "after"])
def test_global_options_stand_before_or_after_the_verb(world: object, call: Call, place: str) -> None:
    options = ["--env", "elsewhere"]
    arguments = [*options, "why", "reports"] if place == "before" else ["why", "reports", *options]
    said = call(*arguments)
    assert said.code == 1
    assert "error[NO_ENVIRONMENT]: nothing is deployed in environment 'elsewhere'" in said.err


def raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    from pondage.cli.client import session

    def fail(_settings: object) -> None:
        raise error

    monkeypatch.setattr(session, "open_project", fail)


def test_an_error_has_its_place_and_with_trace_its_traceback(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(PondageError("it is so", place="ponds/a.py:3", hint="do that", code="SO"), monkeypatch)
    assert call("status").err == "error[SO]: it is so\n  at: ponds/a.py:3\n  try: do that\n"
    assert "Traceback" in call("status", "--trace").err


def test_a_mistake_of_ours_is_short_and_its_traceback_is_in_a_file(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(ZeroDivisionError("oh"), monkeypatch)
    said = call("status")
    assert said.code == 1
    assert "error[UNEXPECTED]" in said.err
    assert "Traceback" not in said.err
    file = Path(said.err.partition("try: read ")[2].partition(",")[0])
    assert "ZeroDivisionError: oh" in file.read_text()
    file.unlink()
    assert "Traceback" in call("--trace", "status").err


def test_ctrl_c_ends_with_130(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(KeyboardInterrupt(), monkeypatch)
    assert call("status").code == 130


def test_a_reader_that_goes_away_is_not_told_anything() -> None:
    source = str(Path(pondage.__file__).parent.parent)
    with subprocess.Popen(
        [sys.executable, "-m", "pondage.cli.main", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": source},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_file_that_is_no_ledger_is_said_to_be_something_else(project: Path, call: Call) -> None:
    (project / "notes.db").write_text("text of some length, so that nobody takes it for a database file" * 20)
    (project / "pondage.toml").write_text('[project]\nname = "shop"\nledger = "notes.db"\n')
    said = call("status", "--once")
    assert said.code == 1
    assert "it is something else: name another file as `ledger`" in said.err

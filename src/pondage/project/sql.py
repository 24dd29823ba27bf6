"""SQL Ripples: which tables one SELECT reads, found by parsing. No JVM, no Spark.

Table `x` stays as it is; `x.y` (Ripple y of Source x) becomes the view name `x__y` in the text that is executed:
a temporary view has no qualified name. The author's text is changed only there.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser

from pondage.define.pond.ripple import SqlInputs
from pondage.errors import DefinitionError

_DIALECT = "spark"
_MAJOR = re.compile(r"@[0-9]+\Z")
MOST_CHARACTERS = 20_000
MOST_WORK = 8_192
"""So much may there be to parse in a question of anybody's, each bracket counted by what it doubles: about a second.

The parser tries `date(…` as a type and as a function, so `date(date(date(…` takes twice as long with each.
"""


def read_sql_file(path: Path, *, place: str) -> SqlInputs:
    """Answer the inputs of a SQL file; `place` is where it is declared, or its path for errors inside it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(
            f"cannot read the SQL file {path.name}: {error}",
            hint="the path is relative to the file that declares the Ripple", place=place, code="NO_SQL_FILE",
        ) from None  # fmt: skip
    return parsed_sql(text, place=str(path))


def with_majors_quoted(text: str) -> str:
    """Answer a question with each major version that it names quoted as Spark wants it: `by_kind@1` in backticks.

    Found by its tokens, so nothing is changed in literals, comments and what is quoted already; a text that cannot be
    taken apart is answered as it is.
    """
    try:
        tokens = sqlglot.tokenize(text, read=_DIALECT)
    except SqlglotError:
        return text
    changes: list[tuple[int, int, str]] = []
    for name, at, number in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_one_word = name.end + 1 == at.start and at.end + 1 == number.start
        if is_one_word and at.text == "@" and number.text.isdecimal() and _is_bare_name(text, name.start, name.end):
            changes.append((name.start, number.end + 1, f"`{text[name.start : number.end + 1]}`"))
    return _changed(text, changes)


def _is_bare_name(text: str, start: int, end: int) -> bool:
    return text[start : end + 1].isidentifier()


def tables_or_none(text: str) -> frozenset[str] | None:
    """Answer the Ponds that a question reads, `by_kind@1` where it says so.

    None when that cannot be told without Spark's own parser, or not soon: servers ask this, of what anybody sends.
    """
    try:
        if not _is_parsed_soon(text):
            return None
        found = parsed_sql(text, place="the query", has_majors=True).tables.values()
    except DefinitionError:
        return None
    except Exception:  # noqa: BLE001 - whatever their parser stumbles over: Spark's own decides about the question
        return None
    return frozenset(table.partition(".")[0] for table in found)


def _is_parsed_soon(text: str) -> bool:
    if len(text) > MOST_CHARACTERS:
        return False
    brackets: list[bool] = []  # of those that are open, whether a type stands before it
    types = angles = work = 0
    before: Token | None = None
    for token in sqlglot.tokenize(text, read=_DIALECT):
        if token.token_type is TokenType.L_PAREN:
            brackets.append(before is not None and before.token_type in Parser.TYPE_TOKENS)
            types += brackets[-1]
            work += 2 ** min(types, 32)
        elif token.token_type is TokenType.R_PAREN:
            angles = 0
            types -= brackets.pop() if brackets else 0
        elif token.token_type is TokenType.LT and before is not None and before.token_type in Parser.TYPE_TOKENS:
            angles += 1
            work += 4 * angles
        before = token
    return work <= MOST_WORK


def parsed_sql(text: str, *, place: str, has_majors: bool = False) -> SqlInputs:
    """Answer the text to execute and its tables, or raise `DefinitionError` for anything but one SELECT.

    Only a question `has_majors` in its names; a SQL Ripple is bound to those of its Sources.
    """
    query = _one_query(text, place)
    tables: dict[str, str] = {}
    changes: list[tuple[int, int, str]] = []
    # In the order of the text: a plan that compares inputs must not depend on how the parser walks.
    for table in sorted(query.find_all(exp.Table), key=lambda each: each.this.meta.get("start", 0)):
        if not isinstance(table.this, exp.Identifier):
            if isinstance(table.this, exp.Func) and table.this.name.lower() == "identifier":
                raise _refused("it hides a table behind IDENTIFIER(…)", "write the table's name", place)
            continue  # a table function such as range(10)
        if table.args.get("catalog") is not None:
            raise _refused(f"table {table.sql(_DIALECT)} has three parts", "write `ripple` or `source.ripple`", place)
        name, source = table.name.lower(), table.db.lower()
        if source:
            plain = _MAJOR.sub("", source) if has_majors else source
            if not plain.isidentifier() or not name.isidentifier():
                raise _refused(
                    f"{table.sql(_DIALECT)} is not a Ripple", "read data through a Ripple of a Source", place
                )
            view = f"{source}__{name}"
            tables[view] = f"{source}.{name}"
            start, end = table.args["db"].meta["start"], table.this.meta["end"] + 1
            changes.append((start, end, view if table.alias else f"{view} AS {name}"))
        elif not _is_common_expression(table, name):
            tables[name] = name
    changes.extend(
        (column.args["db"].meta["start"], column.args["table"].meta["start"], "")
        for column in query.find_all(exp.Column)
        if column.args.get("db") is not None and f"{column.db.lower()}__{column.table.lower()}" in tables
    )
    return SqlInputs(text=_changed(text, changes), tables=tables, source=text)


def normalised_sql(text: str) -> str:
    """Answer SQL without comments, line breaks and other writing that does not matter: what a digest covers."""
    return _one_query(text, "").sql(dialect=_DIALECT, comments=False)


def _one_query(text: str, place: str) -> exp.Query:
    log = logging.getLogger("sqlglot")
    level = log.level
    log.setLevel(logging.ERROR)  # it would warn of a command that is refused below
    try:
        statements = [each for each in sqlglot.parse(text, dialect=_DIALECT) if each is not None]
    except RecursionError:
        raise DefinitionError(
            "the SQL cannot be parsed: it is nested too deeply", hint="write it as several Ripples",
            place=place, code="BAD_SQL",
        ) from None  # fmt: skip
    except SqlglotError as error:
        first = getattr(error, "errors", None) or [{}]
        line = first[0].get("line")
        what = first[0].get("description") or str(error).splitlines()[0]
        raise DefinitionError(
            f"the SQL cannot be parsed: {what}", hint="write one SELECT in Spark's dialect",
            place=f"{place}:{line}" if line else place, code="BAD_SQL",
        ) from None  # fmt: skip
    finally:
        log.setLevel(level)
    statements = [each for each in statements if not isinstance(each, exp.Semicolon)]
    if len(statements) != 1:
        raise _refused(f"it has {len(statements)} statements", "a SQL Ripple is exactly one SELECT", place)
    query = statements[0]
    if not isinstance(query, exp.Query) or query.find(exp.Command, exp.DDL, exp.DML, exp.Into) is not None:
        raise _refused(f"it is a command ({query.key.upper()})", "a SQL Ripple is exactly one SELECT", place)
    return query


def _is_common_expression(table: exp.Table, name: str) -> bool:
    """Answer whether the name means a WITH of an enclosing query; inside WITH, only the ones before it are seen."""
    child: exp.Expr = table
    node = table.parent
    own: exp.Expr | None = None  # the CTE that we came out of
    while node is not None:
        if isinstance(node, exp.With):
            own = child
        for each in node.args.values():
            if isinstance(each, exp.With):
                visible = each.expressions
                position = next((index for index, one in enumerate(visible) if one is own), None)
                if position is not None:
                    visible = visible[: position + 1] if each.args.get("recursive") else visible[:position]
                if any(one.alias.lower() == name for one in visible):
                    return True
                own = None
        child, node = node, node.parent
    return False


def _changed(text: str, changes: list[tuple[int, int, str]]) -> str:
    for start, end, replacement in sorted(changes, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _refused(what: str, hint: str, place: str) -> DefinitionError:
    return DefinitionError(f"the SQL cannot be a Ripple: {what}", hint=hint, place=place, code="BAD_SQL")

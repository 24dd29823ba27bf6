"""Rows become structs, tuples and single values in the same way on both databases."""

import enum
from typing import Literal, NewType

import msgspec
import pytest

from pondage.ledger.database.mapping import of_row
from tests.ledger.harness import World

Key = NewType("Key", str)


class Colour(enum.Enum):
    RED = "red"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    sizes: tuple[int, ...] = ()


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    key: Key
    colour: Colour
    state: Literal["open", "closed"] | None
    share: float
    data: bytes
    is_open: bool
    is_late: bool | None
    part: Part
    other: Part | None
    parts: tuple[Part, ...]
    pins: dict[str, int | None]
    note: str = "none"


COLUMNS = """3 AS id, 'sales@1' AS key, 'red' AS colour, CAST(:state AS text) AS state, 0.5E0 AS share, :data AS data,
             CAST(:is_open AS bigint) AS is_open, CAST(NULL AS bigint) AS is_late, '{"name": "a"}' AS part,
             CAST(NULL AS text) AS other, '[{"name": "b", "sizes": [1, 2]}]' AS parts, '{"x": 1, "y": null}' AS pins"""
WHOLE = Whole(
    id=3,
    key=Key("sales@1"),
    colour=Colour.RED,
    state=None,
    share=0.5,
    data=b"\0\xff",
    is_open=True,
    is_late=None,
    part=Part(name="a"),
    other=None,
    parts=(Part(name="b", sizes=(1, 2)),),
    pins={"x": 1, "y": None},
)


def test_a_struct_has_a_field_for_each_column_each_as_its_type(world: World) -> None:
    with world.ledger.reading() as tx:
        found = tx.rows(f"SELECT {COLUMNS}", Whole, state=None, data=b"\0\xff", is_open=1)
        noted = tx.one(f"SELECT {COLUMNS}, 'seen' AS note", Whole, state="open", data=b"", is_open=0)
    assert found == [WHOLE]
    assert noted == msgspec.structs.replace(WHOLE, state="open", data=b"", is_open=False, note="seen")


def test_a_comparison_is_a_boolean_whatever_the_database_answers(world: World) -> None:
    with world.ledger.reading() as tx:
        assert tx.rows("SELECT 1 < 2 AS a, 2 < 1 AS b, CAST(NULL AS bigint) AS c", tuple[bool, bool, bool | None]) == [
            (True, False, None)
        ]
        assert tx.one("SELECT EXISTS (SELECT id FROM runs)", bool) is False


def test_a_tuple_has_an_element_for_each_column_in_their_order(world: World) -> None:
    statement = """SELECT 'b' AS name, 2 AS at, '["x"]' AS words UNION ALL SELECT 'a', 1, NULL"""
    with world.ledger.reading() as tx:
        assert tx.rows(statement, tuple[str, int, list[str] | None]) == [("b", 2, ["x"]), ("a", 1, None)]
        assert tx.row(statement, tuple[Key, int, list[str]]) == (Key("b"), 2, ["x"])


def test_a_single_column_is_its_value(world: World) -> None:
    with world.ledger.reading() as tx:
        assert tx.rows("SELECT 2 AS at UNION ALL SELECT 1", int) == [2, 1]
        assert tx.rows("""SELECT '{"x": 1}' AS pins""", dict[str, int]) == [{"x": 1}]
        assert tx.row("SELECT CAST('open' AS text) AS state", str) == "open"
        assert tx.one("SELECT count(*) FROM runs", int) == 0


def test_nothing_is_none_or_an_error_as_it_was_asked(world: World) -> None:
    with world.ledger.reading() as tx:
        assert tx.rows("SELECT id FROM runs", int) == []
        assert tx.row("SELECT id FROM runs", int) is None
        assert tx.row("SELECT max(id) FROM runs", int) is None
        assert tx.row("SELECT max(id) FROM runs", tuple[int | None]) == (None,)
        with pytest.raises(AssertionError, match="no row: SELECT id"):
            tx.one("SELECT id FROM runs", int)
        with pytest.raises(AssertionError, match="no row: SELECT max"):
            tx.one("SELECT max(id) FROM runs", int)


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("SELECT '{}' AS sizes", Part, "name"),
        ("SELECT 'a' AS name, 'b' AS title", Part, "title"),
        ("SELECT CAST(NULL AS text) AS name", Part, "Expected `str`, got `null`"),
        ("SELECT 1 AS name", Part, "Expected `str`, got `int`"),
        ("""SELECT 'a' AS name, '["x"]' AS sizes""", Part, "Expected `int`, got `str`"),
        ("SELECT 1 AS id, 2 AS at", int, "columns id, at"),
        ("SELECT 1 AS id", tuple[int, int], "columns id"),
        ("SELECT 1 AS id, CAST(NULL AS bigint) AS at", tuple[int, int], "Expected `int`, got `null`"),
    ],
)
def test_a_row_that_does_not_fit_is_an_error(world: World, statement: str, kind: type[object], message: str) -> None:
    with world.ledger.reading() as tx, pytest.raises(AssertionError, match=message):
        tx.rows(statement, kind)
    with world.ledger.reading() as tx, pytest.raises(AssertionError, match=message):
        tx.row(statement, kind)


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    sizes: tuple[int, ...] = ()


def test_what_is_shown_of_a_row_has_its_fields_and_others() -> None:
    part = Part(name="a", sizes=(1,))
    assert of_row(Shown, part, title="A") == Shown(name="a", title="A", sizes=(1,))
    assert of_row(Shown, part, title="A", name="b") == Shown(name="b", title="A", sizes=(1,))
    with pytest.raises(TypeError, match="title"):
        of_row(Shown, part)

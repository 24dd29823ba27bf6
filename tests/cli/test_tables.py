from pondage.cli.printing.ponds import MOST_OF_AN_ERROR, _short


def test_an_error_in_a_table_is_one_line_that_does_not_widen_it() -> None:
    assert _short("it broke\nand more") == "it broke"
    assert _short("x" * MOST_OF_AN_ERROR) == "x" * MOST_OF_AN_ERROR
    assert _short("x" * 1_000) == "x" * (MOST_OF_AN_ERROR - 1) + "…"

from datetime import UTC

import pytest

from pondage.define.values.suggestion import nearest
from pondage.views.words import age_text, count_text, duration_text, list_text, moment_text, size_text

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0 ms"),
        (850_000, "850 ms"),
        (1_500_000, "1.5 s"),
        (2_000_000, "2 s"),
        (12 * SECOND, "12 s"),
        (200 * SECOND, "3 min 20 s"),
        (7_500 * SECOND, "2 h 5 min"),
        (86_400 * SECOND, "1 d"),
        (100 * 3_600 * SECOND, "4 d 4 h"),
        (-12 * SECOND, "-12 s"),
    ],
)
def test_a_duration_is_said_with_at_most_two_units(length: int, text: str) -> None:
    assert duration_text(length) == text


def test_an_age_says_the_direction_and_does_not_flicker() -> None:
    assert age_text(0, 12_900_000) == "12 s ago"
    assert age_text(180 * SECOND, 0) == "in 3 min"
    assert age_text(5, 10) == "now"


def test_a_moment_is_iso_in_the_zone_that_is_asked_for() -> None:
    assert moment_text(1_794_764_587_000_000, UTC) == "2026-11-15 17:43:07+00:00"


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1_400, "1.4 kB"), (23_000_000, "23 MB")])
def test_a_size_has_a_unit(size: int, text: str) -> None:
    assert size_text(size) == text


def test_counts_and_lists_are_said_as_people_say_them() -> None:
    assert [count_text(n, "row") for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]
    assert [count_text(2, word) for word in ("query", "process", "day")] == ["2 queries", "2 processes", "2 days"]
    assert [list_text(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_the_nearest_name_is_suggested_only_when_it_is_near() -> None:
    assert nearest("reprots", ["reports", "sales"]) == "reports"
    assert nearest("zzz", ["reports", "sales"]) is None

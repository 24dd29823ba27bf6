"""What happened to a reactor reads the same wherever it is shown."""

import pytest

from pondage.views.reactors.words import happened_text


@pytest.mark.parametrize(
    ("kind", "details", "text"),
    [
        ("hold", {"hold": "paused"}, "paused"),
        ("hold", {"hold": "halted"}, "halted"),
        ("hold", {"hold": None}, "resumed"),
        (
            "recovery",
            {"component": "prices", "attempt": 2, "backoff": 2_000_000},
            "source prices crashed (number 2 in a row): started again after 2 s",
        ),
        (
            "recovery",
            {"component": None, "attempt": 6, "backoff": None},
            "the reactor crashed (number 6 in a row): not started again",
        ),
        ("dropped", {"source": "b", "number": 1}, "source b is gone: 1 boundary that waited was dropped"),
        ("dropped", {"source": "b", "number": 2}, "source b is gone: 2 boundaries that waited were dropped"),
        ("not started", {"error": "no such module"}, "not started: no such module"),
        ("not rebound", {"error": "bad import"}, "goes on with the graphs before: bad import"),
        ("job not started", {"fire": 7, "error": "no x"}, "no job for fire 7: no x"),
        ("moved", {"to": "elsewhere", "by": None}, "moved, to elsewhere"),
    ],
)
def test_each_kind_of_line_is_a_sentence(kind: str, details: dict[str, object], text: str) -> None:
    assert happened_text(kind, details) == text

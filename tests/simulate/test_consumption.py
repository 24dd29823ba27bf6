from pathlib import Path

import pytest

from pondage.simulate.consumption import Consumption, TraceError, read_trace


def test_a_trace_is_read_in_the_order_of_time_and_comments_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('# who read what\n\n{"at": 2.5, "pond": "a", "verb": "pulse"}\n{"at": 1, "pond": "b"}\n')
    assert read_trace(path) == [
        Consumption(at=1, pond="b", verb="tap"),
        Consumption(at=2.5, pond="a", verb="pulse"),
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"at": 1, "pond": "a", "verb": "look"}', ":1: Invalid enum value 'look'"),
        ('{"at": 1}', ":1: Object missing required field `pond`"),
        ('{"at": 1, "pond": "a", "who": "me"}', "unknown field `who`"),
        ('{"at": -1, "pond": "a"}', ":1: at is before the beginning"),
        ("nothing", ":1: JSON is malformed"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(TraceError, match=words):
        read_trace(path)


def test_a_missing_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot read"):
        read_trace(tmp_path / "nowhere")

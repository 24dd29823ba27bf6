"""Segments as bytes: the numbers of ordered rows are seen by whoever asks for the order, and by nobody else."""

import pyarrow as pa
import pytest

from pondage.define.types.types import parse_type
from pondage.spark.component.segment_types import checked_rows
from pondage.spark.files.segments import DecodeError, packed, unpacked, without_numbers

ROWS = pa.table({"n": [3, 1, 2]})


def test_rows_are_numbered_as_they_come_or_sorted_by_their_numbers() -> None:
    data, count = packed(ROWS, in_order=True)
    assert count == 3
    assert unpacked(data, in_order=True).to_pydict() == {"n": [3, 1, 2], "_seq": [0, 1, 2]}
    sent, _ = packed(pa.table({"_seq": [30, 10, 20], "n": [3, 1, 2]}), in_order=True)
    assert unpacked(sent, in_order=True).to_pydict() == {"_seq": [10, 20, 30], "n": [1, 2, 3]}


def test_a_reader_that_asks_for_no_order_sees_no_numbers() -> None:
    data, _ = packed(ROWS, in_order=True)
    assert unpacked(data).to_pydict() == {"n": [3, 1, 2]}
    assert unpacked(without_numbers(data), in_order=True).to_pydict() == {"n": [3, 1, 2]}
    own, _ = packed(pa.table({"_seq": [2, 1]}))
    assert unpacked(own).to_pydict() == {"_seq": [1, 2]}, "a column of that name is a column when nobody said ordered"
    assert without_numbers(own) == own
    assert without_numbers(b"\x00 no rows") == b"\x00 no rows"


@pytest.mark.parametrize("numbers", [[1, 1, 2], [1, None, 2], ["a", "b", "c"]])
def test_numbers_that_are_no_order_are_refused(numbers: list[object]) -> None:
    with pytest.raises(DecodeError, match="_seq"):
        packed(ROWS.append_column("_seq", pa.array(numbers)), in_order=True)


def test_an_ordered_segment_is_held_to_the_type_of_its_rows() -> None:
    data, _ = packed(ROWS, in_order=True)
    assert checked_rows(data, parse_type("Stream<{n: bigint}, ordered: true>")) == 3
    with pytest.raises(DecodeError, match="n: bigint is not string"):
        checked_rows(data, parse_type("Stream<{n: string}, ordered: true>"))

"""The log of a stream: replays change nothing, differences are seen, and no circle of waits lasts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pondage.define.types.segment import END, Segment
from pondage.kernel.streams import Flight, Limits, Placed, Wait, is_full, lifted, place

CONTENTS = st.lists(st.sampled_from("abc"), max_size=8)


class Log:
    """The entries of a stream, written by attempts that each begin at 0."""

    def __init__(self) -> None:
        self.entries: list[Segment] = []

    def put(self, seq: int, entry: Segment) -> Placed:
        is_closed = bool(self.entries) and self.entries[-1].is_eos
        known = self.entries[seq] if seq < len(self.entries) else None
        decided = place(seq, entry, tail=len(self.entries), is_closed=is_closed, known=known)
        if decided is Placed.APPENDED:
            self.entries.append(entry)
        return decided


def entries(contents: list[str]) -> list[Segment]:
    return [*(Segment(ref=f"{at}", rows=1, sha256=one) for at, one in enumerate(contents)), END]


@given(CONTENTS, st.lists(st.integers(min_value=0, max_value=9), max_size=5))
def test_whatever_attempts_die_on_the_way_the_log_is_what_one_whole_attempt_writes(
    contents: list[str], deaths: list[int]
) -> None:
    log, whole = Log(), entries(contents)
    for death in [*deaths, len(whole)]:
        told = [log.put(seq, entry) for seq, entry in enumerate(whole[:death])]
        assert set(told) <= {Placed.APPENDED, Placed.SKIPPED}
        assert told == sorted(told, reverse=True), "a replay skips what is there, then appends"
    assert log.entries == whole


@given(CONTENTS, CONTENTS, st.integers(min_value=0, max_value=9))
def test_an_attempt_that_differs_is_told_at_its_first_difference_and_changes_nothing(
    first: list[str], second: list[str], death: int
) -> None:
    log, written = Log(), entries(first)[:death]
    for seq, entry in enumerate(written):
        log.put(seq, entry)
    for seq, entry in enumerate(entries(second)):
        told = log.put(seq, entry)
        has_ended = bool(written) and written[-1].is_eos
        differs = (seq < len(written) and not written[seq].is_same(entry)) or (seq >= len(written) and has_ended)
        assert (told is Placed.MISMATCH) is differs
        if differs:
            assert log.entries == written
            return


@given(CONTENTS, st.integers(min_value=1, max_value=5))
def test_no_entry_is_placed_behind_a_gap(contents: list[str], further: int) -> None:
    log = Log()
    for seq, entry in enumerate(entries(contents)[:-1]):
        log.put(seq, entry)
    assert log.put(len(contents) + further, Segment(sha256="x")) is Placed.GAP


def test_a_writer_waits_for_64_segments_or_the_limit_of_rows_or_bytes_and_never_for_a_reader_that_has_all() -> None:
    assert not is_full(Flight(segments=63, rows=10**9, bytes=10**9), Limits())
    assert is_full(Flight(segments=64), Limits())
    assert is_full(Flight(segments=1, rows=10), Limits(rows=10))
    assert is_full(Flight(segments=1, bytes=11), Limits(bytes=10))
    assert not is_full(Flight(segments=1, rows=9, bytes=9), Limits(rows=10, bytes=10))
    assert not is_full(Flight(), Limits(segments=0, rows=0, bytes=0))


NAMES = st.sampled_from("abcdef")


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(min_value=0, max_value=64)), max_size=10))
def test_of_each_circle_one_put_is_lifted_and_outside_of_circles_none(found: list[tuple[str, str, int]]) -> None:
    waits = [Wait(one, other, f"{at}", behind) for at, (one, other, behind) in enumerate(found) if one != other]
    free = lifted(waits)
    for wait in waits:
        way = _way(wait.other, wait.waiter, waits)
        if wait.edge in free:
            assert wait.is_put
            assert way is not None, "it is in no circle"
        if way is not None and wait.is_put:
            circle = {wait.waiter, *way}
            rivals = [one for one in waits if one.edge in free and one.waiter in _knot(circle, waits)]
            assert rivals, "a circle of waits would last for ever"


def _way(start: str, goal: str, waits: list[Wait]) -> list[str] | None:
    seen, ways = {start}, [[start]]
    while ways:
        way = ways.pop(0)
        if way[-1] == goal:
            return way
        for wait in waits:
            if wait.waiter == way[-1] and wait.other not in seen:
                seen.add(wait.other)
                ways.append([*way, wait.other])
    return None


def _knot(circle: set[str], waits: list[Wait]) -> set[str]:
    some = next(iter(circle))
    names = {wait.waiter for wait in waits}
    return {one for one in names if _way(one, some, waits) is not None and _way(some, one, waits) is not None}

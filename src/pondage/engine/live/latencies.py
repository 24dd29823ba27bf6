"""How long the graphs of fires take, counted in buckets: what the page draws. Kept for one life of a host."""

from __future__ import annotations

from bisect import bisect_left

BOUNDS_US = (
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
)  # fmt: skip
"""The upper ends of the buckets; one more bucket is for everything above."""
SHORTEST_US = BOUNDS_US[0]


class Latencies:
    """A histogram that costs a few hundred nanoseconds for each fire."""

    __slots__ = ("counts", "longest_us")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_US) + 1)
        self.longest_us = 0

    def took(self, us: int) -> None:
        """Count a graph that ended."""
        self.counts[0 if us <= SHORTEST_US else bisect_left(BOUNDS_US, us)] += 1
        if us > self.longest_us:
            self.longest_us = us

    def look(self) -> dict[str, object]:
        """Answer the histogram, for a reactor's state."""
        return {"bounds_us": list(BOUNDS_US), "counts": list(self.counts), "longest_us": self.longest_us}

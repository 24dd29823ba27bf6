"""Waiting with jitter, and longer after each failure: many processes must not knock at the same moment."""

from __future__ import annotations

import random


def jittered(seconds: float) -> float:
    """Answer the time to wait: between nine and ten tenths of what was asked, so it is never late."""
    return seconds * random.uniform(0.9, 1.0)


def doubled(first_s: float, failures: int, longest_s: float) -> float:
    """Answer the wait after so many failures in a row: `first_s` doubled each time, up to `longest_s`."""
    # 2 ** 20 is longer than anything we wait for; the exponent itself must not grow for ever.
    return min(first_s * 2.0 ** min(failures - 1, 20), longest_s)


class Backoff:
    """How long to wait after the n-th failure in a row: `first_s` doubled each time, up to `longest_s`."""

    def __init__(self, *, first_s: float = 0.1, longest_s: float = 5.0) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self.failures = 0

    def failed(self) -> float:
        """Count a failure and answer how long to wait."""
        self.failures += 1
        return jittered(doubled(self._first_s, self.failures, self._longest_s))

    def succeeded(self) -> None:
        """Forget the failures."""
        self.failures = 0

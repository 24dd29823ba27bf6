"""Which worker processes a supervisor should have: decided from plain values, carried out elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

QUICK_DEATH_S = 10.0
LONGEST_HOLD_S = 30.0


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process as its supervisor sees it. `held` is what the ledger thinks it holds."""

    public_id: str
    code: str
    held: int = 0
    is_ending: bool = False


class StartWorker(msgspec.Struct, frozen=True, kw_only=True):
    """Start a worker for a code digest."""

    code: str
    reason: str


class RetireWorker(msgspec.Struct, frozen=True, kw_only=True):
    """Ask a worker to end, because its place is needed."""

    public_id: str
    reason: str


Decision = StartWorker | RetireWorker


def decide(
    children: Sequence[Child],
    waiting: Iterable[str],
    *,
    limit: int,
    newest: str = "",
    held_back: frozenset[str] = frozenset(),
) -> list[Decision]:
    """Answer what to start and what to retire so that every digest with waiting work has a worker.

    `waiting` are the digests of claimable work; '' is work that any worker can do, and when there is no worker at all
    it gets one for the `newest` code, which is likely to be needed next. `held_back` are digests whose workers died at
    once: their next start waits. An idle worker is kept as long as nobody needs its place, because its Spark is warm.
    """
    wanted = [code for code in waiting if code not in held_back]
    serving = [child for child in children if not child.is_ending]
    codes = {child.code for child in serving}
    # Digests first: a worker started for one of them also answers the queries.
    missing = [code for code in wanted if code and code not in codes]
    if "" in wanted and not serving and not missing:
        missing.append(newest)
    room = limit - len(children)
    decisions: list[Decision] = [
        StartWorker(code=code, reason="work is waiting for it") for code in missing[: max(room, 0)]
    ]
    ending = sum(child.is_ending for child in children)
    homeless = len(missing) - len(decisions) - ending
    idle = [child for child in serving if child.held == 0 and child.code not in wanted]
    decisions.extend(
        RetireWorker(public_id=child.public_id, reason="its place is needed for other code")
        for child in idle[: max(homeless, 0)]
    )
    return decisions


class Restarts:
    """Who may be started again when: a worker that lived is replaced at once, one that dies at once waits longer."""

    def __init__(self) -> None:
        self._quick: dict[str, int] = {}
        self._until_s: dict[str, float] = {}

    def died(self, code: str, *, lived_s: float, now_s: float) -> None:
        """Note that a worker for this code has ended without being asked to."""
        if lived_s >= QUICK_DEATH_S:
            self._quick.pop(code, None)
            return
        deaths = self._quick[code] = self._quick.get(code, 0) + 1
        # The first one is free: it may have been killed by hand.
        if deaths > 1:
            self._until_s[code] = now_s + min(2.0 ** (deaths - 2), LONGEST_HOLD_S)

    def held_back(self, now_s: float) -> frozenset[str]:
        """Answer the codes that must still wait."""
        self._until_s = {code: until_s for code, until_s in self._until_s.items() if until_s > now_s}
        return frozenset(self._until_s)

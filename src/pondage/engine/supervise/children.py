"""Which worker processes a supervisor should have: decided from plain values, carried out elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from pondage.engine.process.backoff import doubled
from pondage.ledger.queue.queues import Need

QUICK_DEATH_S = 10.0
FIRST_HOLD_S = 1.0
LONGEST_HOLD_S = 30.0
MOST_A_MINUTE = 5
MINUTE_S = 60.0
IDLE_S = 60.0
"""How long a worker that was started because a queue was long may have nothing to do."""


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process as its supervisor sees it. `held` is what the ledger thinks it holds.

    `mebibytes` is the memory of its tasks; None when nobody knows. `is_extra`: it was started because a queue was long.
    """

    public_id: str
    code: str
    held: int = 0
    is_ending: bool = False
    mebibytes: int | None = None
    is_extra: bool = False
    idle_s: float = 0.0

    def serves(self, need: Need) -> bool:
        """Answer whether it can do this work; what needs no code can be done by everybody."""
        return need.code in ("", self.code) and (self.mebibytes is None or self.mebibytes >= need.mebibytes)


class StartWorker(msgspec.Struct, frozen=True, kw_only=True):
    """Start a worker for a code digest, with at least so much memory."""

    code: str
    reason: str
    mebibytes: int = 0
    is_extra: bool = False
    is_due: bool = True
    """What it is for can be done now; else it waits for its next try, and nobody leaves for that who is needed."""


class RetireWorker(msgspec.Struct, frozen=True, kw_only=True):
    """Ask a worker to end, because its place is needed or it is not."""

    public_id: str
    reason: str


Decision = StartWorker | RetireWorker


def decide(
    children: Sequence[Child],
    needs: Iterable[Need],
    *,
    limit: int,
    slots: int = 1,
    newest: str = "",
    held_back: frozenset[str] = frozenset(),
    idle_after_s: float = IDLE_S,
) -> list[Decision]:
    """Answer what to start and what to retire so that all waiting work has a worker that can do it.

    Code '' is work that any worker can do, and when there is no worker at all it gets one for the `newest` code, which
    is likely to be needed next. A queue that says how many workers it may have gets as many as its depth needs.
    `held_back` are digests whose workers died at once: their next start waits. An idle worker is kept as long as nobody
    needs its place, because its Spark is warm; only one that a long queue was the reason for is not, after
    `idle_after_s`.
    """
    wanted = [need for need in needs if need.code not in held_back]
    serving = [child for child in children if not child.is_ending]
    missing = list(_missing(serving, wanted, slots=slots, newest=newest))
    room = limit - len(children)
    decisions: list[Decision] = [*missing[: max(room, 0)]]
    ending = sum(child.is_ending for child in children)
    coded = [need for need in wanted if need.code]
    # Nobody is asked to leave for one more of a kind that is there already.
    homeless = [start for start in missing[len(decisions) :] if not start.is_extra][ending:]
    leaving = _leaving(serving, coded, due=sum(start.is_due for start in homeless), later=len(homeless))
    decisions.extend(
        RetireWorker(public_id=child.public_id, reason="its place is needed for other code") for child in leaving
    )
    decisions.extend(
        RetireWorker(public_id=child.public_id, reason=f"it had nothing to do for {child.idle_s:.0f} s")
        for child in serving
        if child.is_extra and child.held == 0 and child.idle_s >= idle_after_s and child not in leaving
        and not _is_asked_for(child, serving, wanted)
    )  # fmt: skip
    return decisions


def _leaving(serving: Sequence[Child], coded: Sequence[Need], *, due: int, later: int) -> list[Child]:
    """Answer who makes room: first those that nobody needs, then those whose work waits for its next try."""
    idle = [child for child in serving if child.held == 0]
    unneeded = [child for child in idle if not any(child.serves(need) for need in coded)]
    patient = [
        child
        for child in idle
        if child not in unneeded and not any(child.serves(need) and need.turn is not None for need in coded)
    ]
    found = unneeded[:later]
    return [*found, *patient[: max(0, due - len(found))]]


def _missing(serving: list[Child], wanted: list[Need], *, slots: int, newest: str) -> Iterator[StartWorker]:
    # The largest first: a worker that is started for it also does what needs less. Digests before queries, for the same
    # reason. But what can be done now before all that waits for its next try, and then whoever waits longest.
    planned = list(serving)
    for need in sorted(
        wanted, key=lambda need: (need.turn is None, need.code == "", -need.mebibytes, need.turn or 0, need.code)
    ):
        able = sum(child.serves(need) for child in planned)
        for number in range(able, _workers(need, planned, slots)):
            is_extra = number > 0
            reason = "its queue is long" if is_extra else "work is waiting for it"
            code = need.code or newest
            is_due = need.turn is not None
            yield StartWorker(code=code, reason=reason, mebibytes=need.mebibytes, is_extra=is_extra, is_due=is_due)
            # What it will have is at least that: nobody knows how much it is by default.
            planned.append(Child(public_id="", code=code))


def _workers(need: Need, children: Sequence[Child], slots: int) -> int:
    """Answer how many workers a queue should have: enough for all that waits and all that they do."""
    if not need.most:
        return 1
    at_once = min(need.concurrency or slots, slots)
    held = sum(child.held for child in children if child.serves(need))
    return max(need.least, min(need.most, -(-(need.waiting + held) // at_once)))


def _is_asked_for(child: Child, serving: list[Child], wanted: list[Need]) -> bool:
    return any(
        child.serves(need) and sum(each.serves(need) for each in serving) <= max(1, need.least) for need in wanted
    )


class Restarts:
    """Who may be started again when: a worker that lived is replaced at once, one that dies at once waits longer.

    And none of them more than so many times within a minute, whatever it dies of, and however long it lived.
    """

    def __init__(self) -> None:
        self._quick: dict[str, int] = {}
        self._until_s: dict[str, float] = {}
        self._starts_s: dict[str, deque[float]] = {}
        """When each was last allowed to start again."""

    def died(self, code: str, *, lived_s: float, now_s: float, held: int = 0) -> float:
        """Note that a worker for this code has ended without being asked to; answer how long the next one waits.

        One that `held` work died of that: the crash counts against the work, which has a budget of its own.
        """
        if held:
            self._quick.pop(code, None)
            return 0.0
        until_s = now_s
        if lived_s >= QUICK_DEATH_S:
            self._quick.pop(code, None)
        else:
            deaths = self._quick[code] = self._quick.get(code, 0) + 1
            # The first one is free: it may have been killed by hand.
            if deaths > 1:
                until_s += doubled(FIRST_HOLD_S, deaths - 1, LONGEST_HOLD_S)
        starts_s = self._starts_s.setdefault(code, deque(maxlen=MOST_A_MINUTE))
        if len(starts_s) == MOST_A_MINUTE:
            until_s = max(until_s, starts_s[0] + MINUTE_S)
        starts_s.append(until_s)
        self._until_s[code] = until_s
        return until_s - now_s

    def held_back(self, now_s: float) -> frozenset[str]:
        """Answer the codes that must still wait."""
        self._until_s = {code: until_s for code, until_s in self._until_s.items() if until_s > now_s}
        return frozenset(self._until_s)


def hold_words(who: str, hold_s: float) -> str:
    """Say that nobody is started again for a while."""
    return f"{who} end again and again: the next one starts in {hold_s:.0f} s (what they said is in .pondage/logs)"

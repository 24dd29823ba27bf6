"""Consumption: who asked for which Pond, when, and how old the answer was. A trace is a file of JSON lines."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pondage.errors import PondageError
from pondage.kernel.demand import PondKey
from pondage.simulate.record import RunRecord

ConsumptionVerb = Literal["tap", "pulse", "read"]
"""tap: take what is there and ask for more. pulse: wait for the data of this moment. read: only take what is there."""


class TraceError(PondageError):
    """A consumption trace cannot be read."""

    code = "BAD_TRACE"


class Consumption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Somebody wants a Pond, `at` seconds after the beginning."""

    at: float
    pond: str
    verb: ConsumptionVerb = "tap"

    @property
    def at_us(self) -> int:
        """The time after the beginning in microseconds."""
        return round(self.at * 1_000_000)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a consumer got: data of this age when it was handed over, after this wait."""

    age_us: int
    wait_us: int


def read_trace(path: Path) -> list[Consumption]:
    """Read JSON lines such as `{"at": 12.5, "pond": "reports", "verb": "tap"}`; raises `TraceError` with the line.

    Empty lines and lines that begin with `#` are passed over.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"cannot read the trace {path}: {error}") from error
    found: list[Consumption] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            consumption = msgspec.json.decode(line, type=Consumption)
        except msgspec.MsgspecError as error:
            raise TraceError(
                f"{path}:{number}: {error}", hint='write lines such as {"at": 12.5, "pond": "reports", "verb": "tap"}'
            ) from error
        if consumption.at < 0:
            raise TraceError(f"{path}:{number}: at is before the beginning")
        found.append(consumption)
    return sorted(found, key=lambda one: one.at)


def answers(
    trace: Sequence[tuple[int, PondKey, ConsumptionVerb]],
    completed: Mapping[PondKey, Sequence[RunRecord]],
    *,
    can_ask: bool,
    woken: Mapping[PondKey, Sequence[int]] | None = None,
    patience: Mapping[PondKey, int] | None = None,
) -> list[Answer | None]:
    """Give what each consumer got, and mark the Runs that were read as useful.

    `trace` has absolute times. Where nobody can ask (`can_ask` is False) a pulse is a read. None: there was no answer
    before the end. `woken` are the times at which a reader ended the rest of a Pond's trigger: whoever reads until the
    Run that this asked for has ended waits for it, for as long as `patience` says, and then takes what is there.
    """
    ends = {pond: [_end(run) for run in runs] for pond, runs in completed.items()}
    freshest: dict[PondKey, list[int]] = {}
    found: list[Answer | None] = []
    for at, pond, verb in trace:
        runs = completed[pond]
        if pond not in freshest:
            freshest[pond] = [run.freshness for run in runs]
        asked_until = at
        if verb == "pulse" and can_ask:
            place = bisect_left(freshest[pond], at)
        else:
            asked_until = _waits_until(at, pond, ends[pond], freshest[pond], woken or {}, patience or {})
            place = max(bisect_right(ends[pond], asked_until) - 1, 0)
        if place >= len(runs):
            found.append(None)
            continue
        run = runs[place]
        run.is_useful = True
        handed_over = max(asked_until, _end(run))
        found.append(Answer(age_us=handed_over - run.data_at, wait_us=handed_over - at))
    return found


def _waits_until(
    at: int,
    pond: PondKey,
    ends: Sequence[int],
    freshest: Sequence[int],
    woken: Mapping[PondKey, Sequence[int]],
    patience: Mapping[PondKey, int],
) -> int:
    wakes = woken.get(pond, ())
    latest = bisect_right(wakes, at) - 1
    if latest < 0:
        return at
    place = bisect_left(freshest, wakes[latest])
    answered = ends[place] if place < len(ends) else at + patience.get(pond, 0)
    return max(at, min(answered, at + patience.get(pond, 0)))


def _end(run: RunRecord) -> int:
    assert run.end is not None
    return run.end

"""A log of reads, as `pondage readers --json` writes it: only when which Pond was read matters here, not by whom."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pondage.kernel.demand import PondKey
from pondage.kernel.demand.events import Follow, Tide, Verb, Wave
from pondage.simulate.consumption import ConsumptionVerb, TraceError

MINUTE = 60_000_000

Reads = list[tuple[int, PondKey, ConsumptionVerb]]


class ReadLine(msgspec.Struct, frozen=True):
    """One row of the log: somebody read the Pond in this minute since 1970."""

    pond: PondKey
    minute: int
    count: int = 1


class _Log(msgspec.Struct, frozen=True):
    reads: tuple[ReadLine, ...]


def read_log(path: Path) -> tuple[ReadLine, ...]:
    """Read a file that `pondage readers --json` wrote; raises `TraceError`."""
    hint = "write it with: pondage readers --days 35 --json > reads.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Log).reads
    except OSError as error:
        raise TraceError(f"cannot read the reads {path}: {error.strerror}", hint=hint) from error
    except msgspec.MsgspecError as error:
        raise TraceError(f"{path} is no log of reads: {error}", hint=hint) from error


def as_trace(lines: Sequence[ReadLine], known: Mapping[PondKey, object]) -> Reads:
    """Answer the reads of the Ponds that are known, in the order of time; a row counts once, however often was read."""
    return sorted((line.minute * MINUTE, line.pond, "read") for line in lines if line.pond in known)


def following(actions: Sequence[tuple[int, Verb]], follow: Follow) -> list[tuple[int, Verb]]:
    """Answer the same actions, and let each Wave and Tide among them follow its readers."""
    return [
        (at, msgspec.structs.replace(verb, follow=follow) if isinstance(verb, Tide | Wave) else verb)
        for at, verb in actions
    ]


def ignoring(actions: Sequence[tuple[int, Verb]]) -> list[tuple[int, Verb]]:
    """Answer the same actions, and let nobody follow his readers."""
    return [
        (at, msgspec.structs.replace(verb, follow=None) if isinstance(verb, Tide | Wave) else verb)
        for at, verb in actions
    ]


def is_following(actions: Sequence[tuple[int, Verb]]) -> bool:
    """Answer whether any of them follows its readers."""
    return any(isinstance(verb, Tide | Wave) and verb.follow is not None for _, verb in actions)

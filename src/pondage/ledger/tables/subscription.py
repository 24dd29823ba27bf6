"""From a reactor to a Job: each good fire once, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

MAX_ERRORS = 3


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """How far a Job has followed a reactor: `watermark` is the last fire that is settled."""

    watermark: int = 0
    errors: int = 0


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """What following came to: the fires that start a run, and those given up because the condition kept failing."""

    subscription: Subscription
    started: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()


def follow(
    subscription: Subscription, fires: Iterable[int], condition: Callable[[int], bool], *, max_errors: int = MAX_ERRORS
) -> Followed:
    """Settle fires above the watermark in order: true starts a run, false passes, an error holds it and is tried again.

    After `max_errors` errors the fire becomes a dead letter and the next ones go on.
    """
    watermark, errors = subscription.watermark, subscription.errors
    started: list[int] = []
    dead: list[int] = []
    for fire in sorted(fires):
        if fire <= watermark:
            continue
        try:
            holds = condition(fire)
        except Exception:  # noqa: BLE001 - whatever the condition raises is counted, and given up after some times
            errors += 1
            if errors < max_errors:
                break
            dead.append(fire)
        else:
            if holds:
                started.append(fire)
        watermark, errors = fire, 0
    return Followed(
        subscription=Subscription(watermark=watermark, errors=errors), started=tuple(started), dead=tuple(dead)
    )

"""Asking for Ponds and waiting for them: what `run`, `query --pulse` and the demo do before they read."""

from __future__ import annotations

import click

from pondage.cli.client.desk import Desk
from pondage.cli.client.settings import Settings
from pondage.cli.follow.screen import follow, screen
from pondage.errors import PondageError
from pondage.operations import demand, ponds, runs
from pondage.views.ponds.status import PondView, StatusView


class RunFailed(PondageError):
    """A Run that somebody waited for did not complete."""

    code = "RUN_FAILED"


class TookTooLong(PondageError):
    """What was waited for did not come within `--timeout`. It goes on by itself."""

    code = "TIMEOUT"


def pulse_and_follow(
    settings: Settings, opened: Desk, *keys: str, timeout_s: float | None = None, is_quiet: bool = False
) -> StatusView:
    """Pulse Ponds and show them and everything above until all are fresh; raises `RunFailed` or `TookTooLong`."""
    before = opened.ask(ponds.status)
    at = before.at
    for key in keys:
        _require_open(before, key)
    wanted = {key: _reachable(before, key, at) for key in keys}
    for key in keys:
        opened.ask(demand.pulse, pond=key, at=wanted[key])

    def is_over(view: StatusView) -> bool:
        ponds = [view.pond(key) for key in keys]
        return all(_is_fresh(view.pond(key), wanted[key]) for key in keys) or any(is_stuck(pond) for pond in ponds)

    with screen(settings, frozenset().union(*(above(before, key) for key in keys)), is_quiet=is_quiet) as shown:
        view = follow(opened, shown, is_over, timeout_s=timeout_s)
    if view is None:
        raise TookTooLong(
            f"{' and '.join(keys)} is not fresh after {timeout_s:g} s; it goes on without us",
            hint=f"pondage why {short_name(keys[0])}",
        )
    for key in keys:
        if not _is_fresh(view.pond(key), wanted[key]):
            raise failure_of(settings, opened, view, key)
    return view


def is_stuck(pond: PondView | None) -> bool:
    """Answer whether waiting for a Pond is in vain: it is gone, or failed or blocked with nothing of it under way."""
    return pond is None or (pond.state in ("failed", "blocked", "killed") and not pond.active)


def _reachable(view: StatusView, key: str, now: int) -> int:
    """Answer how fresh a Pond can be: as fresh as now, but not fresher than what it reads of an environment above."""
    ponds = [view.pond(each) for each in above(view, key)]
    return min([now, *(pond.freshness or 0 for pond in ponds if pond is not None and pond.borrowed_from)])


def _is_fresh(pond: PondView | None, at: int) -> bool:
    return pond is not None and pond.freshness is not None and pond.freshness >= at


def short_name(key: str) -> str:
    """Answer the name in a Pond's key."""
    return key.partition("@")[0]


def _require_open(view: StatusView, key: str) -> None:
    pond = view.pond(key)
    if pond is not None and is_stuck(pond):
        cause = next((each for each in view.ponds if each.key in above(view, key) and each.state == "failed"), pond)
        raise RunFailed(
            f"{key} is {pond.state}, so it would not run: {pond.next.text}",
            hint=f"pondage clear {cause.name}",
            code="POND_BLOCKED",
        )


def above(view: StatusView, key: str) -> frozenset[str]:
    """Answer a Pond and everything that it reads, directly or not."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        each = waiting.pop()
        pond = view.pond(each)
        if each not in found and pond is not None:
            found.add(each)
            waiting += pond.sources
    return frozenset(found)


def failure_of(settings: Settings, opened: Desk, view: StatusView, key: str) -> RunFailed:
    """Answer why a Pond did not become fresh: its own failure, or that of the Pond that blocks it."""
    bad = [each for each in view.ponds if each.key in above(view, key) and each.state in ("failed", "killed")]
    own = view.pond(key)
    cause = own if own is not None and own in bad else next(iter(bad), own)
    name = short_name(key) if cause is None else cause.name
    if cause is None or cause.state != "failed":
        state = "gone" if cause is None else cause.state
        return RunFailed(f"{name} is {state}, so {short_name(key)} did not run", hint=f"pondage why {short_name(key)}")
    failed = opened.ask(runs.runs, pond=cause.key, state="failed", limit=1).runs
    if not failed or failed[0].error is None:
        return RunFailed(f"{name} failed", hint=f"pondage logs {name}")
    error = failed[0].error
    if settings.is_traced and error.trace:
        click.echo(error.trace, err=True)
    where = f"{name}.{failed[0].ripple}" if failed[0].ripple else name
    return RunFailed(
        f"{where} failed: {error.message.removeprefix(f'{where}: ')}",
        place=error.place,
        hint=f"pondage logs {name}, and when it is mended: pondage deploy && pondage clear {name}",
        code=error.code,
    )

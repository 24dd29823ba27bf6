"""What happened to a reactor, in words: made once, for the command line and for the page."""

from __future__ import annotations

from collections.abc import Mapping

from pondage.views.words import duration_text


def hold_text(hold: object) -> str:
    """Answer what a hold is called; with none the reactor goes on."""
    return "resumed" if hold is None else str(hold)


def happened_text(kind: str, details: Mapping[str, object]) -> str:
    """Answer a line of a reactor's history as a sentence; of an unknown kind what is known of it."""
    match kind:
        case "hold":
            return hold_text(details.get("hold"))
        case "recovery":
            return _recovery_text(details)
        case "dropped":
            number = details.get("number")
            what = "1 boundary that waited was" if number == 1 else f"{number} boundaries that waited were"
            return f"source {details.get('source')} is gone: {what} dropped"
        case "not started":
            return f"not started: {details.get('error')}"
        case "not rebound":
            return f"goes on with the graphs before: {details.get('error')}"
        case "set aside":
            return f"{details.get('letter')} is a dead letter: {details.get('error')}"
        case "repaired":
            return f"{details.get('what')} by hand ({details.get('letters')} dead letters)"
        case "alone":
            return f"{details.get('deaths')} hosts died while its code was called: it has a process of its own now"
        case "job not started":
            return f"no job for fire {details.get('fire')}: {details.get('error')}"
    return ", ".join([kind, *(f"{name} {value}" for name, value in details.items() if value is not None)])


def _recovery_text(details: Mapping[str, object]) -> str:
    component, wait = details.get("component"), details.get("backoff")
    what = "the reactor" if component is None else f"source {component}"
    after = f"started again after {duration_text(wait)}" if isinstance(wait, int) else "not started again"
    return f"{what} crashed (number {details.get('attempt')} in a row): {after}"

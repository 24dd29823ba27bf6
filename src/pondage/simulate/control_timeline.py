"""Effects of the control machine in the notation of spec/control.md 3.1."""

from __future__ import annotations

from collections.abc import Iterator

from pondage.kernel.control import Effect, JobState
from pondage.kernel.control.effects import (
    Checkpoint,
    ComponentChanged,
    EdgeFired,
    GlobalWritten,
    IterationsHalted,
    IteratorChanged,
    JobChanged,
    Signalled,
    SubChanged,
    SubRestored,
)
from pondage.kernel.control.state import State


def lines(effect: Effect) -> Iterator[str]:
    """Give the lines of a timeline that an effect is shown as; most effects are shown as one or none."""
    match effect:
        case ComponentChanged():
            yield f"{effect.instance} {effect.state.value}{_cause(effect.cause, effect.state)}"
        case EdgeFired():
            yield f"«{effect.source} -{effect.label}-> {effect.target}»"
        case GlobalWritten():
            yield _written(effect)
        case SubChanged():
            yield f"sub-job {effect.name} {effect.state.value}{f' [{effect.cause}]' if effect.cause else ''}"
        case Checkpoint():
            yield f"ckpt {effect.name}={effect.status.value}"
        case SubRestored():
            prefix = f" (prefix: {', '.join(effect.prefix)})" if effect.prefix else ""
            yield f"restored {effect.name}{prefix}"
        case IterationsHalted():
            for number in range(effect.first, effect.last + 1):
                yield f"sub-job {effect.iterator}[#{number}]{effect.suffix} SKIPPED [ITERATION_HALTED]"
        case IteratorChanged():
            yield _iterator(effect)
        case Signalled():
            yield "signal SIGTERM"
        case JobChanged():
            yield _job(effect)
        case _:
            return


def _cause(cause: str, state: State) -> str:
    return f" [{cause}]" if state in (State.ERROR, State.SKIPPED) else ""


def _written(effect: GlobalWritten) -> str:
    value = "deleted" if effect.is_deleted else repr(effect.value)
    old = f" old={effect.old[0]!r}" if effect.old else ""
    return f"{effect.key}={value} @({effect.clock[0]},{effect.clock[1]}){old}"


def _iterator(effect: IteratorChanged) -> str:
    text = f"iterator {effect.instance} {effect.phase}"
    if effect.phase != "DISPATCHING":
        return text
    restored = "(restored)" if effect.is_restored else ""
    return f"{text}{restored} {'while' if effect.total < 0 else f'n={effect.total}'}"


def _job(effect: JobChanged) -> str:
    if effect.state is JobState.ABORTED and effect.code == "KILLED":
        return "job ABORTED graceful checkpoint"
    return f"job {effect.state.value}{f' {effect.code}' if effect.code else ''}"

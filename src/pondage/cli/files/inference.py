"""Types that only Spark knows: a worker calls components on empty tables, so that a plan has them (`--infer`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import click
import msgspec

from pondage.cli.client.desk import Desk
from pondage.cli.follow.answer import answer_of
from pondage.operations import inference
from pondage.plan.job.inference import Inference, planned_with_answers
from pondage.work.inference import Inferred, Question

Planned = TypeVar("Planned")
TIMEOUT_S = 300.0
infer_option = click.option(
    "--infer", "is_inferred", is_flag=True, help="Let a worker find the types that only Spark knows, on empty tables."
)


class Asker:
    """Asks workers; those that it starts are ended with the `stack`."""

    def __init__(self, opened: Desk, stack: ExitStack) -> None:
        self._opened = opened
        self._stack = stack

    def planned(self, plan: Callable[[Inference], Planned], *, code: str, archive: Callable[[], bytes]) -> Planned:
        """Plan with everything that can be known. The job runs with the deployed `code`, else with the archive.

        Raises JobRefused with what Spark has against it, and `TookTooLong` when no worker answers.
        """

        def ask(questions: tuple[Question, ...]) -> list[Inferred]:
            found: list[Inferred] = []
            for each in sorted({one.archive or code for one in questions}):
                group = [one for one in questions if (one.archive or code) == each]
                found += self._answers(group, code=each, archive=b"" if each else archive())
            return found

        return planned_with_answers(plan, ask)

    def _answers(self, questions: list[Question], *, code: str, archive: bytes) -> list[Inferred]:
        asked = self._opened.ask(inference.infer, questions=questions, archive=archive, code=code, timeout_s=TIMEOUT_S)
        found = asked.known
        if asked.answer is not None:
            self._stack.enter_context(self._opened.workers())
            hint = "declare the types of the ports that are to be inferred, or a schema function"
            kind = tuple[Inferred, ...]
            found = (*found, *answer_of(self._opened, asked.answer, kind, timeout_s=TIMEOUT_S, hint=hint))
        ours = {key: sent for sent, key in asked.keys.items()}
        return [msgspec.structs.replace(one, key=ours.get(one.key, one.key)) for one in found]


@contextmanager
def asking(opened: Desk) -> Iterator[Asker]:
    """Answer who asks workers; those that are started for it end with the block."""
    with ExitStack() as stack:
        yield Asker(opened, stack)


@contextmanager
def asking_first(opened: Desk, *, is_followed: bool) -> Iterator[Asker]:
    """The same before a run: those that are started stay for a run that is followed, and take nothing of another."""
    with asking(opened) as asker:
        yield asker if is_followed else _Brief(opened, ExitStack())


class _Brief(Asker):
    """Its workers end with its answers."""

    def planned(self, plan: Callable[[Inference], Planned], *, code: str, archive: Callable[[], bytes]) -> Planned:
        with self._stack:
            return super().planned(plan, code=code, archive=archive)


def unresolved_line(port: str, reasons: dict[str, str]) -> str:
    """Say that the type of a port is not known, and why where that is known."""
    why = reasons.get(port)
    return (
        f"unresolved: the type of {port} is not known: {why}"
        if why
        else (f"unresolved: the type of {port} is known only to Spark")
    )

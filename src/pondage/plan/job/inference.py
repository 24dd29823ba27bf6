"""Types that only Spark knows: which questions a graph has, and planning again with the answers (flows.md 4, point 4).

A worker applies a component to empty tables. Who plans does not ask: he is given answers, and says what is open.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.job.job import JobRefused
from pondage.define.types.port import declared_port
from pondage.define.types.types import Type, has_any, is_concrete
from pondage.define.types.unify import Structures, explained
from pondage.work.inference import Inferred, Question

Planned = TypeVar("Planned")
Incoming = Mapping[str, Sequence[Type | None]]
"""What comes in by each port that is fed; None when it is not known."""


class NotAsked(Exception):
    """Spark cannot be asked about a component; the text says why, and is empty when what comes in is not known yet."""


class Inference:
    """The answers that one planning may use, and the questions that it found open."""

    def __init__(self, known: Mapping[str, Inferred] | None = None) -> None:
        self.known = known or {}
        self.open: dict[str, Question] = {}

    def answer(self, question: Question) -> Inferred | None:
        """Answer what is known; else note the question."""
        found = self.known.get(question.key)
        if found is None:
            self.open[question.key] = question
        return found


def planned_with_answers(
    plan: Callable[[Inference], Planned], ask: Callable[[tuple[Question, ...]], Iterable[Inferred]]
) -> Planned:
    """Plan, ask what is open and plan again, until nothing is open or nobody answers.

    An answer can open questions about what reads it, so that there are at most as many rounds as components. Raises
    JobRefused with everything that was found by then.
    """
    known: dict[str, Inferred] = {}
    while True:
        inference = Inference(known)
        try:
            planned: Planned | JobRefused = plan(inference)
        except JobRefused as error:
            planned = error
        answers = {one.key: one for one in ask(tuple(inference.open.values()))} if inference.open else {}
        if answers.keys() & inference.open.keys():
            known |= answers
        elif isinstance(planned, JobRefused):
            raise planned
        else:
            return planned


def question_of(
    definition: ComponentDefinition,
    params: dict[str, object],
    incoming: Incoming,
    handed: Iterable[str],
    structures: Structures,
) -> Question:
    """Answer the question about a component, whose inputs `handed` are fed by who runs the job; raises NotAsked."""
    _check_kind(definition)
    missing = [name for name, one in definition.inputs.items() if one.required and "*" not in name]
    missing = [name for name in missing if name not in incoming]
    for port in (*handed, *missing):
        raise NotAsked(f"what comes in by {port} is known only when the job runs")
    inputs = {port: tuple(_input(definition, port, one, structures) for one in given)
              for port, given in sorted(incoming.items())}  # fmt: skip
    if all(text == "Any" for given in inputs.values() for text in given):
        raise NotAsked(f"{definition.name} reads no table: declare what it gives, or a schema function")
    return Question(
        key=key_of(definition, inputs, params),
        component=definition.name,
        entry=definition.entry,
        archive=definition.archive,
        inputs=inputs,
        params=params,
    )


def _check_kind(definition: ComponentDefinition) -> None:
    if definition.is_external:
        raise NotAsked(f"{definition.name} is an external program, and Spark does not run it: declare what it gives")
    if definition.mode == "stream":
        raise NotAsked(f"{definition.name} streams, and is called on no whole table: declare what it gives")
    if definition.kind == "iterator":
        raise NotAsked(f"{definition.name} is an iterator: declare what its elements are")


def _input(definition: ComponentDefinition, port: str, given: Type | None, structures: Structures) -> str:
    declared = declared_port(definition.inputs, port)
    if declared is not None and declared.type == "Any":
        return "Any"  # it only waits, and is given nothing
    if given is None:
        raise NotAsked
    found = explained(given, structures)
    if found.head not in ("Table", "Stream"):
        raise NotAsked(f"{port} takes {given}, whose value is known only when it runs")
    if has_any(found) or not is_concrete(found) or found.arguments[0].head != "row":
        raise NotAsked(f"{port} gets {given}, which does not tell its columns")
    return str(found)


def key_of(definition: ComponentDefinition, inputs: Mapping[str, tuple[str, ...]], params: Mapping[str, object]) -> str:
    """Give what only the same code, types and parameters have; where the code has no digest, its archive stands in."""
    plain = msgspec.structs.replace(definition, doc="", archive="" if definition.digest else definition.archive)
    return _digest([plain, inputs, params])


def key_for(question: Question, code: str, known: Mapping[str, ComponentDefinition]) -> str:
    """Give the key of a question that anybody may have sent, by what it will be answered with, and not by what it says.

    A component of the library or of deployed `code` has the key that every planner finds; any other one that of its
    code, so that its answer is never taken for another's.
    """
    found = known.get(question.component)
    if found is not None and found.entry == question.entry and (found.is_library or found.archive == code):
        return key_of(found, question.inputs, question.params)
    return _digest(["sent", code, question.component, question.entry, question.inputs, question.params])


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()

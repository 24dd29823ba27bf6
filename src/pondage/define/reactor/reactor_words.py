"""What is wrong with a reactor or a graph, as a sentence for its author. The codes are for programs."""

from __future__ import annotations

from pondage.define.reactor.reaction import Problem

_WORDS = {
    "ALL_OPTIONAL": 'with criteria="all" at least one source must not be optional',
    "BAD_CAPACITY": "the capacity of source {} must be at least 1",
    "CYCLE": "node {} comes after itself",
    "DUPLICATE_ACCUMULATOR": "two sources are called {}",
    "GATE_WITHOUT_POND": 'gate="demand" needs a Pond that somebody can want: publish=Publish(…)',
    "MISSING_FUNCTION": "node {} has no function of its name",
    "NAME_EMPTY": "it has no name",
    "NO_ACCUMULATORS": "it has no sources: sources=[Accumulator(…)]",
    "NO_FLUSH_RULE": "batch {} is never flushed: give it size=, every= or flush_on_fire=True",
    "NO_INTERVAL": "source {} is polled, but how often? every=",
    "TRIGGERLESS_INPUT": "input {} is of no reactor: Graph(…, on=reactor)",
    "UNKNOWN_CRITERIA": 'criteria are "any" or "all", not {!r}',
    "UNKNOWN_DURABILITY": 'durable is False, "process" or "power", not {!r}',
    "UNKNOWN_FAILURE_POLICY": 'a failed fire ends in "drop", "dead_letter" or "halt", also after retries, not in {!r}',
    "UNKNOWN_GATE": 'gate is "none" or "demand", not {!r}',
    "UNKNOWN_INPUT": "input {} is no source of the reactor",
    "UNKNOWN_KIND": "source {} is of a kind that does not exist",
    "UNKNOWN_NODE": "there is no such node: {}",
    "UNKNOWN_POLICY": 'the policy of source {} must be "block", "reject" or "drop_oldest"',
    "UNKNOWN_SOURCE_FAILURE": 'on_source_failed is "fail" or "degrade", not {!r}',
    "UNKNOWN_STRATEGY": 'the strategy is "latest" or "sequential", not {!r}',
    "UNUSED_FUNCTION": "function {} is the function of no node",
}


def problem_text(problem: Problem) -> str:
    """Answer a problem in words, with its code behind them; of an unknown code what is known."""
    words = _WORDS.get(problem.code)
    if words is None:
        return f"{problem.code} {problem.about}".strip()
    return f"{words.format(problem.about)} [{problem.code}]"

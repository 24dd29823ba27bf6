"""Which partitions a backfill computes again, and in which chunks: pure, from what is known of the table."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from pondage.define.pond.partition import Partition, PartitionDefinition, as_text, between, missing, start_us, unit_of
from pondage.define.values.duration import parsed_duration
from pondage.errors import PondageError
from pondage.expr.evaluate import ExprError, ExprTimeout, Missing, is_true
from pondage.expr.nodes import Node
from pondage.expr.parse import ExprSyntax, compile_text

MOST_PARTITIONS = 100_000
_EQUALS = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<![=!<>])=(?!=)""")


class KnownPartition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition of the table: its size, and whether older code than the one that is deployed has made it."""

    partition: Partition
    rows: int = 0
    bytes: int = 0
    is_older_code: bool = False


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which partitions somebody wants again. What is said of them must all hold; nothing said is refused.

    `first` and `last` are values of the column of time, both included; `where` is a condition on the columns, in which
    a derived one is called by its unit. `each` is how much a chunk holds: a duration, or a number of partitions.
    """

    first: str | None = None
    last: str | None = None
    where: str | None = None
    missing: bool = False
    failed: bool = False
    older_code: bool = False
    everything: bool = False
    each: str | None = None
    oldest_first: bool = False

    @property
    def words(self) -> str:
        """Answer it as options of the command line."""
        said = [
            f"--{name} {value!r}" if name == "where" else f"--{name} {value}"
            for name, value in (("from", self.first), ("to", self.last), ("where", self.where), ("chunk", self.each))
            if value is not None
        ]
        flags = (
            ("missing", self.missing), ("failed", self.failed), ("older-code", self.older_code),
            ("all", self.everything), ("oldest-first", self.oldest_first),
        )  # fmt: skip
        return " ".join([*said, *(f"--{name}" for name, is_said in flags if is_said)])


def chosen(
    definition: PartitionDefinition,
    known: Sequence[KnownPartition],
    asked: Selection,
    *,
    failed: Collection[Partition] = (),
) -> list[list[Partition]]:
    """Answer the partitions of each chunk, in the order in which they are computed; raises `PondageError`.

    With both ends of a range, partitions between them that the table does not have are among them, too.
    """
    wanted = asked.first, asked.last, asked.where
    if not any((*wanted, asked.missing, asked.failed, asked.older_code, asked.everything)):
        raise PondageError(
            "which partitions are to be computed again?",
            hint="say --from and --to, --where, --missing, --failed, --older-code, or --all",
            code="NOTHING_SELECTED",
        )
    found = _candidates(definition, known, asked, set(failed))
    condition = None if asked.where is None else _condition(asked.where, definition)
    if condition is not None:
        found = [each for each in found if _holds(condition, asked.where or "", definition, each)]
    if len(found) >= MOST_PARTITIONS:
        raise PondageError(
            f"these are {MOST_PARTITIONS:,} partitions or more", hint="say a smaller range", code="TOO_MANY"
        )
    found.sort(key=lambda each: _order(definition, each), reverse=not asked.oldest_first)
    return _cut(definition, found, asked.each)


def _candidates(
    definition: PartitionDefinition, known: Sequence[KnownPartition], asked: Selection, failed: set[Partition]
) -> list[Partition]:
    place = definition.by.index(definition.time)
    older = {each.partition for each in known if each.is_older_code}
    there = dict.fromkeys(each.partition for each in known)
    absent: dict[Partition, None] = {}
    if len(definition.by) == 1:
        values = [each[0] for each in there if isinstance(each[0], str)]
        if asked.missing:
            unit = definition.expected or definition.time.unit or unit_of(max(values, default=None))
            absent |= {} if unit is None else dict.fromkeys((each,) for each in missing(values, unit))
        if asked.first and asked.last and unit_of(asked.first) is not None:
            absent |= dict.fromkeys((each,) for each in between(asked.first, asked.last) if (each,) not in there)
    if asked.missing:
        return [each for each in absent if each not in there and _is_within(each[place], asked)]
    pool = failed if asked.failed else older if asked.older_code else {**there, **absent}
    if asked.failed and asked.older_code:
        pool = failed & older
    return [each for each in pool if _is_within(each[place], asked)]


def _is_within(value: object, asked: Selection) -> bool:
    if asked.first is None and asked.last is None:
        return True
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int):
        low, high = (None if each is None else _whole(each) for each in (asked.first, asked.last))
        return (low is None or value >= low) and (high is None or value <= high)
    text = str(value)
    # What begins with the end of the range is in it: `--to 2026-03` means all of March.
    return (asked.first is None or text >= asked.first) and (
        asked.last is None or text <= asked.last or text.startswith(asked.last)
    )


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise PondageError(f"the partitions are numbers, and {text!r} is none", code="BAD_RANGE") from None


def _condition(text: str, definition: PartitionDefinition) -> Node:
    try:
        return compile_text(_EQUALS.sub(lambda found: found[1] or "==", text))
    except ExprSyntax as error:
        raise PondageError(
            f"--where {text!r}: {error}", hint=f"it may name {', '.join(names(definition))}", code="BAD_WHERE"
        ) from None


def names(definition: PartitionDefinition) -> tuple[str, ...]:
    """Answer how a condition calls the columns of partitions: a derived one by its unit."""
    return tuple(each.column if each.unit is None else each.unit for each in definition.by)


class _Values:
    """The columns of one partition, as a condition looks names up."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def name(self, name: str) -> object:
        if name not in self._values:
            raise ExprError(f"there is no {name}; it may name {', '.join(self._values)}")
        return self._values[name]

    def glob(self, key: str) -> object:
        raise Missing(key)

    @property
    def context(self) -> Mapping[str, object]:
        return {}


def _holds(condition: Node, text: str, definition: PartitionDefinition, partition: Partition) -> bool:
    try:
        return is_true(condition, _Values(dict(zip(names(definition), partition, strict=True))))
    except (ExprError, ExprTimeout) as error:
        raise PondageError(f"--where {text!r}: {error}", code="BAD_WHERE") from None


def _order(definition: PartitionDefinition, partition: Partition) -> tuple[tuple[int, int, str], ...]:
    """Answer what sorts partitions by their time, and then by the rest: numbers as numbers, texts as texts."""
    place = definition.by.index(definition.time)
    values = (partition[place], *(each for at, each in enumerate(partition) if at != place))
    return tuple(
        (0, 0, "") if each is None else (1, each, "") if isinstance(each, int) else (2, 0, as_text(each))
        for each in values
    )


def _cut(definition: PartitionDefinition, found: Sequence[Partition], each: str | None) -> list[list[Partition]]:
    """Answer the chunks: so many partitions, or those whose times lie within so long; one value of time by default."""
    place = definition.by.index(definition.time)
    if each is not None and each.isdigit() and int(each) > 0:
        return [list(found[at : at + int(each)]) for at in range(0, len(found), int(each))]
    length = 0 if each is None else parsed_duration(each, what="chunk")
    chunks: list[list[Partition]] = []
    for partition in found:
        if chunks and _is_near(chunks[-1][0][place], partition[place], length):
            chunks[-1].append(partition)
        else:
            chunks.append([partition])
    return chunks


def _is_near(first: object, other: object, length_us: int) -> bool:
    if first == other:
        return True
    if unit_of(first) is None or unit_of(other) is None:
        return False
    return abs(start_us(str(first)) - start_us(str(other))) < length_us

"""What Ponds say to each other inside a step. Facts travel down to Sinks and go first; demand travels up to Sources."""

import msgspec

from pondage.kernel.demand.shape import PondKey


class Want(msgspec.Struct, frozen=True, gc=False):
    """Demand: I need something fresher than `freshness`, which is what I last took from you."""

    freshness: int


class Target(msgspec.Struct, frozen=True, gc=False):
    """Demand: reach this freshness."""

    freshness: int


class Slumber(msgspec.Struct, frozen=True, gc=False):
    """Drop your demand and hand this on to your Sources; `number` tells one such wish of a step from another."""

    number: int


class Updated(msgspec.Struct, frozen=True, gc=False):
    """Fact: a Source published; with the pace it can keep up."""

    source: PondKey
    end_f: int
    delay: int
    period: int
    lead: int
    wait: int


class SourceBlocked(msgspec.Struct, frozen=True, gc=False):
    """Fact: a Source takes no demand from now on."""

    source: PondKey


class SourceUnblocked(msgspec.Struct, frozen=True, gc=False):
    """Fact: a Source takes demand again."""

    source: PondKey


class Dropped(msgspec.Struct, frozen=True, gc=False):
    """Fact: a Source forgot what it was asked."""

    source: PondKey


class Appeared(msgspec.Struct, frozen=True, gc=False):
    """Fact: a Source was deployed; what it would have published so far."""

    update: Updated
    is_blocked: bool


class Vanished(msgspec.Struct, frozen=True, gc=False):
    """Fact: a Source was removed."""

    source: PondKey


Demand = Want | Target | Slumber
Fact = Updated | SourceBlocked | SourceUnblocked | Dropped | Appeared | Vanished

"""What the asks about a project's own files send: definitions and code, as this machine read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pondage.define.job.exposed import Exposed
    from pondage.define.pond.definition import PondDefinition
    from pondage.define.reactor.reaction import ReactorDefinition
    from pondage.ledger.act.branching import Choice
    from pondage.ledger.tables.job_plans import StoredJob


class Read(TypedDict):
    """A project as its files say, with its code: what a plan and a deploy are made of."""

    project: str
    archive: bytes
    ponds: Sequence[PondDefinition]
    reactors: Sequence[ReactorDefinition]
    jobs: Mapping[str, StoredJob]
    pools: Mapping[str, int]
    exposed: Exposed


class Chosen(Read):
    """The same, and what the caller chose of it."""

    choice: Choice

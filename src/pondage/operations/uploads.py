"""What is sent to be planned, tried or deployed: a project as the machine with its files read it, and its code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

import msgspec

from pondage.define.job.exposed import Exposed
from pondage.define.pond.definition import PondDefinition
from pondage.define.project.durability import MOST_SLOTS
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.ledger.act.branching import Choice
from pondage.ledger.act.exposed import NOTHING
from pondage.ledger.tables.job_plans import StoredJob
from pondage.operations.operation import NotedRequest

Slots = Annotated[int, msgspec.Meta(ge=1, le=MOST_SLOTS)]
"""How many executions of a pool may run at once: each is a row."""


class Read(TypedDict):
    """A project as its files say, with its code: what an upload is made of."""

    project: str
    archive: bytes
    ponds: Sequence[PondDefinition]
    reactors: Sequence[ReactorDefinition]
    jobs: Mapping[str, StoredJob]
    pools: Mapping[str, int]
    exposed: Exposed


class Upload(NotedRequest, frozen=True, kw_only=True):
    """A project as its author's machine read it; `archive` is the zip file of its code, base64."""

    project: str
    archive: bytes
    ponds: Sequence[PondDefinition] = ()
    reactors: Sequence[ReactorDefinition] = ()
    jobs: Mapping[str, StoredJob] = {}
    pools: Mapping[str, Slots] = {}
    exposed: Exposed = NOTHING


class Chosen(Upload, frozen=True, kw_only=True):
    """An upload, and what was chosen about an environment below another one; without it a new one is below none."""

    choice: Choice | None = None

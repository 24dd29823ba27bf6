"""The one table of operations. What is in it the command line can do, a server answers, and its description says."""

from __future__ import annotations

from pondage.operations import (
    access,
    backfills,
    components,
    demand,
    deployments,
    environments,
    flows,
    inference,
    installation,
    jobs,
    landed_files,
    ponds,
    questions,
    reactors,
    readers,
    reading,
    rollbacks,
    runs,
    simulations,
    trees,
)
from pondage.operations.operation import Operation

_ROOMS = (
    installation, environments, ponds, runs, demand, backfills, deployments, rollbacks, questions, readers, reading,
    landed_files, jobs, trees, flows, inference, components, simulations, reactors, access,
)  # fmt: skip
OPERATIONS: tuple[Operation[..., object], ...] = tuple(
    found for room in _ROOMS for found in vars(room).values() if isinstance(found, Operation)
)

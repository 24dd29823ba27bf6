"""The reactor that an author gets: declared, and with `run`. Its declaration knows nothing of the engine."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from pondage.define.reactor import reactor
from pondage.define.values.duration import parsed_duration
from pondage.define.values.place import place_of_caller

if TYPE_CHECKING:
    from pondage.engine.live.embedded import LiveReactor


class Reactor(reactor.Reactor):
    """Fires its graphs when data arrives: with `criteria="any"` on any new boundary, with `"all"` when all have one.

    `strategy="latest"` shows the newest of each source, `"sequential"` takes every boundary in order. A declaration is
    checked when it is made; a wrong one raises an error that names everything that is wrong. In a test or a script,
    `async with reactor.run() as live:` runs it in this process, without a ledger.
    """

    def run(self, *, drain: str = "10s") -> AbstractAsyncContextManager[LiveReactor]:
        """Run the reactor in this process, in memory: no ledger, no lease; its state ends with the block."""
        from pondage.engine.live.embedded import LiveReactor

        return LiveReactor(self, drain=parsed_duration(drain, what="drain", place=place_of_caller()))

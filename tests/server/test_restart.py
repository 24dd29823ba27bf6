"""Nothing is lost when the server ends and another one takes its place: watchers go on by their place in the feed."""

import asyncio
from collections.abc import Callable

from pondage.kernel.demand.events import Pulse
from pondage.ledger.ledger import Ledger
from pondage.server.call import Service
from pondage.server.serving import ServeOptions, bound, serving
from pondage.views.ponds.status import status
from tests.ledger.harness import World, pond
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.server.conftest import token_of
from tests.server.watching import Watching

WATCHERS = 5
PONDS = 10


def runs(ledger: Ledger) -> dict[str, int]:
    with ledger.reading() as tx:
        return {each.key: each.runs for each in status(tx, ledger, "main").ponds}


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.02)


def test_watchers_miss_nothing_of_what_happens_before_while_and_after_the_server_is_away(
    world: World, service: Service
) -> None:
    world.deploy(*(pond(f"p{number}") for number in range(PONDS)), project="many")
    token = token_of(world, "read")

    def work(number: int) -> None:
        world.send(Pulse(pond=f"p{number % PONDS}@1"))  # type: ignore[arg-type]
        world.worker().drain()
        world.pass_time(1)

    async def watched() -> list[Watching]:
        port = free_port()
        with bound(ServeOptions(port=port)) as listening:
            watchers = [Watching(f"http://127.0.0.1:{port}", token) for _ in range(WATCHERS)]
            tasks = [asyncio.create_task(each.run()) for each in watchers]
            with serving(service, ServeOptions(port=port), listening):
                await until(lambda: all(each.seq is not None for each in watchers))
                for number in range(PONDS):
                    await asyncio.to_thread(work, number)
                await until(lambda: all(each.runs() == runs(world.ledger) for each in watchers))
            await until(lambda: not any(each.is_connected.is_set() for each in watchers))
        for number in range(PONDS // 2):
            await asyncio.to_thread(work, number)
        again = Service(ledger=world.ledger, environment="main", warehouse=service.warehouse)
        with bound(ServeOptions(port=port)) as listening, serving(again, ServeOptions(port=port), listening):
            await until(lambda: all(each.runs() == runs(world.ledger) for each in watchers))
            for number in range(PONDS):
                await asyncio.to_thread(work, number)
            await until(lambda: all(each.runs() == runs(world.ledger) for each in watchers))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return watchers

    watchers = asyncio.run(watched())
    assert [each.gaps for each in watchers] == [0] * WATCHERS
    assert [each.connections for each in watchers] == [2] * WATCHERS
    assert [each.resets for each in watchers] == [0] * WATCHERS, "each went on by its place, and needed no new snapshot"
    assert sum(watchers[0].runs().values()) == 2 * PONDS + PONDS // 2

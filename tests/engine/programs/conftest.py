from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pondage.engine.programs.session import ProgramSession
from pondage.engine.programs.unix import UnixQueue
from pondage.errors import PondageError
from pondage.program.transport import Transport, UnixTransport
from tests.engine.programs.harness import ProgramWorld, Wire
from tests.ledger.conftest import make_driver, world  # noqa: F401
from tests.ledger.harness import World


class UnixWire:
    """The socket of a worker."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._opened: list[tuple[UnixQueue, UnixTransport]] = []

    def open(self, session: ProgramSession) -> Transport:
        queue = UnixQueue(session, self._state)
        client = UnixTransport(queue.url.removeprefix("unix:"))
        self._opened.append((queue, client))
        return client

    def raw(self, verb: str, port: str, frame: bytes) -> None:
        with suppress(PondageError):  # the session knows
            self._opened[-1][1]._ask(verb, port, frame)

    def is_gone(self) -> bool:
        return not any(Path(queue.url.removeprefix("unix:")).parent.exists() for queue, _ in self._opened)

    def close(self) -> None:
        for queue, client in self._opened:
            client.end()
            queue.close()


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    made = UnixWire(tmp_path / "state")
    yield made
    made.close()


@pytest.fixture
def flow(world: World, tmp_path: Path) -> Iterator[ProgramWorld]:  # noqa: F811 - pytest's way
    made = ProgramWorld(world, tmp_path)
    yield made
    made.close()

"""One server over a filled ledger, with a live host beside it, as `pondage dev` has them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from pondage.ledger.kinds.kind import Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import api_tokens
from pondage.project.project import CompareTable, load_project
from pondage.server.call import Service
from pondage.server.serving import ServeOptions, bound, serving
from pondage.views.ponds.status import StatusView, status
from tests.browser.filled import Filled, filled
from tests.browser.history import wait_until
from tests.engine.live.hosting import Hosting, hosting


@dataclass(kw_only=True)
class Site:
    """Where the page is, and what is behind it."""

    address: str
    filled: Filled
    live: Hosting
    service: Service
    _taken: dict[str, Work] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        """Answer the ledger that the server reads."""
        return self.filled.ledger

    def token(self, level: str = "admin", *environments: str, lasts_us: int | None = None) -> str:
        """Make a token."""
        bound = environments or (api_tokens.EVERYWHERE,)
        with self.ledger.transaction() as tx:
            return api_tokens.create(
                tx, self.ledger.ids, name=f"a {level}", level=level, environments=bound, lasts_us=lasts_us
            )[0]

    def claim(self, node: str) -> Work:
        """Take a piece of work as the crew; whatever else is there is kept open."""
        wait_until(lambda: self._claimed(node) is not None, what=f"{node} is never there to be claimed")
        return self._taken.pop(node)

    def _claimed(self, node: str) -> Work | None:
        while node not in self._taken and (held := self.filled.crew.claim()) is not None:
            self._taken[held.claim.node] = held
        return self._taken.get(node)

    def state(self, pond: str, environment: str = "main") -> str:
        """Answer the state of a Pond."""
        return next(each.state for each in self.status(environment).ponds if each.name == pond)

    def status(self, environment: str = "main") -> StatusView:
        """Answer every Pond of an environment."""
        with self.ledger.reading() as tx:
            return status(tx, self.ledger, environment)

    @contextmanager
    def another(self, port: int = 0) -> Iterator[str]:
        """Serve the same by a server of its own while the block runs, and answer its address."""
        options = ServeOptions(port=port)
        with bound(options) as listening, serving(self.service, options, listening):
            yield _address(listening)

    def url(self, page: str = "", *, token: str = "", **params: str) -> str:
        """Answer the address of a page, with its filters, and with the token where only the browser sees it."""
        asked = {"page": page, **params} if page else params
        query = f"?{urlencode(asked)}" if asked else ""
        return f"{self.address}{query}" + (f"#token={token}" if token else "")


@contextmanager
def site(root: Path) -> Iterator[Site]:
    """Fill a ledger, begin a live host with a reactor in it, and serve both while the block runs."""
    project = root / "project"
    database = project / ".pondage" / "ledger.db"
    database.parent.mkdir(parents=True)
    warehouse = project / ".pondage" / "warehouse"
    made = filled(database, warehouse)
    options = ServeOptions(port=0)
    with hosting(project) as live, bound(options) as listening:
        live.start()
        for number in range(40):
            live.push(number)
        # Its graph raises while this is its configuration: a dead letter.
        for value in ("raise", "quiet"):
            live.client().ask(op="push", source="config", value=value)
        compare = CompareTable(schedule="*/15 * * * *", tz="Europe/Berlin")
        told = msgspec.structs.replace(load_project(live.root), compare=compare)
        service = Service(ledger=made.ledger, environment="main", warehouse=warehouse, project=told)
        with serving(service, options, listening), _beating(made):
            yield Site(address=_address(listening), filled=made, live=live, service=service)
    made.ledger.close()


def _address(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}/"


@contextmanager
def _beating(made: Filled) -> Iterator[None]:
    """Say for the crew that it is alive: the live host reaps whoever is silent."""
    is_over = threading.Event()

    def beat() -> None:
        while not is_over.wait(2.0):
            with made.ledger.transaction() as tx:
                for row in processes.alive(tx):
                    if row.machine == made.crew.machine:
                        processes.beat(tx, row.id, state=row.state)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()

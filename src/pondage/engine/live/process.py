"""A live host: a process that owns the reactors of one deploy, runs them on a loop, and answers a local socket.

`python -m pondage.engine.live.process` is started by a supervisor, which gives it a `WorkerConfig` through a pipe. It
imports the author's code and never starts Spark.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

from pondage.define.reactor.boundary import kept_text
from pondage.define.reactor.reactor import Reactor
from pondage.engine.live.calls import Calls, calls_path
from pondage.engine.live.owned import OwnedReactor
from pondage.engine.live.reach import read_listening
from pondage.engine.live.socket import LiveSocket
from pondage.engine.process import identity
from pondage.engine.process.code import DeployedCode
from pondage.engine.process.config import WorkerConfig
from pondage.engine.process.heartbeat import Heartbeat
from pondage.engine.process.local import local_warehouse
from pondage.engine.process.parent import ParentWatch
from pondage.engine.process.places import checkpoint_path
from pondage.engine.process.spawn import receive
from pondage.errors import LedgerError, PondageError
from pondage.ledger.commit import reactor_work
from pondage.ledger.commit.journal import Fenced, journal_path
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.step import reactor_ponds
from pondage.ledger.step.reactor_ponds import Followed
from pondage.ledger.tables import reactors
from pondage.ledger.tables.reactors import Lease, ReactorRow, ReactorSignal
from pondage.plan.deploy.reactors import is_same_but_for_graphs

ROLE = "live"
BREATH_S = 0.02
LOST = 3
TRY_AGAIN_S = 5.0
"""How long a reactor that could not be started is left to others."""

_log = logging.getLogger(__name__)


class LiveHost:
    """Claims free reactors of its code, hands over what the ledger says, and follows deploys.

    Graphs that a deploy changed are bound to the reactor as it runs; a reactor that is another otherwise is drained.
    """

    def __init__(self, config: WorkerConfig, ledger: Ledger) -> None:
        self._config = config
        self._ledger = ledger
        self._codes: dict[str, DeployedCode] = {}
        self._owned: dict[int, OwnedReactor] = {}
        self._failed: dict[int, float] = {}
        self._draining: set[asyncio.Task[None]] = set()
        self._woken = asyncio.Event()
        self._is_ending = False
        self._lost: str | None = None
        self._changes = ledger.driver.changes()
        listening = read_listening(config.engine.listen) if config.engine.listen else None
        self._socket = LiveSocket(config.engine.state / "live", config.public_id, self.find, listening=listening)
        self._process = 0
        self._calls = Calls(calls_path(config.engine.state, config.public_id))

    def find(self, environment: str, name: str) -> OwnedReactor | None:
        """Answer a reactor that is owned here."""
        for owned in self._owned.values():
            if (owned.row.environment_name, owned.row.name) == (environment, name):
                return owned
        return None

    async def run(self) -> int:
        """Serve until told to end, or until the ledger takes us for dead; answer the exit code."""
        loop = asyncio.get_running_loop()
        await self._socket.open()
        self._process = await asyncio.to_thread(self._register)
        durability = self._ledger.durability
        heartbeat = Heartbeat(
            self._ledger,
            self._process,
            fence_after_s=durability.fence_after_s,
            state=lambda: f"{len(self._owned)} reactor{'' if len(self._owned) == 1 else 's'}",
            on_lost=lambda reason: _ignored(loop.call_soon_threadsafe(self._fence, reason)),
        )
        heartbeat.start()
        watch = threading.Thread(target=self._watch, args=(loop,), name="changes", daemon=True)
        watch.start()
        try:
            while not self._is_ending and self._lost is None:
                self._woken.clear()
                try:
                    await self._reconcile()
                except LedgerError as error:
                    _log.warning("cannot look for reactors now: %s", error)
                with suppress(TimeoutError):
                    async with asyncio.timeout(durability.poll_s):
                        await self._woken.wait()
                # Under load somebody commits every few milliseconds: look at many changes at once.
                await asyncio.sleep(BREATH_S)
            return await self._finish(heartbeat)
        finally:
            self._is_ending = True
            self._changes.wake()
            heartbeat.stop()
            await self._socket.close()

    def end(self) -> None:
        """Drain and end; called from any thread."""
        self._is_ending = True
        self._changes.wake()

    def _fence(self, reason: str) -> None:
        self._lost = reason
        self._woken.set()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._is_ending:
            try:
                if not self._changes.wait(1.0) and not self._is_ending:
                    continue
            except Exception:  # noqa: BLE001 - a hint less: the loop also polls
                _log.exception("cannot watch the ledger for changes")
                threading.Event().wait(1.0)
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._woken.set)

    async def _reconcile(self) -> None:
        rows, signals, tokens, followed = await asyncio.to_thread(self._look)
        known = {row.actor: row for row in rows}
        for actor, owned in list(self._owned.items()):
            row = known.get(actor)
            if owned.is_lost or tokens.get(actor) != owned.lease.token:
                await owned.lose("its lease is another's")
                del self._owned[actor]
            elif row is None or not self._stays(row, owned.row):
                self._start_draining(owned)
            else:
                if row.digest != owned.row.digest:
                    await self._rebind(owned, row)
                owned.tell(signals.get(actor, []))
                owned.follow(followed.get(actor, []))
        now = asyncio.get_running_loop().time()
        for row in rows:
            is_free = row.owner is None and self._is_for_us(row) and row.actor not in self._owned
            if is_free and self._failed.get(row.actor, 0.0) <= now:
                await self._take(row)

    def _stays(self, row: ReactorRow, before: ReactorRow) -> bool:
        """Answer whether a reactor goes on here: as it is, or with other graphs."""
        if row.is_removed or not self._is_for_us(row):
            return False
        return row.digest == before.digest or is_same_but_for_graphs(before.basis, row.basis)

    def _is_for_us(self, row: ReactorRow) -> bool:
        """Answer whether it is of our code, and one that has its own process only when that is this one."""
        return row.host == self._config.code and self._config.reactor == (row.actor if row.is_alone else 0)

    async def _rebind(self, owned: OwnedReactor, row: ReactorRow) -> None:
        if self._failed.get(row.actor, 0.0) > asyncio.get_running_loop().time():
            return
        try:
            with self._calls.of(row.actor):
                owned.rebind(row, await asyncio.to_thread(self._reactor, row))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's module may raise anything: it is told
            _log.exception("reactor %s goes on with the graphs before: those of the deploy cannot be bound", row.name)
            self._failed[row.actor] = asyncio.get_running_loop().time() + TRY_AGAIN_S
            await asyncio.to_thread(self._not_bound, owned.lease, error)
        else:
            _log.info("reactor %s has the graphs of code %s from its next fire on", row.name, row.code[:12])

    def _reactor(self, row: ReactorRow) -> Reactor:
        """Import a reactor, in another thread than the loop's."""
        if row.code not in self._codes:
            self._codes[row.code] = DeployedCode(self._ledger, row.code, self._config.engine.state / "code")
        return self._codes[row.code].reactor(row.entry)

    def _not_bound(self, lease: Lease, error: BaseException) -> None:
        with self._ledger.transaction() as tx:
            reactors.cannot_rebind(tx, lease, _said(error))

    def _look(
        self,
    ) -> tuple[list[ReactorRow], dict[int, list[ReactorSignal]], dict[int, str], dict[int, list[Followed]]]:
        with self._ledger.reading() as tx:
            rows = reactors.deployed(tx)
            signals = {actor: reactors.signals(tx, actor) for actor in self._owned}
            tokens = {
                actor: owned.lease.token
                for actor, owned in self._owned.items()
                if reactors.claimed(tx, token=owned.lease.token) is not None
            }
            followed = {
                actor: reactor_ponds.followed(tx, owned.row.environment, owned.row.declaration, owned.offsets)
                for actor, owned in self._owned.items()
                if owned.offsets
            }
        return rows, signals, tokens, followed

    async def _take(self, row: ReactorRow) -> None:
        lease = await asyncio.to_thread(self._claim, row)
        if lease is None:
            return
        if row.is_removed:
            await asyncio.to_thread(self._forget, lease)
            return
        try:
            call = self._calls.of(row.actor)
            with call:
                reactor = await asyncio.to_thread(self._reactor, row)
                owned = OwnedReactor(
                    self._ledger, row, lease, reactor, warehouse=self._config.engine.warehouse, call=call
                )
                await owned.start()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's module may raise anything: it is told
            _log.exception("reactor %s cannot be started", row.name)
            self._failed[row.actor] = asyncio.get_running_loop().time() + TRY_AGAIN_S
            await asyncio.to_thread(self._refuse, lease, error)
            return
        self._owned[row.actor] = owned
        _log.info("reactor %s runs here, epoch %d", row.name, lease.epoch)

    def _claim(self, row: ReactorRow) -> Lease | None:
        token = self._ledger.ids.new("t")
        try:
            with self._ledger.transaction() as tx:
                return reactors.claim(tx, actor=row.actor, process=self._process, token=token)
        except LedgerError:
            with self._ledger.reading() as tx:
                return reactors.claimed(tx, token=token)

    def _refuse(self, lease: Lease, error: BaseException) -> None:
        with self._ledger.transaction() as tx:
            if isinstance(error, Fenced):
                reactors.raise_epoch(tx, lease, error.epoch)
            place = error.place if isinstance(error, PondageError) else None
            reactors.cannot_start(tx, lease, _said(error), item=place or "start")
            reactors.release(tx, lease)

    def _start_draining(self, owned: OwnedReactor) -> None:
        del self._owned[owned.lease.actor]
        task = asyncio.get_running_loop().create_task(self._give_back(owned))
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)

    async def _give_back(self, owned: OwnedReactor) -> None:
        await owned.drain(int(self._ledger.durability.drain_s * 1e6))
        if not owned.is_lost:
            await asyncio.to_thread(self._release, owned.lease)

    def _release(self, lease: Lease) -> None:
        with self._ledger.transaction() as tx:
            reactors.release(tx, lease)

    def _forget(self, lease: Lease) -> None:
        driver = self._ledger.driver
        if isinstance(driver, SqliteDriver):
            path = journal_path(driver.path, lease.actor)
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
        with self._ledger.transaction() as tx:
            reactor_work.cancel_all(tx, lease.actor)
            places = reactor_work.places(tx, lease.actor)
            reactors.forget(tx, lease)
        for place in places:
            local = local_warehouse(checkpoint_path(self._config.engine.warehouse, place=place))
            if local is not None:
                shutil.rmtree(local, ignore_errors=True)

    async def _finish(self, heartbeat: Heartbeat) -> int:
        if self._lost is not None:
            _log.error("this live host must stop: %s", self._lost)
            await asyncio.gather(*(owned.lose(self._lost) for owned in self._owned.values()))
            return LOST
        for owned in list(self._owned.values()):
            self._start_draining(owned)
        await asyncio.gather(*self._draining)
        # First: a beat that finds itself declared dead takes that for an accident.
        await asyncio.to_thread(heartbeat.stop)
        await asyncio.to_thread(self._unregister)
        self._calls.close()
        return 0

    def _register(self) -> int:
        with self._ledger.transaction() as tx:
            process = processes.register(
                tx,
                public_id=self._config.public_id,
                machine=identity.machine(),
                pid=os.getpid(),
                pid_started=identity.started(os.getpid()),
                role=ROLE,
                code=self._config.code,
            )
            reactors.listen(tx, process, self._socket.address, secret=self._socket.secret)
        return process

    def _unregister(self) -> None:
        with self._ledger.transaction() as tx:
            processes.leave(tx, self._process)
            reactors.free(tx, self._process)


def _said(error: BaseException) -> str:
    return kept_text(error.message if isinstance(error, PondageError) else f"{type(error).__name__}: {error}")


def _ignored(handle: object) -> None:
    del handle


def main() -> int:
    """Be a live host until told to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    config, pipe = receive(WorkerConfig)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    if Path(config.engine.root).is_dir():
        os.chdir(config.engine.root)
    ledger = config.engine.open_ledger()

    async def serve() -> int:
        host = LiveHost(config, ledger)
        ParentWatch(config.parent, host.end).start(pipe)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, host.end)
        return await host.run()

    return asyncio.run(serve())


if __name__ == "__main__":
    exit_code = main()
    logging.shutdown()
    # A graph in a thread may still run, and nothing can stop it: it must not keep the process.
    os._exit(exit_code)

"""Two workers, one piece of work: every order of claim, commit, lost answers, release, reap and kill, without chance.

The state space is small enough to be walked whole. From every state that can be reached the rules hold, and from every
one of them the usual recovery (reap whoever is silent, let a new worker do what is left) ends with the work done once.

There is one database: a step is taken, everything behind it is walked, and the step is taken back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pondage.define.project.durability import Durability
from pondage.kernel.demand.events import Kill, Tap
from pondage.ledger.act import verbs
from pondage.ledger.act.deploy import deploy
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.database import patience
from pondage.ledger.database.driver import Driver, LedgerUnavailable, Transaction
from pondage.ledger.database.ids import SeededIds
from pondage.ledger.database.sqlite import SqliteTransaction
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, processes
from pondage.ledger.step import advance
from pondage.ledger.upkeep import reap
from tests.histories.driver import SharedSqlite, SqliteMemory
from tests.histories.scheduler import SimulatedClock, replaced
from tests.ledger.harness import content, pond

MOST_CLAIMS = 2
FEWEST_STATES = 3_000


class Nested(SharedSqlite):
    """A driver whose transactions are savepoints, so that they can be taken back after they were committed."""

    @contextmanager
    def _block(self, begin: str) -> Iterator[SqliteTransaction]:
        self.shared.execute("SAVEPOINT block")
        try:
            yield SqliteTransaction(self.shared, self._clock, self.counts)
        except BaseException:
            self.shared.execute("ROLLBACK TO block")
            raise
        finally:
            self.shared.execute("RELEASE block")

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """Undo everything that was committed inside."""
        self.shared.execute("SAVEPOINT step")
        try:
            yield
        finally:
            self.shared.execute("ROLLBACK TO step")
            self.shared.execute("RELEASE step")


class Forgetful:
    """A driver that can lose the next answer."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.is_losing = False
        self.dialect = driver.dialect
        self.counts = driver.counts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._driver.transaction() as tx:
            yield tx
        if self.is_losing:
            self.is_losing = False
            raise LedgerUnavailable("the answer was lost")


@dataclass(frozen=True)
class Holder:
    """What a worker believes."""

    process: int
    claims: int = 0
    held: Work | None = None
    told: tuple[tuple[str, bool], ...] = ()
    is_reaped: bool = False

    @property
    def belief(self) -> tuple[object, ...]:
        return self.claims, None if self.held is None else self.held.claim.token, self.told, self.is_reaped


@dataclass(frozen=True)
class State:
    """A moment: what everybody believes, beside the rows that are there."""

    holders: tuple[Holder, ...]
    is_killed: bool = False
    path: tuple[str, ...] = ()


@dataclass
class Model:
    """Walks the whole space and collects what is wrong."""

    driver: Nested = field(default_factory=lambda: Nested(SqliteMemory().connection, SimulatedClock()))
    seen: set[object] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    is_ended_by_the_first: bool = False

    def ledger(self) -> tuple[Ledger, Forgetful]:
        """Answer a ledger that remembers nothing of another one's steps."""
        driver = Forgetful(self.driver)
        return Ledger(driver, ids=SeededIds(1), durability=Durability(crash_budget=100, crash_delay_s=0)), driver  # type: ignore[arg-type]

    def start(self) -> State:
        ledger, _ = self.ledger()
        deploy(
            ledger, "main", project="p", definitions=[pond("orders")], removed=[], archive=b"", summary="{}",
            expected=[],
        )  # fmt: skip
        verbs.send(ledger, "main", Tap(pond="orders@1"))
        return State(holders=tuple(Holder(process=register(ledger, n)) for n in range(2)))

    def walk(self) -> None:
        self.visit(self.start())
        self.driver.shared.close()

    def visit(self, state: State) -> None:
        key = self.rows(), tuple(holder.belief for holder in state.holders), state.is_killed
        if key in self.seen:
            return
        self.seen.add(key)
        self.check(state)
        with self.driver.taken_back():
            self.recover(state)
        for name, act in self.choices(state):
            if self.wrong and self.is_ended_by_the_first:
                return
            path = (*state.path, name)
            with self.driver.taken_back():
                try:
                    following = act(*self.ledger())
                except sqlite3.IntegrityError as error:
                    self.wrong.append(f"refused by the schema ({error}) after {' > '.join(path)}")
                    continue
                self.visit(replace(following, path=path))

    def choices(self, state: State) -> list[tuple[str, Callable[[Ledger, Forgetful], State]]]:
        found: list[tuple[str, Callable[[Ledger, Forgetful], State]]] = []
        for place, holder in enumerate(state.holders):
            for is_losing in (False, True):
                lost = ", answer lost" if is_losing else ""
                if holder.held is None and holder.claims < MOST_CLAIMS:
                    found.append((f"claim {place}{lost}", claiming(state, place, is_losing)))
                if holder.held is not None:
                    found.append((f"commit {place}{lost}", ending(state, place, is_losing, finish)))
                    found.append((f"release {place}{lost}", ending(state, place, is_losing, give_back)))
            if not holder.is_reaped:
                found.append((f"reap {place}", reaping(state, place)))
        if not state.is_killed:
            found.append(("kill", killing(state)))
        return found

    def check(self, state: State) -> None:
        ledger, _ = self.ledger()
        with ledger.reading() as tx:
            questions = {
                "broken": "SELECT what FROM broken",
                "two open": """SELECT dispatch AS what FROM executions WHERE completed_at IS NULL
                               GROUP BY dispatch HAVING count(*) > 1""",
                "two good": """SELECT dispatch AS what FROM executions WHERE outcome = 'ok'
                               GROUP BY dispatch HAVING count(*) > 1""",
                "published without its commit": """SELECT s.id AS what FROM snapshots s
                               JOIN executions e ON e.id = s.execution WHERE e.outcome IS NOT 'ok'""",
            }
            found = [f"{what} {row['what']}" for what, question in questions.items() for row in tx.rows(question)]
            for holder in state.holders:
                for token, is_ours in holder.told:
                    if is_ours != (executions.outcome_of(tx, token) == "ok"):
                        found.append(f"{token} was told {is_ours}")
        self.wrong += [f"{problem} after {' > '.join(state.path)}" for problem in found]

    def recover(self, state: State) -> None:
        """Whoever still holds something is silent for too long; a new worker does what is left."""
        ledger, _ = self.ledger()
        with ledger.reading() as tx:
            alive = processes.alive(tx)
        for row in alive:
            reap.reap_process(ledger, row, reason="silent")
        process = register(ledger, 9)
        advance.advance_due(ledger, process=process)
        for n in range(3):
            held = claimed(ledger, process, f"last{n}")
            if held is None:
                break
            guarded.commit(ledger, held, Written(content(held)), process=process)
        with ledger.reading() as tx:
            good = tx.rows("SELECT id FROM executions WHERE outcome = 'ok'")
            left = tx.rows("SELECT id FROM dispatches WHERE outcome IS NULL")
            shown = tx.rows("SELECT id FROM runs WHERE state = 'completed'")
            ended = {str(row["outcome"]) for row in tx.rows("SELECT outcome FROM dispatches")}
        is_right = not left and len(good) == len(shown) and (len(good) == 1 or (not good and ended == {"cancelled"}))
        if not is_right:
            self.wrong.append(f"{len(good)} good, {len(shown)} shown, {ended} after {' > '.join(state.path)}")

    def rows(self) -> object:
        """Answer everything of the ledger that decides what can happen next."""
        with self.driver.reading() as tx:
            return tuple(
                tuple(tuple(row.values()) for row in tx.rows(question))
                for question in (
                    "SELECT dispatch, token, process, epoch, outcome, is_isolated FROM executions ORDER BY id",
                    "SELECT execution, is_isolated FROM availabilities ORDER BY execution",
                    "SELECT outcome, crashes FROM dispatches ORDER BY id",
                    "SELECT state FROM runs ORDER BY id",
                    "SELECT id, dead_at FROM processes ORDER BY id",
                    "SELECT payload FROM signals ORDER BY id",
                )
            )


def register(ledger: Ledger, pid: int) -> int:
    with ledger.transaction() as tx:
        return processes.register(
            tx, public_id=f"p{pid}", machine="m", pid=pid, pid_started=pid, role="worker", slots=1
        )


def claimed(ledger: Ledger, process: int, token: str) -> Work | None:
    with ledger.reading() as tx:
        codes = [str(row["code"]) for row in tx.rows("SELECT code FROM queues")]
    queues = [queue for code in codes for queue in polling.queues_for(ledger, code=code)]
    return work.claim_work(ledger, process=process, queues=queues, token=token, is_alone=True)


def claiming(state: State, place: int, is_losing: bool) -> Callable[[Ledger, Forgetful], State]:
    def act(ledger: Ledger, driver: Forgetful) -> State:
        holder = state.holders[place]
        driver.is_losing = is_losing
        held = claimed(ledger, holder.process, f"t{place}{holder.claims}")
        return changed(state, place, claims=holder.claims + 1, held=held)

    return act


def finish(ledger: Ledger, holder: Holder) -> tuple[tuple[str, bool], ...]:
    assert holder.held is not None
    is_ours = guarded.commit(ledger, holder.held, Written(content(holder.held)), process=holder.process)
    return (*holder.told, (holder.held.claim.token, is_ours))


def give_back(ledger: Ledger, holder: Holder) -> tuple[tuple[str, bool], ...]:
    assert holder.held is not None
    guarded.release(ledger, holder.held)
    return holder.told


def ending(
    state: State, place: int, is_losing: bool, end: Callable[[Ledger, Holder], tuple[tuple[str, bool], ...]]
) -> Callable[[Ledger, Forgetful], State]:
    def act(ledger: Ledger, driver: Forgetful) -> State:
        driver.is_losing = is_losing
        return changed(state, place, held=None, told=end(ledger, state.holders[place]))

    return act


def reaping(state: State, place: int) -> Callable[[Ledger, Forgetful], State]:
    def act(ledger: Ledger, _driver: Forgetful) -> State:
        with ledger.reading() as tx:
            row = next(row for row in processes.alive(tx) if row.id == state.holders[place].process)
        assert reap.reap_process(ledger, row, reason="silent") is not None
        return changed(state, place, is_reaped=True)

    return act


def killing(state: State) -> Callable[[Ledger, Forgetful], State]:
    def act(ledger: Ledger, _driver: Forgetful) -> State:
        verbs.send(ledger, "main", Kill(pond="orders@1"))
        return replace(state, is_killed=True)

    return act


def changed(state: State, place: int, **changes: Any) -> State:
    holders = list(state.holders)
    holders[place] = replace(holders[place], **changes)
    return replace(state, holders=tuple(holders))


class NoWaiting:
    """Time in which nobody waits."""

    def sleep(self, seconds: float) -> None:
        pass


def test_every_order_of_claim_commit_release_reap_and_kill_is_sound() -> None:
    model = Model()
    with replaced((patience, "time", NoWaiting())):
        model.walk()
    assert not model.wrong, "\n".join(model.wrong[:5])
    assert len(model.seen) > FEWEST_STATES, "the space is smaller than it should be: something is never possible"


def test_without_the_fence_the_walk_finds_a_second_publication(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.histories.test_controls import unfenced

    monkeypatch.setattr(executions, "close", unfenced)
    model = Model(is_ended_by_the_first=True)
    with replaced((patience, "time", NoWaiting())):
        model.walk()
    assert model.wrong

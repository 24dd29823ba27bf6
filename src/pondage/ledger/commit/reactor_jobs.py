"""Jobs that good fires start: each fire once, in their order, whatever crashes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pondage.expr.evaluate import ExprError, ExprTimeout, Missing, is_true
from pondage.expr.parse import compile_text
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.tables import history, job_plans, job_runs, reactors
from pondage.ledger.tables.job_plans import StoredJob
from pondage.ledger.tables.reactors import Lease, ReactorRow
from pondage.ledger.tables.subscription import Subscription, follow

KIND = "good fire"
AT_ONCE = 100

_stored = msgspec.json.Decoder(StoredJob)


class DeadFire(msgspec.Struct, frozen=True, kw_only=True):
    """A good fire for which no job could be decided."""

    fire: int
    error: str
    inputs: dict[str, object]


class _Said(msgspec.Struct):
    fire: int
    inputs: msgspec.Raw = msgspec.Raw(b"{}")


def take(tx: Transaction, lease: Lease, payload: str) -> None:
    """Note a good fire: its jobs are decided when those of all fires before it are."""
    said = msgspec.json.decode(payload, type=_Said)
    tx.write(
        """INSERT INTO reactor_fires (reactor, fire, inputs) VALUES (:reactor, :fire, :inputs)
           ON CONFLICT DO NOTHING""",
        reactor=lease.actor,
        fire=said.fire,
        inputs=bytes(said.inputs).decode(),
    )


def start_due(ledger: Ledger, lease: Lease) -> int:
    """Decide the jobs of every fire that waits, oldest first; answer how many runs began."""
    begun = 0
    while (runs := _start_next(ledger, lease)) is not None:
        begun += runs
    return begun


def try_again(tx: Transaction, actor: int, fire: int) -> None:
    """Give a fire that was given up another chance."""
    tx.write(
        "UPDATE reactor_fires SET tries = 0, error = NULL WHERE reactor = :reactor AND fire = :fire",
        reactor=actor,
        fire=fire,
    )


def dead_fires(tx: Transaction, actor: int) -> list[DeadFire]:
    """Answer the fires that were given up."""
    return tx.rows(
        "SELECT fire, inputs, error FROM reactor_fires WHERE reactor = :reactor AND error IS NOT NULL ORDER BY fire",
        DeadFire,
        reactor=actor,
    )


def _start_next(ledger: Ledger, lease: Lease) -> int | None:
    with ledger.transaction() as tx:
        if tx.row("SELECT id FROM actors WHERE token = :token /*lock*/", token=lease.token) is None:
            return None
        rows = tx.rows(
            """SELECT fire, inputs, tries FROM reactor_fires WHERE reactor = :reactor AND error IS NULL
               ORDER BY fire LIMIT :most""",
            tuple[int, dict[str, object], int],
            reactor=lease.actor,
            most=AT_ONCE,
        )
        declared = reactors.find(tx, lease.environment, lease.name)
        if not rows or declared is None:
            return None
        inputs = {fire: given for fire, given, _ in rows}
        deciding = _Deciding(declared, inputs)
        before = Subscription(watermark=min(inputs) - 1, errors=rows[0][2])
        followed = follow(before, inputs, deciding.is_wanted)
        after = followed.subscription
        for fire in followed.dead:
            _give_up(tx, lease, fire, deciding.errors[fire])
        tx.write(
            "DELETE FROM reactor_fires WHERE reactor = :reactor AND fire <= :watermark AND error IS NULL",
            reactor=lease.actor,
            watermark=after.watermark,
        )
        tx.write(
            "UPDATE reactor_fires SET tries = :tries WHERE reactor = :reactor AND fire > :watermark AND error IS NULL",
            reactor=lease.actor,
            watermark=after.watermark,
            tries=after.errors,
        )
        for fire in followed.started:
            for job in deciding.wanted[fire]:
                actor = _begin(tx, ledger, declared, job, fire, inputs[fire])
                advance.inline(tx, ledger, actor, process=None)
        return sum(len(deciding.wanted[fire]) for fire in followed.started)


class _Deciding:
    """Which jobs each fire starts, and why that could not be told."""

    def __init__(self, row: ReactorRow, inputs: Mapping[int, dict[str, object]]) -> None:
        self._row = row
        self._given = inputs
        self.wanted: dict[int, list[StoredJob]] = {}
        self.errors: dict[int, str] = {}

    def is_wanted(self, fire: int) -> bool:
        values = _Values({**self._given[fire], "fire": fire})
        try:
            self.wanted[fire] = [
                _stored.decode(text)
                for declared, text in zip(self._row.declaration.jobs, self._row.jobs, strict=True)
                if declared.when is None or is_true(compile_text(declared.when), values)
            ]
        except (ExprError, ExprTimeout) as error:
            self.errors[fire] = str(error)
            raise
        return bool(self.wanted[fire])


def _begin(
    tx: Transaction, ledger: Ledger, row: ReactorRow, job: StoredJob, fire: int, inputs: dict[str, object]
) -> int:
    known = {"reactor": row.name, "fire": fire, "inputs": inputs}
    return job_runs.begin(
        tx,
        job,
        public_id=ledger.ids.new("j"),
        environment=row.environment,
        definition=job_plans.store(tx, job),
        context={"env": row.environment_name, **job.plan.context, **known},
        reason=f"fire {fire} of reactor {row.name}",
    )


def _give_up(tx: Transaction, lease: Lease, fire: int, error: str) -> None:
    tx.write(
        "UPDATE reactor_fires SET error = :error WHERE reactor = :reactor AND fire = :fire",
        error=error,
        reactor=lease.actor,
        fire=fire,
    )
    said = {"reactor": lease.name, "fire": fire, "error": error}
    history.record(tx, environment=lease.environment, kind="reactor job not started", payload=said)


class _Values:
    """What a condition may name: the values of the fire's sources, and `fire`."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.context: Mapping[str, object] = values

    def name(self, name: str) -> object:
        """Answer a source's value; a source without one is missing, and the condition False."""
        found = self.context.get(name)
        if found is None:
            raise Missing(name)
        return found

    def glob(self, key: str) -> object:
        """Answer nothing: a fire has no globals."""
        raise Missing(key)

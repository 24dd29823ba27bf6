"""A stream that Spark reads and that fails again and again is given up, said so, and revived. No Spark is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from pondage import Accumulator, Reactor
from pondage.engine.live import owned as owned_module
from pondage.engine.live.owned import OwnedReactor
from pondage.kernel.reaction import ReactorShape
from pondage.kernel.reaction.declared import shape_of
from pondage.ledger.database.driver import number, text
from pondage.ledger.kinds.stream import STREAM_FAILED, StreamKind
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.tables import reactors
from pondage.views.reactors.reactors import stream_faults, why_reactor
from pondage.work.failure import Failure
from tests.engine.live.test_rebind import owned_on
from tests.patience import PATIENCE_S


@dataclass
class Counted:
    batch: int


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    def quick(*given: object, **options: object) -> ReactorShape:
        return msgspec.structs.replace(shape_of(*given, **options), second=1000)  # type: ignore[arg-type]

    monkeypatch.setattr(owned_module, "shape_of", quick)  # Backoffs of milliseconds.
    opened = Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    yield opened
    opened.close()


def reactor_of(on_source_failed: str) -> Reactor:
    clicks = Accumulator.spark("clicks", Counted)
    clicks.query(lambda spark: None)
    clicks.gather(lambda rows: None)
    made = Reactor("shop", sources=[clicks, Accumulator("calm", int)], on_source_failed=on_source_failed)
    made.graph(name="note", inline=True)(lambda clicks: None)
    return made


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A dispatch that nobody holds any more."""

    kind: str
    actor: int
    node: str
    number: int
    inputs: str


def end_stream(ledger: Ledger, actor: int, code: str) -> bool:
    """End the open stream of a reactor as a worker would; False when there is none yet."""
    with ledger.transaction() as tx:
        row = tx.row(
            """SELECT d.id AS id, d.node AS node, d.inputs AS inputs, e.id AS execution FROM dispatches d
               JOIN executions e ON e.dispatch = d.id
               WHERE d.actor = :actor AND d.kind = 'stream' AND d.outcome IS NULL""",
            actor=actor,
        )
        if row is None:
            return False
        failure = Failure(code=code, message="[PATH] the files are gone")
        error = msgspec.json.encode(failure).decode()
        tx.change(
            "UPDATE executions SET outcome = 'failed', completed_at = 1, error = :error WHERE id = :id",
            id=number(row, "execution"),
            error=error,
        )
        executions.close_dispatch(tx, number(row, "id"), outcome="failed")
        stream = Ended(kind="stream", actor=actor, node=text(row, "node"), number=1, inputs=text(row, "inputs"))
        StreamKind().failed(tx, stream, msgspec.structs.replace(failure, message="the files are gone"))
    return True


async def fail(ledger: Ledger, owned: OwnedReactor, code: str, times: int) -> None:
    for _ in range(times):
        while not end_stream(ledger, owned.lease.actor, code):
            await asyncio.sleep(0.001)
        with ledger.reading() as tx:
            signals = reactors.signals(tx, owned.lease.actor)
        owned.tell(signals)


async def connect(ledger: Ledger, owned: OwnedReactor) -> None:
    await owned.until(lambda found: found["sources"]["clicks"]["health"] == "Connecting")  # type: ignore[index]
    with ledger.transaction() as tx:
        reactors.signal(tx, actor=owned.lease.actor, payload=["acc", "clicks", "connected"])
        owned.tell(reactors.signals(tx, owned.lease.actor))
    await owned.until(lambda found: found["state"] == "Live")


def health(owned: OwnedReactor) -> object:
    return owned.state()["sources"]["clicks"]["health"]  # type: ignore[index]


@pytest.mark.parametrize(("on_source_failed", "state"), [("fail", "Failed"), ("degrade", "Degraded")])
def test_a_stream_that_fails_six_times_is_given_up_and_comes_back_when_it_is_revived(
    ledger: Ledger, on_source_failed: str, state: str
) -> None:
    async def play() -> None:
        owned = await owned_on(ledger, reactor_of(on_source_failed))
        await connect(ledger, owned)
        await fail(ledger, owned, STREAM_FAILED, 5)
        assert health(owned) == "Crashed"
        await fail(ledger, owned, STREAM_FAILED, 1)
        await owned.until(lambda found: found["sources"]["clicks"]["health"] == "Failed")  # type: ignore[index]
        assert owned.state()["state"] == state
        with ledger.reading() as tx:
            why = why_reactor(owned.row, owned.state(), stream_faults(tx, owned.row))
        said = " ".join(reason.text for reason in why.reasons)
        assert "clicks crashed too often" in said
        assert "Spark last said: [PATH] the files are gone" in said
        hints = {reason.hint for reason in why.reasons}
        assert {"pondage reactor revive shop", "pondage logs shop"} <= hints
        assert (await owned.command("revive"))["revived"] is True
        await owned.until(lambda found: found["sources"]["clicks"]["health"] == "Connecting")  # type: ignore[index]
        await fail(ledger, owned, STREAM_FAILED, 1)
        assert health(owned) == "Crashed", "with a fresh budget"
        await owned.drain(0)

    asyncio.run(asyncio.wait_for(play(), PATIENCE_S))


def test_a_connection_that_is_lost_is_tried_without_an_end(ledger: Ledger) -> None:
    async def play() -> None:
        owned = await owned_on(ledger, reactor_of("fail"))
        await fail(ledger, owned, "RIPPLE_FAILED", 9)
        assert health(owned) == "Disconnected"
        await owned.drain(0)

    asyncio.run(asyncio.wait_for(play(), PATIENCE_S))

"""The ledger that the page is looked at with: half a day of a shop, and two more environments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from pondage.define.pond.definition import PondDefinition, ReadDefinition, RippleDefinition
from pondage.define.project.durability import Durability
from pondage.kernel.demand.events import Calm, Force, Kill, Pulse, Sleep, Tap, Tide
from pondage.ledger.act import jobs
from pondage.ledger.act.job_deploys import deploy_jobs
from pondage.ledger.commit import guarded
from pondage.ledger.database.ids import SeededIds
from pondage.ledger.database.migrate import migrate
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables.history import Caller
from tests.browser.flowing import Flows, flows
from tests.browser.history import SECOND, TRACE, Crew, JumpingClock, key, put, tell
from tests.browser.shop import HOUR, MINUTE, many, shop
from tests.ledger.harness import pond
from tests.ledger.jobs import component_result, job

PATIENT = Durability(heartbeat_s=600, reap_after_s=3600)
"""Nobody reaps the crew while tests look at it."""


@dataclass(kw_only=True)
class Filled:
    """A ledger with a past, and whoever works in it."""

    ledger: Ledger
    clock: JumpingClock
    crew: Crew
    warehouse: Path
    failed_job: str
    running_job: str
    flows: Flows


def filled(database: Path, warehouse: Path) -> Filled:
    """Live through the half day before now, and answer what is left of it."""
    clock = JumpingClock()
    now = clock.now()
    clock.at = now - 10 * HOUR
    driver = SqliteDriver(database, clock, synchronous="OFF")
    migrate(driver)
    ledger = Ledger(driver, ids=SeededIds(11), durability=PATIENT)
    crew = Crew(ledger, clock, warehouse, slots=16)
    with ledger.transaction() as tx:
        processes.register(
            tx, public_id=ledger.ids.new("p"), machine=Crew.machine, pid=4700, pid_started=1, role="supervisor"
        )
    _shop(ledger, crew, now)
    flowing = flows(ledger, crew)
    failed, running = _jobs(ledger, crew)
    # The second begins while the first is at its second Ripple.
    for before in (170 * SECOND, 110 * SECOND):
        crew.until(now - before)
        tell(ledger, Pulse(pond=key("sales")), note="a late file", by="bert")
    crew.until(now - 15 * SECOND)
    clock.at = now
    _alive(ledger, crew)
    _others(ledger)
    clock.at = None
    with ledger.transaction() as tx:
        processes.beat(tx, crew.process, state="ready")
    return Filled(
        ledger=ledger, clock=clock, crew=crew, warehouse=warehouse, failed_job=failed, running_job=running,
        flows=flowing,
    )  # fmt: skip


def _shop(ledger: Ledger, crew: Crew, now: int) -> None:
    put(ledger, "main", [each for each in shop(now) if each.name != "sessions"], project="shop", archive=b"monday")
    for name in ("reports", "revenue", "margin", "attribution", "late_deliveries", "tax_export", "legacy_report"):
        tell(ledger, Tap(pond=key(name)))
    crew.until(now - 8 * HOUR)
    tell(ledger, Kill(pond=key("legacy_report")), note="nobody reads it; ask Bert before waking it", by="bert")
    tell(ledger, Pulse(pond=key("finance_export")), by="token finance (t7)")
    crew.until(now - 5 * HOUR)
    put(ledger, "main", shop(now), project="shop", archive=b"tuesday")
    tell(ledger, Pulse(pond=key("churn")))
    tell(ledger, Tide(pond=key("supplier_scorecard"), limit=3 * HOUR, name="tide"), note="for the audit")
    crew.until(now - 2 * HOUR)
    tell(ledger, Calm(pond=key("supplier_scorecard")), note="the audit is over")
    tell(ledger, Sleep(pond=key("supplier_scorecard")))
    crew.fails = {"payments_matched": "order 10472 has two payments"}.get
    tell(ledger, Pulse(pond=key("tax_export")), by="token finance (t7)")
    crew.until(now - HOUR)
    crew.fails = {"stock_levels": "warehouse 7 sent an empty file"}.get
    tell(ledger, Force(pond=key("stock_levels")), note="a new file came", by="bert")
    crew.until(now - 50 * MINUTE)
    tell(ledger, Pulse(pond=key("finance_export")), by="token finance (t7)")
    crew.until(now - 8 * MINUTE)
    tell(ledger, Tap(pond=key("catalogue_check")))
    tell(ledger, Tap(pond=key("forecast")))
    crew.until(now - 6 * MINUTE)


def _alive(ledger: Ledger, crew: Crew) -> None:
    """Leave things open: a Run that Spark is in the middle of, and one that waits for a worker with a label."""
    tell(ledger, Force(pond=key("reports")), note="after the fix", by="anna")
    tell(ledger, Pulse(pond=key("delivery_times")))
    claimed: list[Work] = []
    while (held := crew.claim()) is not None:
        crew.begin(held)
        claimed.append(held)
    for place, held in enumerate(crew.held()):
        crew.progress(held, 20 + 40 * place % 160, 200)
        crew.say(held, "INFO reading 12 files")
        crew.forget(held)
    # Deployed while `reports` runs: its new definition waits for the end of that Run.
    changed = [_with_weather(each) if each.name == "reports" else each for each in shop(crew.clock.now())]
    put(ledger, "main", changed, project="shop", archive=b"wednesday")


def _with_weather(reports: PondDefinition) -> PondDefinition:
    """`reports` with a new Ripple, and one whose code is different."""
    old = [
        msgspec.structs.replace(each, digest="c2-by_day") if each.name == "by_day" else each for each in reports.ripples
    ]
    new = RippleDefinition(
        name="by_store", digest="c1", reads=(ReadDefinition(parameter="enriched", ripple="enriched"),)
    )
    return msgspec.structs.replace(reports, version="1.1.0", ripples=(*old, new))


JOB = """
job: {name: nightly_load, version: 1.2.0}
components:
  - {name: files, type: source}
  - {name: check, type: transform}
  - {name: load, type: transform}
  - {name: notify, type: task}
  - {name: archive, type: sink}
  - {name: repair, type: task}
connections:
  data: [files.main -> check.input, check.main -> load.input, load.main -> archive.input]
  control: [check (subjob_ok) load, archive (error) repair, archive (ok) notify]
"""


def _jobs(ledger: Ledger, crew: Crew) -> tuple[str, str]:
    stored = job(JOB, fuses=False)
    deploy_jobs(ledger, "main", project="shop", jobs={"nightly_load": stored}, archive=b"tuesday")
    for failing in (set(), {"archive"}):
        jobs.start_job(ledger, "main", stored, context={"day": "2026-11-14"}, reason="by its schedule")
        _work(ledger, crew, failing)
    failed = jobs.start_job(ledger, "main", stored, context={"day": "2026-11-15"}, reason="by hand", by=Caller("anna"))
    _work(ledger, crew, failing={"load"})
    running = jobs.start_job(ledger, "main", stored, context={"day": "2026-11-16"}, reason="by its schedule")
    held = crew.claim()
    assert held is not None
    commit(ledger, crew, held)
    assert crew.claim() is not None
    return failed, running


def _work(ledger: Ledger, crew: Crew, failing: set[str] | None = None) -> None:
    while (held := crew.claim()) is not None:
        assert crew.clock.at is not None
        crew.clock.at += 700_000 * (1 + len(held.claim.node))
        commit(ledger, crew, held, failing or set())


def commit(ledger: Ledger, crew: Crew, held: Work, failing: set[str] | None = None) -> None:
    """End a component of a job."""
    message = "order 10472 has no customer"
    result = component_result(held, failing or set())
    members = tuple(
        msgspec.structs.replace(
            each, raises=message, code="ValueError", trace=TRACE.format(node=each.instance, message=message)
        )
        if each.raises
        else each
        for each in result.members
    )
    told = msgspec.structs.replace(result, members=members)
    assert guarded.commit(ledger, held, ComponentEnded(told), process=crew.process)


def _others(ledger: Ledger) -> None:
    """`many` has two hundred Ponds; in `trial` journeys do as they like."""
    put(ledger, "many", many(), project="many", archive=b"many")
    put(
        ledger,
        "trial",
        [
            pond("harbour"),
            pond("boats", sources={"harbour": True}, ripples={"seen": [], "boats": ["seen"]}),
            pond("fleet", sources={"boats": True}),
            pond("island"),
            pond("lagoon"),
            pond("reef"),
            pond("sandbank"),
        ],
        project="trial",
        archive=b"trial",
    )

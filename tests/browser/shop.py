"""A shop's Ponds, in every state that the page draws: the definitions, and how long each Ripple takes."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from pondage.define.pond.definition import (
    ExpectationDefinition,
    PondDefinition,
    Retries,
    ScheduleDefinition,
    TideDefinition,
    Triggers,
    WindowDefinition,
)
from tests.ledger.harness import pond

MINUTE = 60_000_000
HOUR = 60 * MINUTE

SECONDS = {
    "orders": 40, "customers": 60, "products": 90, "stores": 20, "clicks": 90, "payments": 50, "shipments": 70,
    "returns": 30, "fx_rates": 5, "weather": 10, "suppliers": 25, "inventory": 80, "sessions": 160, "parsed": 45,
    "deduplicated": 75, "enriched": 150, "by_country": 30, "by_day": 25, "forecast": 900, "attribution": 240,
}  # fmt: skip
"""What a Ripple takes; any other half a minute."""


def shop(now: int) -> list[PondDefinition]:
    """Thirty-odd Ponds: twelve Inlets, what is made of them, and what people read in the end."""
    return [*_inlets(now), *_middle(), *_outlets()]


def _inlets(now: int) -> list[PondDefinition]:
    # Whatever the hour of the test is: the last window began 23 hours ago.
    began = datetime.fromtimestamp((now - 23 * HOUR) / 1_000_000, UTC)
    nightly = (WindowDefinition(start=began.strftime("%H:%M")),)
    return [
        _pond("orders", description="Orders as the shop delivers them.", tags=("raw",)),
        _pond("customers", description="Who bought something.", tags=("raw", "personal"), windows=nightly),
        _pond("products", description="What is sold, as the catalogue has it.", windows=nightly, tags=("raw",)),
        _pond("stores", description="Where it is sold.", windows=nightly, tags=("raw",)),
        _pond("clicks", description="What visitors of the shop looked at.", tags=("raw",)),
        _pond("payments", description="What the bank says.", tags=("raw", "finance"), owner="finance-data"),
        _pond("shipments", description="What the carriers say.", tags=("raw",)),
        _pond("returns", description="What came back.", tags=("raw",)),
        _pond("fx_rates", description="Rates of the central bank.", tags=("raw", "finance"), owner="finance-data"),
        _pond("weather", description="Yesterday's weather at each store.", tags=("raw",), windows=nightly),
        _pond("suppliers", description="Who delivers to us.", tags=("raw",), windows=nightly),
        _pond("inventory", description="What lies in the warehouses.", tags=("raw",)),
    ]


def _middle() -> list[PondDefinition]:
    return [
        _pond(
            "sales", "orders", "products", "fx_rates?",
            ripples={"parsed": [], "deduplicated": ["parsed"], "sales": ["deduplicated"]},
            version="2.1.0", description="Orders without doubles, with a price in euros.", tags=("core",),
        ),
        _pond("sales", "orders", version="1.4.0", description="As it was before prices were in euros.", tags=("core",)),
        _pond("customer_profile", "customers", "orders", description="One row for each customer."),
        _pond("sessions", "clicks", description="Clicks of one visit.", triggers=Triggers(wave=True)),
        _pond("stock_levels", "inventory", "products"),
        _pond("refunds", "returns", "sales@2"),
        _pond("delivery_times", "shipments", "orders"),
        _pond("payments_matched", "payments", "orders", owner="finance-data", tags=("finance",)),
        _pond("store_traffic", "stores", "weather?"),
        _pond("supplier_scorecard", "suppliers", "shipments"),
        _pond("prices", "products", "fx_rates"),
    ]  # fmt: skip


def _outlets() -> list[PondDefinition]:
    hourly = Triggers(tides=(TideDefinition(limit_us=HOUR),))
    morning = Triggers(schedules=(ScheduleDefinition(cron="0 6 * * *", tz="Europe/Berlin"),))
    return [
        _pond(
            "reports", "sales@2", "store_traffic?",
            ripples={"enriched": [], "by_country": ["enriched"], "by_day": ["enriched"]},
            description="What the morning meeting looks at.", tags=("core",),
            triggers=Triggers(tides=(TideDefinition(limit_us=2 * HOUR),)),
        ),
        _pond("revenue", "sales@2", "refunds", triggers=hourly, description="Money in, money out.", tags=("finance",)),
        _pond("churn", "customer_profile", "sessions", triggers=morning, description="Who is about to leave."),
        _pond("forecast", "sales@2", labels=("gpu",), description="Next month's orders.", tags=("core",)),
        _pond("stock_alerts", "stock_levels", "sales@2", triggers=hourly, retries=Retries(immediately=1)),
        _pond("attribution", "sessions", "sales@2", description="Which advertisement sold what."),
        _pond("finance_export", "payments_matched", owner="finance-data", tags=("finance",)),
        _pond("margin", "prices", "sales@2", tags=("finance",)),
        _pond("late_deliveries", "delivery_times", triggers=morning),
        _pond("legacy_report", "sales@1", description="Nobody knows who reads it."),
        _pond("catalogue_check", "products", description="Waits for the next catalogue."),
        _pond("tax_export", "payments_matched", "fx_rates", owner="finance-data", tags=("finance",)),
    ]  # fmt: skip


CHECKED = ("sales", "reports", "revenue", "payments_matched")
RULES = (
    ExpectationDefinition(name="not_null(order_id)", kind="not_null", column="order_id"),
    ExpectationDefinition(name="rows", kind="rows", minimum=1),
    ExpectationDefinition(name="between(amount)", kind="between", column="amount", minimum=0, severity="warn"),
)


def _code(name: str, reads: list[str]) -> str:
    """What an author might have written."""
    given = ", ".join(f"{each}: DataFrame" for each in reads) or "spark: SparkSession"
    first = reads[0] if reads else 'spark.read.json("landing")'
    joined = "".join(f'.join({each}, "order_id", "left")' for each in reads[1:])
    return (
        f"def {name}({given}) -> DataFrame:\n"
        f'    """One row for each order and day."""\n'
        f"    found = {first}{joined}\n"
        f'    return found.select("order_id", "amount", F.to_date("at").alias("day"))\n'
    )


def _pond(name: str, *sources: str, **given: object) -> PondDefinition:
    """A Pond of the tests' harness with words for people; a Source may be `name@major`, and optional with a `?`."""
    split = {each.rstrip("?").partition("@")[0]: each for each in sources}
    plain = {key: given.pop(key) for key in ("ripples", "version", "triggers", "retries", "labels") if key in given}
    made = pond(name, sources={each: not text.endswith("?") for each, text in split.items()}, **plain)  # type: ignore[arg-type]
    majors = {each: int(text.rstrip("?").partition("@")[2] or 1) for each, text in split.items()}
    bound = tuple(
        msgspec.structs.replace(each, major=majors[each.pond], minimum=(majors[each.pond], 0, 0))
        for each in made.sources
    )
    last = made.ripples[-1].name
    return msgspec.structs.replace(
        made,
        sources=bound,
        place=f"ponds/{name}.py:12",
        owner=given.pop("owner", "shop-data"),
        **given,
        ripples=tuple(
            msgspec.structs.replace(
                each,
                source=_code(each.name, [read.parameter for read in each.reads]),
                expectations=RULES if each.name == last and name in CHECKED else (),
            )
            for each in made.ripples
        ),
    )


def many(count: int = 200) -> list[PondDefinition]:
    """So many Ponds in rows of ten: each row is a catchment that branches and joins again."""
    found = []
    for number in range(count):
        row, place = divmod(number, 10)
        above = [
            f"p{row * 10 + each:03}" for each in ((), (0,), (0,), (1, 2), (3,), (3,), (4, 5), (6,), (6,), (7, 8))[place]
        ]
        found.append(
            _pond(f"p{number:03}", *above, ripples={f"first_{number}": [], f"p{number:03}": [f"first_{number}"]})
        )
    return found

"""Decide which phases a set-up needs; nothing here touches the machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from scripts.setup.machine import GIGABYTE
from scripts.setup.stamp import Stamp


class Kind(Enum):
    """What a phase does."""

    CHECK = "check"
    ENVIRONMENT = "environment"
    LOCKED_SET = "locked set"
    PROJECT = "project"
    PAGE = "page"
    WARM_UP = "warm-up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One numbered line of the set-up."""

    kind: Kind
    title: str
    detail: str
    set_name: str = ""
    needed_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the set-up must reach."""

    location: str
    python: str
    extras: tuple[str, ...]
    locks: dict[str, str]
    """Digest of each lock file."""
    spark_version: str
    project: str
    java: list[list[str]]
    page: str = ""
    """Digest of everything that the web page is built from."""

    @property
    def has_page(self) -> bool:
        """Answer whether the web page is asked for."""
        return "page" in self.extras

    @property
    def is_for_building(self) -> bool:
        """Answer whether only packages are to be built: that takes neither Spark nor Java, nor the checkout itself."""
        return bool(self.extras) and set(self.extras) <= {"build", "page"}


SETS = {
    "build": ("Build tools", "setuptools, wheel and hatchling", 0.05),
    "base": ("Spark", "downloading and building pyspark {spark} (about 450 MB; once) and what it needs", 3.0),
    "java": ("Java", "a Java 21 of its own (about 50 MB), because none that Spark can use was found", 0.3),
    "demo": ("Demo", "DuckDB, the outside reader of the demo", 0.2),
    "sql": ("Reading", "DuckDB, which answers questions without a worker", 0.2),
    "postgres": ("PostgreSQL", "the driver for a ledger on PostgreSQL", 0.1),
    "connect": ("Connect", "the client of Spark Connect", 0.1),
    "delta": ("Delta", "the library that commits Delta tables", 0.3),
    "iceberg": ("Iceberg", "the library that commits Iceberg tables", 0.2),
    "kafka": ("Kafka", "the client of Kafka", 0.1),
    "lineage": ("Lineage", "the client of OpenLineage", 0.1),
    "amqp": ("AMQP", "the client of RabbitMQ", 0.1),
    "server": ("Server", "the HTTP server", 0.1),
    "telemetry": ("Telemetry", "the SDK of OpenTelemetry and its exporter", 0.1),
    "page": ("Node", "a Node of its own (about 60 MB), because none was found that can build the web page", 0.4),
    "dev": ("Test tools", "pytest, mypy, ruff, a PostgreSQL, playwright and all clients for the tests", 1.1),
}
"""Title, detail and disk in gigabytes (at its peak) of every set, in the order of installation."""


def is_ready(wanted: Wanted, stamp: Stamp | None) -> bool:
    """Tell whether the last set-up reached all of it, so that there is nothing to do."""
    return stamp is not None and _environment_fits(wanted, stamp) and not (
        stamp.unfinished
        or not (wanted.is_for_building or (stamp.java == wanted.java and stamp.project == wanted.project))
        or not _page_fits(wanted, stamp)
        or _missing_sets(wanted, stamp, java_is_found=stamp.java_is_found, node_is_found=True)
    )  # fmt: skip


def plan(wanted: Wanted, stamp: Stamp | None, *, java_is_found: bool, node_is_found: bool) -> list[Phase]:
    """Answer the phases that lead from what is there to what is wanted."""
    phases = [Phase(kind=Kind.CHECK, title="This machine", detail="Python, disk, Java")]
    if stamp is None or not _environment_fits(wanted, stamp):
        stamp = Stamp()
        phases.append(Phase(kind=Kind.ENVIRONMENT, title="Environment", detail=f"Python {wanted.python} in .venv"))
    for name in _missing_sets(wanted, stamp, java_is_found=java_is_found, node_is_found=node_is_found):
        title, detail, gigabytes = SETS[name]
        phases.append(
            Phase(
                kind=Kind.LOCKED_SET,
                title=title,
                detail=detail.format(spark=wanted.spark_version),
                set_name=name,
                needed_bytes=int(gigabytes * GIGABYTE),
            )
        )
    if not wanted.is_for_building and stamp.project != wanted.project:
        phases.append(Phase(kind=Kind.PROJECT, title="Pondage", detail="the checkout itself, editable"))
    if not _page_fits(wanted, stamp):
        phases.append(Phase(kind=Kind.PAGE, title="Page", detail="building the web page with npm (about 60 MB; once)"))
    if not wanted.is_for_building and stamp.warmed != warm_key(wanted, java_is_found=java_is_found):
        phases.append(Phase(kind=Kind.WARM_UP, title="Warm-up", detail="a class archive, so that Spark starts faster"))
    return phases


def warm_key(wanted: Wanted, *, java_is_found: bool) -> str:
    """Answer what a warm-up is good for: one Spark on one Java."""
    java = wanted.java if java_is_found else wanted.locks["java"]
    return f"{wanted.locks['base']} {java}"


def _environment_fits(wanted: Wanted, stamp: Stamp) -> bool:
    return (stamp.location, stamp.python) == (wanted.location, wanted.python)


def _page_fits(wanted: Wanted, stamp: Stamp) -> bool:
    return not wanted.has_page or stamp.page == wanted.page


def _missing_sets(wanted: Wanted, stamp: Stamp, *, java_is_found: bool, node_is_found: bool) -> list[str]:
    needed = {"build", *wanted.extras} | (set() if wanted.is_for_building else {"base"})
    if not java_is_found and not wanted.is_for_building:
        needed.add("java")
    if node_is_found or _page_fits(wanted, stamp):
        needed.discard("page")
    return [name for name in SETS if name in needed and stamp.sets.get(name) != wanted.locks[name]]

"""Schemas: new ones carry the release before them, too new ones are refused, and no ledger is left behind."""

from __future__ import annotations

import pytest

from pondage.errors import LedgerError
from pondage.kernel.demand.events import Pulse
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.migrate import Migration, migrate, migrations, schema
from tests.ledger.harness import MakeDriver, World, pond

ADDITIVE = """
ALTER TABLE runs ADD COLUMN weather TEXT;
ALTER TABLE executions ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
CREATE TABLE omens (id INTEGER PRIMARY KEY, run INTEGER);
CREATE INDEX omens_of_run ON omens (run);
"""
CONTRACTING = "-- oldest: 3\nDROP TABLE omens;\n"


def with_more(dialect: str, *statements: str) -> list[Migration]:
    """What a later release would ship."""
    shipped = migrations(dialect)
    first = shipped[-1].version + 1
    return shipped + [
        Migration(version=first + place, name=f"{first + place:04}_later.sql", statements=text)
        for place, text in enumerate(statements)
    ]


def test_the_release_before_runs_on_an_expanded_schema(make_driver: MakeDriver) -> None:
    world = World(make_driver)
    driver = world.ledger.driver
    migrate(driver, with_more(driver.dialect, ADDITIVE))
    older = World(make_driver)
    older.deploy(pond("orders"), pond("sales", sources={"orders": True}))
    older.send(Pulse(pond="sales@1"))
    assert older.worker().drain() == ["orders", "sales"]
    assert schema(driver).version == migrations(driver.dialect)[-1].version + 1


def test_an_older_program_refuses_a_schema_that_does_not_carry_it(make_driver: MakeDriver) -> None:
    driver = make_driver(FakeClock())
    known = migrations(driver.dialect)[-1].version
    migrate(driver, with_more(driver.dialect, ADDITIVE, CONTRACTING))
    with pytest.raises(LedgerError, match=f"has schema {known + 2}, and this Pondage knows only {known}") as refused:
        migrate(make_driver(FakeClock()))
    assert refused.value.code == "LEDGER_NEWER"
    assert "pip install --upgrade pondage" in (refused.value.hint or "")
    migrate(make_driver(FakeClock()), with_more(driver.dialect, ADDITIVE, CONTRACTING))


def test_a_migration_that_fails_changes_nothing(make_driver: MakeDriver) -> None:
    driver = make_driver(FakeClock())
    migrate(driver)
    before = schema(driver)
    with pytest.raises(LedgerError, match=r"0002_later\.sql failed") as failed:
        migrate(driver, with_more(driver.dialect, "CREATE TABLE omens (id INTEGER);\nDROP TABLE nowhere;\n"))
    assert failed.value.code == "MIGRATION_FAILED"
    assert schema(driver) == before
    migrate(driver, with_more(driver.dialect, ADDITIVE))


def test_a_ledger_says_which_migrations_made_it(make_driver: MakeDriver) -> None:
    driver = make_driver(FakeClock())
    assert schema(driver).version == 0
    migrate(driver)
    assert schema(driver).checksums == {each.version: each.checksum for each in migrations(driver.dialect)}
    migrate(driver)

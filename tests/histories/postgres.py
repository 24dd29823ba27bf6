"""Histories on PostgreSQL: the same story, the other SQL, a connection for each simulated process."""

from __future__ import annotations

from typing import Any

import psycopg

from pondage.ledger.database.driver import Driver
from pondage.ledger.database.migrate import migrate
from pondage.ledger.database.postgres import Connection, PostgresDriver
from tests.histories.scheduler import SimulatedClock
from tests.services.postgres import emptied

WATCHES = """
CREATE TABLE broken (what TEXT NOT NULL);
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'ponds' THEN
        IF coalesce((NEW.state::json->>'end_f')::bigint, -1) < (OLD.state::json->>'end_f')::bigint THEN
            INSERT INTO broken VALUES ('the freshness of ' || NEW.name || ' fell');
        END IF;
    ELSIF TG_TABLE_NAME = 'executions' THEN
        IF OLD.completed_at IS NOT NULL AND (NEW.completed_at IS DISTINCT FROM OLD.completed_at
           OR NEW.outcome IS DISTINCT FROM OLD.outcome OR NEW.token IS DISTINCT FROM OLD.token) THEN
            INSERT INTO broken VALUES ('execution ' || NEW.id || ' was ' || OLD.outcome || ' and changed afterwards');
        END IF;
        IF NEW.process IS DISTINCT FROM OLD.process
           AND EXISTS (SELECT 1 FROM processes p WHERE p.id = NEW.process AND p.dead_at IS NOT NULL) THEN
            INSERT INTO broken VALUES ('a dead process claimed execution ' || NEW.id);
        END IF;
    ELSIF TG_TABLE_NAME = 'dispatches' THEN
        IF OLD.outcome IS NOT NULL AND NEW.outcome IS DISTINCT FROM OLD.outcome THEN
            INSERT INTO broken VALUES ('dispatch ' || NEW.id || ' was ' || OLD.outcome || ' and changed afterwards');
        END IF;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER watch_ponds AFTER UPDATE OF state ON ponds FOR EACH ROW EXECUTE FUNCTION watch();
CREATE TRIGGER watch_executions AFTER UPDATE ON executions FOR EACH ROW EXECUTE FUNCTION watch();
CREATE TRIGGER watch_dispatches AFTER UPDATE ON dispatches FOR EACH ROW EXECUTE FUNCTION watch();
"""


class _NobodyTold:
    """A notifier for a world in which everybody only polls."""

    def tell(self) -> None:
        pass

    def close(self) -> None:
        pass


class _ProcessDriver(PostgresDriver):
    """The driver of one simulated process: its threads take turns, so they share the connection."""

    def __init__(self, url: str, schema: str, clock: SimulatedClock) -> None:
        super().__init__(url, schema=schema, clock=clock)
        self._notifier: Any = _NobodyTold()
        self._shared: Connection | None = None

    def _connection(self) -> Connection:
        if self._shared is None or self._shared.closed:
            self._shared = self.connect()
            self._shared.execute("SET synchronous_commit = off")
            self._local.announced = None
        return self._shared

    def close(self) -> None:
        if self._shared is not None:
            self._shared.close()


class PostgresSchema:
    """A schema that is emptied for every history: making a new one takes longer than the history itself."""

    def __init__(self, url: str, schema: str = "simulated") -> None:
        self._url = url
        self._schema = schema
        self._made: list[_ProcessDriver] = []
        if emptied(url, schema):
            return
        driver = PostgresDriver(url, schema=schema, clock=SimulatedClock())
        migrate(driver)
        driver.close()
        with psycopg.connect(url, autocommit=True, options=f"-c search_path={schema}") as connection:
            connection.execute(WATCHES)

    def connect(self, clock: SimulatedClock) -> Driver:
        driver = _ProcessDriver(self._url, self._schema, clock)
        self._made.append(driver)
        return driver

    def close(self) -> None:
        for driver in self._made:
            driver.close()

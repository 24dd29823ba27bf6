"""Numbered migrations, forward only. An older program refuses a newer schema unless that was made to carry it.

A migration first expands: the release before it must go on working on the new schema, so that machines can be upgraded
one after the other. What no older release needs any more goes in a later one, which says so in its first line:
`-- oldest: 3` means that programs that know schema 3 or later may use the ledger after it.
"""

from __future__ import annotations

import hashlib
import re
from importlib import resources

import msgspec

from pondage.errors import LedgerError
from pondage.ledger.database.driver import Driver, Row, Transaction, number, text

_VERSIONS = """
CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER PRIMARY KEY,
    checksum TEXT NOT NULL,
    oldest INTEGER NOT NULL
);
"""

_OLDEST = re.compile(r"-- oldest: (\d+)\n")


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """One numbered file of statements."""

    version: int
    name: str
    statements: str

    @property
    def checksum(self) -> str:
        """Answer what identifies the text of this migration."""
        return hashlib.sha256(self.statements.encode()).hexdigest()

    @property
    def oldest(self) -> int:
        """Answer the oldest schema whose programs may use the ledger after this one; by default, the one before."""
        said = _OLDEST.match(self.statements)
        return int(said[1]) if said else max(1, self.version - 1)


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """What a ledger says about itself. 0 for one without tables; `checksums` by version."""

    version: int
    oldest: int
    checksums: dict[int, str] = {}


def migrations(dialect: str) -> list[Migration]:
    """Answer every migration that this program ships, in order."""
    folder = resources.files("pondage.ledger.database") / "migrations" / dialect
    files = sorted((each.name, each.read_text()) for each in folder.iterdir() if each.name.endswith(".sql"))
    return [Migration(version=int(name[:4]), name=name, statements=body) for name, body in files]


def migrate(driver: Driver, shipped: list[Migration] | None = None) -> None:
    """Bring the schema up to date; `shipped` is what this program has, unless a test says otherwise.

    Safe when several processes start at once: each migration and its version row are one transaction, and the loser of
    a race finds the version taken and looks again. Raises `LedgerError` when the ledger is too new for this program.
    """
    shipped = migrations(driver.dialect) if shipped is None else shipped
    newest = shipped[-1].version
    found = schema(driver)
    if found.version == 0:
        driver.script(_VERSIONS)
    while found.version < newest:
        _apply(driver, shipped[found.version])
        found = schema(driver)
    if found.oldest > newest:
        raise LedgerError(
            f"this ledger has schema {found.version}, and this Pondage knows only {newest}",
            hint="install the newer Pondage that made it: pip install --upgrade pondage",
            code="LEDGER_NEWER",
        )


def _apply(driver: Driver, migration: Migration) -> None:
    row = (
        "INSERT INTO schema_version (version, checksum, oldest) "
        f"VALUES ({migration.version}, '{migration.checksum}', {migration.oldest});\n"
    )
    try:
        driver.script(row + migration.statements)
    except Exception as error:
        if schema(driver).version < migration.version:
            raise LedgerError(f"migration {migration.name} failed: {error}", code="MIGRATION_FAILED") from error


def schema(driver: Driver) -> Schema:
    """Answer which schema a ledger has."""
    with driver.reading() as tx:
        rows = _versions(tx, driver.dialect)
    return Schema(
        version=max((number(row, "version") for row in rows), default=0),
        oldest=max((number(row, "oldest") for row in rows), default=0),
        checksums={number(row, "version"): text(row, "checksum") for row in rows},
    )


def _versions(tx: Transaction, dialect: str) -> list[Row]:
    if tx.row(_HAS_VERSIONS[dialect]) is None:
        return []
    return tx.rows("SELECT version, checksum, oldest FROM schema_version ORDER BY version")


_HAS_VERSIONS = {
    "sqlite": "SELECT 1 AS yes FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'",
    "postgres": "SELECT 1 AS yes FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_version'",
}

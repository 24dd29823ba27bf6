"""Numbered migrations, forward only. An older program refuses a newer schema that it does not know."""

from __future__ import annotations

import hashlib
from importlib import resources

import msgspec

from pondage.errors import LedgerError
from pondage.ledger.driver import Driver, number

_VERSIONS = """
CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER PRIMARY KEY,
    checksum TEXT NOT NULL
);
"""


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """One numbered file of statements."""

    version: int
    name: str
    statements: str

    @property
    def checksum(self) -> str:
        """Answer what identifies the text of this migration."""
        return hashlib.sha256(self.statements.encode()).hexdigest()


def migrations(dialect: str) -> list[Migration]:
    """Answer every migration that this program ships, in order."""
    folder = resources.files("pondage.ledger") / "migrations" / dialect
    files = sorted((each.name, each.read_text()) for each in folder.iterdir() if each.name.endswith(".sql"))
    return [Migration(version=int(name[:4]), name=name, statements=body) for name, body in files]


def migrate(driver: Driver) -> None:
    """Bring the schema up to date.

    Safe when several processes start at once: each migration and its version row are one transaction, and the loser of
    a race finds the version taken and looks again. Raises `LedgerError` when the ledger is newer than this program.
    """
    shipped = migrations(driver.dialect)
    newest = shipped[-1].version
    if (found := _version(driver)) == newest:
        return
    if found == 0:
        driver.script(_VERSIONS)
    while (found := _version(driver)) < newest:
        migration = shipped[found]
        row = f"INSERT INTO schema_version (version, checksum) VALUES ({migration.version}, '{migration.checksum}');\n"
        try:
            driver.script(row + migration.statements)
        except Exception as error:
            if _version(driver) < migration.version:
                raise LedgerError(f"migration {migration.name} failed: {error}", code="MIGRATION_FAILED") from error
    if found > newest:
        raise LedgerError(
            f"this ledger has schema {found}, and this Pondage knows only {newest}",
            hint="install the newer Pondage that made it: pip install --upgrade pondage",
            code="LEDGER_NEWER",
        )


def _version(driver: Driver) -> int:
    with driver.reading() as tx:
        exists = tx.row(_HAS_VERSIONS[driver.dialect])
        if exists is None:
            return 0
        row = tx.row("SELECT coalesce(max(version), 0) AS version FROM schema_version")
        return 0 if row is None else number(row, "version")


_HAS_VERSIONS = {
    "sqlite": "SELECT 1 AS yes FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'",
    "postgres": "SELECT 1 AS yes FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_version'",
}

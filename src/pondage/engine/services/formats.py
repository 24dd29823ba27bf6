"""Showing a Pond's tables in the formats that it declares: Delta and Iceberg, beside the stable names."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pondage.connect.tables import FormattedTable, publish_table
from pondage.define.pond.definition import FormatDefinition
from pondage.engine.process.local import local_warehouse
from pondage.engine.process.places import table_directory
from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import publications, retention
from pondage.ledger.upkeep.publications import Shown, Version
from pondage.ledger.upkeep.retention import Published


class FormatPublisher:
    """Brings Delta and Iceberg tables up to date. `address` is the ledger's: it may hold the Iceberg catalogue."""

    def __init__(self, ledger: Ledger, warehouse: str, address: str) -> None:
        self._ledger = ledger
        self._warehouse = warehouse
        self._address = address

    def publish(self, pond: int) -> int:
        """Make the versions that a Pond's tables lack and answer how many; raises the first error, after trying all."""
        with self._ledger.reading() as tx:
            published = retention.published(tx, pond)
            formats = () if published is None else publications.formats(tx, published)
        if published is None or not formats:
            return 0
        root = local_warehouse(self._warehouse)
        if root is None:
            raise PondageError(
                f"the warehouse {self._warehouse} is not on this machine: its tables cannot be shown as "
                + formats[0].kind,
                hint="use a warehouse that is mounted here, or take publish= away",
                code="WAREHOUSE",
            )
        made, problems = 0, []
        for each in formats:
            try:
                made += self._publish(root, pond, published, each)
            except Exception as error:  # noqa: BLE001 - raised again below
                problems.append(error)
        if problems:
            raise problems[0]
        return made

    def _publish(self, root: Path, pond: int, published: Published, declared: FormatDefinition) -> int:
        places = {
            each.ripple: table_directory(
                root,
                environment=published.environment,
                pond=published.pond,
                major=published.major,
                ripple=each.ripple,
            )
            for each in published.tables
            if not declared.ripples or each.ripple in declared.ripples
        }
        if declared.kind == "delta":
            from pondage.connect.delta import DeltaTable

            return sum(self._renew(pond, ripple, DeltaTable(place / "delta")) for ripple, place in places.items())
        from pondage.connect.iceberg import IcebergTable, catalogue_of, open_catalogue

        (root / "tables").mkdir(parents=True, exist_ok=True)
        above = (published.environment, published.pond, f"v{published.major}")
        with closing(open_catalogue(catalogue_of(self._address, root / "tables"))) as catalogue:
            return sum(
                self._renew(pond, ripple, IcebergTable(catalogue, (*above, ripple), place / "iceberg"))
                for ripple, place in places.items()
            )

    def _renew(self, pond: int, ripple: str, table: FormattedTable) -> int:
        def missing(shown: Shown | None) -> list[Version]:
            # Asked again now that nobody else publishes this table: what was current a moment ago may not be any more.
            with self._ledger.reading() as tx:
                published = retention.published(tx, pond)
                return [] if published is None else publications.missing(tx, published, ripple, shown)

        return publish_table(table, missing, keep_s=self._ledger.durability.keeping.all_us / 1e6)

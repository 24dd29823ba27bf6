"""Who is told of ended Runs, as the project file asks."""

from __future__ import annotations

from collections.abc import Callable

from pondage.connect.openlineage import LineageSender
from pondage.connect.secrets import SecretStore
from pondage.engine.process.config import EngineConfig
from pondage.ledger.data.lineage import RunFacts
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors


def teller(ledger: Ledger, config: EngineConfig) -> Callable[[RunFacts], None] | None:
    """Answer what tells of a Run as the project file asks; None when it does not. Made at the first telling."""
    target = config.lineage.openlineage
    if target is None:
        return None
    made: list[LineageSender] = []

    def tell(facts: RunFacts) -> None:
        if not made:
            key = config.lineage.key
            if key is not None:
                with ledger.reading() as tx:
                    environment = actors.environment(tx, facts.environment)
                key = SecretStore(ledger, environment=environment or 0, key=config.secret_key)[key]
            made.append(LineageSender(target, namespace=config.lineage.namespace, key=key))
        made[0].tell(facts)

    return tell

"""The settings that Spark starts with: those of the project, and the credentials that the project file only names."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pondage.connect.secrets import SecretStore
from pondage.connect.store_settings import opened, references
from pondage.engine.process.config import EngineConfig
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.spark.jvm.settings import SparkSettings


def spark_settings(config: EngineConfig, ledger: Ledger, variables: Mapping[str, str] = os.environ) -> SparkSettings:
    """Answer the settings with the values of their secrets, which are those of the project's own environment."""
    if not references(config.spark):
        return config.spark
    with ledger.transaction() as tx:
        environment = actors.made_environment(tx, config.environment)
    store = SecretStore(ledger, environment=environment, key=config.secret_key, variables=variables)
    return opened(config.spark, store)

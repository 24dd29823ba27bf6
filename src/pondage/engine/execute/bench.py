"""What the executors of one worker share, and what each kind of work needs to be one of them."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import msgspec

from pondage.connect.secrets import SecretStore
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Result
from pondage.engine.execute.lineage import LineageKeeper
from pondage.engine.process.code import DeployedCode
from pondage.engine.process.config import EngineConfig
from pondage.engine.process.local import local_warehouse
from pondage.engine.process.places import lists_path, snapshot_path
from pondage.ledger.ledger import Ledger
from pondage.project.current import current_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration, the ledger, the deployed code and Spark, which the first `opened` session starts."""

    config: EngineConfig
    ledger: Ledger
    code: DeployedCode
    lineage: LineageKeeper
    opened: Callable[[Attempt], AbstractContextManager[SparkSession]]
    variables: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)
    """What secrets may name with `env:`."""

    def secrets(self, environment: int) -> SecretStore:
        """Answer the secrets of an environment."""
        return SecretStore(
            self.ledger,
            environment=environment,
            key=self.config.secret_key,
            variables=self.variables,
        )

    def secret_names(self, component: str) -> Mapping[str, str]:
        """Answer what a component calls its secrets, and where each is, as the project file says at this moment."""
        return current_secrets(self.config.root, self.config.secrets).get(component, {})

    def destination(self, attempt: Attempt, *, dataset: str, run: str) -> str:
        """Answer where an attempt writes a snapshot: a place that belongs to its execution alone."""
        return snapshot_path(self.config.warehouse, dataset=dataset, run=run, token=attempt.work.claim.token)

    def beside(self, *, dataset: str) -> str:
        """Answer where a Ripple keeps lists of what it has taken: they outlive the attempt that wrote them."""
        return lists_path(self.config.warehouse, dataset=dataset)


class KindExecutor(ABC):
    """Does the work of one kind. It keeps nothing between two attempts: several may run at once."""

    @abstractmethod
    def execute(self, attempt: Attempt, bench: Bench) -> Result:
        """Do the work in the calling thread; raises whatever the author's code raises."""

    # Not abstract on purpose: most kinds write nothing.
    def discard(self, attempt: Attempt, bench: Bench) -> None:  # noqa: B027
        """Remove what an attempt wrote that nobody will ever see."""


def remove_local(place: str) -> None:
    """Remove files of this machine; on another file system they are left to `vacuum`."""
    path = local_warehouse(place)
    if path is not None:
        shutil.rmtree(path, ignore_errors=True)

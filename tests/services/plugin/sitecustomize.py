"""Found by every interpreter whose PYTHONPATH has this directory: workers do their work without Spark.

Code, snapshots and everything else are real; a Ripple gets the rows of its inputs as lists and answers a list.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Replacing(MetaPathFinder, Loader):
    """Gives `pondage.engine.execute.spark_executor` another `SparkExecutor` when it is imported."""

    NAME = "pondage.engine.execute.spark_executor"

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.NAME:
            return None
        sys.meta_path.remove(self)
        spec = find_spec("plain_executor")
        assert spec is not None
        return ModuleSpec(name, self, origin=spec.origin)

    def exec_module(self, module: ModuleType) -> None:
        import plain_executor

        module.SparkExecutor = plain_executor.PlainExecutor  # type: ignore[attr-defined]


sys.meta_path.insert(0, _Replacing())

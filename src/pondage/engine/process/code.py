"""Deployed code: unpacked under its digest and imported from there, so that a worker needs no copy of the project."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TypeVar

from pondage.define.job.component import definition_of
from pondage.define.pond.pond import Pond
from pondage.define.reactor.reactor import Reactor
from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables.archives import stored_archive
from pondage.project.archive import unpack

Declared = TypeVar("Declared", Pond, Reactor, FunctionType)


class CodeError(PondageError):
    """The deployed code cannot be imported, or does not hold what was declared."""

    code = "CODE"


class DeployedCode:
    """The author's modules of one archive. They are imported when first needed, once for the process.

    A process may import several archives, one after the other: modules of the last one stand where Python looks for
    them, those of others live on in the functions that use them.
    """

    def __init__(self, ledger: Ledger, digest: str, directory: Path) -> None:
        self._ledger = ledger
        self._digest = digest
        self._directory = directory
        self._lock = threading.Lock()
        self._place: Path | None = None
        self._modules: dict[str, ModuleType] = {}

    def place(self) -> Path:
        """Answer where the code is, after making it importable before everything else."""
        with self._lock:
            if self._place is None:
                place = self._directory / self._digest
                if not place.is_dir():
                    unpack(self._archive(), place, digest=self._digest)
                self._place = place
            self._put_first(self._place)
            return self._place

    def _archive(self) -> bytes:
        with self._ledger.reading() as tx:
            return stored_archive(tx, self._digest)

    def _put_first(self, place: Path) -> None:
        """Import from here before everything else, and nothing from an archive that was imported from before."""
        if os.fspath(place) in sys.path:
            return
        others = [path for path in sys.path if Path(path).parent == self._directory]
        sys.path[:] = [os.fspath(place), *(path for path in sys.path if path not in others)]
        for name, module in list(sys.modules.items()):
            origin = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
            if origin is not None and any(Path(origin).is_relative_to(other) for other in others):
                del sys.modules[name]
        importlib.invalidate_caches()

    def shown(self, place: str | None) -> str | None:
        """Answer a place in the unpacked code as the author knows it: `ponds.py:7`, relative to the project."""
        if place is None or self._place is None:
            return place
        return place.removeprefix(f"{self._place}{os.sep}")

    def pond(self, entry: str) -> Pond:
        """Answer the author's Pond at `module:attribute`; raises `CodeError`, or what the module raises."""
        return self._found(entry, Pond)

    def reactor(self, entry: str) -> Reactor:
        """Answer the author's reactor at `module:attribute`; raises `CodeError`, or what the module raises."""
        return self._found(entry, Reactor)

    def component(self, entry: str) -> Callable[..., object]:
        """Answer the author's component at `module:function`; raises `CodeError`, or what the module raises."""
        found = self._found(entry, FunctionType)
        if definition_of(found) is None:
            raise CodeError(f"{entry} of the deployed code is no component", hint="declare it with @component")
        return found

    def _found(self, entry: str, kind: type[Declared]) -> Declared:
        module_name, _, attribute = entry.partition(":")
        module = self._modules.get(module_name) or self._imported(module_name)
        found = getattr(module, attribute, None)
        if not isinstance(found, kind):
            raise CodeError(
                f"{entry} of the deployed code is no {kind.__name__}", hint="deploy it again with `pondage deploy`"
            )
        return found

    def _imported(self, module_name: str) -> ModuleType:
        place = self.place()
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != module_name:
                raise
            raise CodeError(
                f"the deployed code has no module {module_name}", hint="deploy it again with `pondage deploy`"
            ) from error
        origin = getattr(module, "__file__", None)
        if origin is None or not Path(origin).is_relative_to(place):
            raise CodeError(
                f"module {module_name} was imported from {origin}, not from the deployed code",
                hint="give the module a name that no installed package has",
            )
        self._modules[module_name] = module
        return module

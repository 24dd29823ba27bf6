"""The `run` of a component: globals, after-variables, the context, a logger. Pure: Spark is added elsewhere."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from pondage.errors import PondageError


class NoSecrets(PondageError):
    """A component asked for a secret where there is no store of them."""

    code = "NO_SECRET"


class Globals(MutableMapping[str, object]):
    """The globals that a component sees. What it writes or deletes is committed together with its end (R-080)."""

    def __init__(self, seen: Mapping[str, object] | None = None) -> None:
        self._seen = dict(seen or {})
        self.writes: dict[str, object] = {}
        self.deletes: set[str] = set()

    def __getitem__(self, key: str) -> object:
        return self._seen[key]

    def __setitem__(self, key: str, value: object) -> None:
        stored = as_json(value, f"the global {key!r}")
        self._seen[key] = self.writes[key] = stored
        self.deletes.discard(key)

    def __delitem__(self, key: str) -> None:
        del self._seen[key]
        self.writes.pop(key, None)
        self.deletes.add(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)


class AfterVariables(dict[str, object]):
    """What a component says about itself when it has ended; conditions of its `if` edges read it by bare names."""

    def __setitem__(self, key: str, value: object) -> None:
        super().__setitem__(key, as_json(value, f"the after-variable {key!r}"))


class ComponentRun:
    """What a component may know and say. Made by a worker; in a unit test, make one yourself.

    `rows` gives the number of rows of a connected input by its port, where it was written and is therefore known.
    """

    def __init__(
        self,
        *,
        instance: str = "component",
        job: str = "job",
        run_id: str = "run",
        attempt: int = 1,
        globals: Mapping[str, object] | None = None,  # noqa: A002 - the rulebook's word
        context: Mapping[str, object] | None = None,
        rows: Mapping[str, int] | None = None,
        idempotency_key: str = "",
        root: Path | None = None,
        secrets: Callable[[str], str] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self.instance = instance
        self.job = job
        self.run_id = run_id
        self.attempt = attempt
        self.globals = Globals(globals)
        self.after = AfterVariables()
        self.context = MappingProxyType(dict(context or {}))
        self.rows = MappingProxyType(dict(rows or {}))
        self.idempotency_key = idempotency_key
        self.log = logging.getLogger(f"pondage.component.{job}.{instance}")
        self._root = root
        self._secrets = secrets
        self._stop = stop or threading.Event()
        self.state: dict[str, object] = {}
        """In stream mode: what it remembers from one segment to the next; JSON, at most 1 MiB."""
        self.segment: int | None = None
        """In stream mode: the number of the segment that it is called for, None at the end."""
        self.has_seen_stop = False
        """Did it learn that it should stop? Then what it gave may be less than all."""

    @property
    def stopping(self) -> bool:
        """Was it asked to stop? Then return soon with what there is: that is OK, and raising is ERROR `STOPPED`.

        When the whole run was killed nothing that it gives counts, and a resume executes it again.
        """
        self.has_seen_stop = self.has_seen_stop or self._stop.is_set()
        return self.has_seen_stop

    def wait_stop(self, seconds: float) -> bool:
        """Wait until it is asked to stop, or so long; answer whether it was."""
        self._stop.wait(seconds)
        return self.stopping

    def path(self, place: str) -> str:
        """Answer where a file is: a relative path begins at the project, an address with `://` stays as it is."""
        if "://" in place or place.startswith("/") or self._root is None:
            return place
        return str(self._root / place)

    def secret(self, name: str) -> str:
        """Answer a secret by its name; raises when there is none. Never log it."""
        if self._secrets is None:
            raise NoSecrets(f"{self.instance}: there is no store of secrets that could hold {name!r}")
        return self._secrets(name)


def as_json(value: object, what: str) -> object:
    """Answer a value as JSON gives it back; a set becomes `{"$set": […]}` (R-083). Raises for anything else."""
    try:
        return msgspec.json.decode(msgspec.json.encode(_plain(value)))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise PondageError(f"{what} is no JSON value: {error}", code="NOT_JSON") from None


def _plain(value: object) -> object:
    if isinstance(value, set | frozenset):
        return {"$set": sorted((_plain(one) for one in value), key=repr)}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value

"""Files of a directory by a pattern, in natural order; nothing of Spark is needed for it."""

from __future__ import annotations

import fnmatch
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.define.types.port import natural_order
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.define.job.component_run import ComponentRun


class NoLocation(PondageError):
    """A location is no directory that this worker can list."""

    code = "NO_LOCATION"


def files(run: ComponentRun, location: str, pattern: str, *, limit: int) -> list[dict[str, object]]:
    """Answer `{location, file, size, modified_at}` of each file; raises NoLocation, and FANOUT_LIMIT beyond `limit`."""
    place = run.path(location)
    if "://" in place:
        raise NoLocation(f"{location} is not on this machine's disk", hint="name a directory")
    directory = Path(place)
    if not directory.is_dir():
        raise NoLocation(f"there is no directory {location}", hint="make it, or correct `location`")
    if ".." in Path(pattern).parts or pattern.startswith("/"):
        raise NoLocation(f"{pattern!r} leads out of the location", hint="use a pattern like *.csv or 2026/*.csv")
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder) / name
            shown = path.relative_to(directory).as_posix()
            if name[0] not in "._" and _fits(shown, pattern):
                found[shown] = path
        if len(found) > limit:
            raise PondageError(f"more than {limit} files fit {pattern!r}", code="FANOUT_LIMIT")
    return [_element(location, name, found[name]) for name in natural_order(found)]


def _fits(shown: str, pattern: str) -> bool:
    """A star stays inside one folder."""
    parts, wanted = shown.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def _element(location: str, name: str, path: Path) -> dict[str, object]:
    about = path.stat()
    modified = datetime.fromtimestamp(about.st_mtime, UTC).isoformat(timespec="milliseconds")
    return {"location": location, "file": name, "size": about.st_size, "modified_at": modified}

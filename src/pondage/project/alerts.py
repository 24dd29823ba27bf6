"""`[alerts.NAME]` of the project file: who is told of what."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from pondage.define.project.alert import ALERT_KINDS, SILENT_US, AlertKind, AlertRule
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import is_name
from pondage.errors import DefinitionError, ProjectError
from pondage.project.keys import checked_table


class _AlertTable(msgspec.Struct, frozen=True, kw_only=True):
    url: str = ""
    secret: str = ""
    on: tuple[AlertKind, ...] = ()
    stale: str = ""
    silent: str = ""
    ponds: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    allow_private: bool = False


def read_alerts(given: object, environment: str, errors: list[ProjectError]) -> dict[str, AlertRule]:
    """Answer the rules by name; without `environments` a rule is about the project's own."""
    found: dict[str, AlertRule] = {}
    for name, table in given.items() if isinstance(given, dict) else [("", given)]:
        key = f"alerts.{name}"
        if not is_name(str(name)):
            errors.append(_refused(key, "is no name", 'write [alerts.oncall], below it url = "https://…"'))
            continue
        said = msgspec.convert(checked_table(_AlertTable, table, key, errors), _AlertTable)
        known = len(errors)
        _check(key, said, errors)
        stale, silent = (_length(f"{key}.{one}", getattr(said, one), errors) for one in ("stale", "silent"))
        if len(errors) == known:
            found[name] = AlertRule(
                name=name,
                url=said.url,
                secret=said.secret,
                on=said.on or tuple(kind for kind in ALERT_KINDS if kind != "stale" or stale is not None),
                stale_us=stale,
                silent_us=SILENT_US if silent is None else silent,
                ponds=said.ponds,
                environments=said.environments or (environment,),
                allow_private=said.allow_private,
            )
    return found


def _check(key: str, said: _AlertTable, errors: list[ProjectError]) -> None:
    split = urlsplit(said.url)
    if split.scheme not in ("https", "http") or not split.hostname or split.username or split.fragment:
        errors.append(
            _refused(f"{key}.url", f"is {said.url!r}", 'give an address: url = "https://hooks.example.com/x"')
        )
    if not said.secret:
        errors.append(_refused(f"{key}.secret", "is missing", 'say what signs the messages: secret = "env:ALERT_KEY"'))
    if "stale" in said.on and not said.stale:
        errors.append(_refused(f"{key}.stale", "is missing", 'say how stale is too stale: stale = "2h"'))


def _length(key: str, text: str, errors: list[ProjectError]) -> int | None:
    if not text:
        return None
    try:
        return parsed_duration(text, what=key)
    except DefinitionError as error:
        errors.append(_refused(key, f"is {text!r}", error.hint or "write 90s, 15m or 2h"))
        return None


def _refused(key: str, message: str, hint: str) -> ProjectError:
    return ProjectError(f"{key} {message}", hint=hint, place=f"pondage.toml: {key}", code="BAD_PROJECT_FILE")

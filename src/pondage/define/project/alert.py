"""Rules for alerts: what somebody wants to be told of, and where."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

AlertKind = Literal["failure", "stale", "expectation", "spliced", "silent", "differing"]
ALERT_KINDS: tuple[AlertKind, ...] = get_args(AlertKind)
SILENT_US = 30_000_000


class AlertRule(msgspec.Struct, frozen=True, kw_only=True):
    """`[alerts.NAME]` of the project file: a webhook, and what it is told of.

    `secret` names the key that messages are signed with, as any secret is named. Without `ponds` all are meant, and
    for `stale` the Outlets. An address inside the own network is refused unless `allow_private` says otherwise.
    """

    name: str
    url: str
    secret: str
    on: tuple[AlertKind, ...] = ALERT_KINDS
    stale_us: int | None = None
    silent_us: int = SILENT_US
    ponds: tuple[str, ...] = ()
    environments: tuple[str, ...] = ("main",)
    allow_private: bool = False

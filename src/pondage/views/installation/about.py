"""Who answers a question."""

from __future__ import annotations

import msgspec


class AboutView(msgspec.Struct, frozen=True, kw_only=True):
    """Its version, the environment that is meant, where data and logs are, and its time."""

    version: str
    environment: str
    warehouse: str
    at: int

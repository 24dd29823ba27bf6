"""Credentials of a store as settings of Spark: named in the project file, opened when Spark starts, shown by nobody.

`"spark.hadoop.fs.s3a.secret.key" = "secret:env:STORE_KEY"`: what comes after `secret:` is named like any other secret.
"""

from __future__ import annotations

import re
from typing import Protocol

import msgspec

from pondage.spark.jvm.settings import REDACTED, SparkSettings

SECRET = "secret:"


class Opens(Protocol):
    """What opens secrets by their references."""

    def __getitem__(self, reference: str, /) -> str:
        """Answer the value."""


def references(settings: SparkSettings) -> dict[str, str]:
    """Answer the settings whose values are secrets, each with the reference of its secret."""
    return {name: value.removeprefix(SECRET) for name, value in settings.conf.items() if value.startswith(SECRET)}


def variables_named(settings: SparkSettings, key: str) -> frozenset[str]:
    """Answer the variables without which these secrets cannot be opened; `key` is where the key of stored ones is."""
    named = set(references(settings).values())
    if any(":" not in each for each in named):
        named.add(key)
    return frozenset(each.removeprefix("env:") for each in named if each.startswith("env:"))


def opened(settings: SparkSettings, store: Opens) -> SparkSettings:
    """Answer the settings with the values of their secrets. Spark itself shows none of them, whatever their names."""
    named = references(settings)
    if not named:
        return settings
    values = {name: store[reference] for name, reference in named.items()}
    own = settings.conf.get("spark.redaction.regex", REDACTED)
    hidden = {"spark.redaction.regex": "|".join([own, *(f"^{re.escape(name)}$" for name in sorted(named))])}
    return msgspec.structs.replace(settings, conf=settings.conf | values | hidden)

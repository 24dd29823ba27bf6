"""Names of columns as Spark's parser takes them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Write the name of a column so that Spark takes every character of it for what it is."""
    return "`" + name.replace("`", "``") + "`"

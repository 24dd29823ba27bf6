"""The one exception of the set-up."""

from __future__ import annotations


class SetupFailed(Exception):
    """The set-up cannot go on. The message says what is wrong and what to type."""

"""Questions to Spark about types of outputs, and its answers. Values shared by the planner, the ledger and Spark."""

from __future__ import annotations

import msgspec


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a component gives for inputs of these types; equal keys mean the same component, types and parameters."""

    key: str
    component: str
    entry: str
    archive: str = ""
    """The digest of the deployed code that it runs with; empty: that of the job."""
    inputs: dict[str, tuple[str, ...]] = {}
    """By port the types that come in, with every name put in."""
    params: dict[str, object] = {}


class Inferred(msgspec.Struct, frozen=True, kw_only=True):
    """The types of its outputs; or what Spark has against its inputs; or why nobody can tell before the run."""

    key: str
    outputs: dict[str, str] = {}
    problem: str = ""
    port: str = ""
    """The input that the problem is about; empty when it may be any of them."""
    why: str = ""

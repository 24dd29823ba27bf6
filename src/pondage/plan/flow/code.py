"""The code that a tree runs with: of one deployment, of several, or of none when the library has all its programs."""

from __future__ import annotations

import msgspec

from pondage.define.job.component import Registry
from pondage.define.job.flow import Tree


def code_of(tree: Tree, registry: Registry) -> tuple[Registry, str]:
    """Answer the registry to plan a tree with, and the digest of the code that all of it runs with; empty for none.

    When every program is of the library or of one deployment, the flow as a whole is of that code, so that programs of
    both fuse. Else each program names its own.
    """
    named = {node.prog.partition("@")[0] for node in tree.nodes.values() if node.const is None}
    used = [registry[name] for name in named if name in registry and not registry[name].is_library]
    codes = {one.archive for one in used}
    if len(codes) != 1 or "" in codes:
        return registry, ""
    return {name: msgspec.structs.replace(one, archive="") for name, one in registry.items()}, codes.pop()

"""All kinds of work by their names: what a claim, a commit and a reaper ask about any of them."""

from __future__ import annotations

from pondage.ledger.kinds.compact import CompactKind
from pondage.ledger.kinds.component import ComponentKind
from pondage.ledger.kinds.fire import FireKind
from pondage.ledger.kinds.infer import InferKind
from pondage.ledger.kinds.kind import Kind
from pondage.ledger.kinds.query import QueryKind
from pondage.ledger.kinds.ripple import RippleKind
from pondage.ledger.kinds.sample import SampleKind
from pondage.ledger.kinds.stream import StreamKind

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        RippleKind(),
        ComponentKind(),
        FireKind(),
        StreamKind(),
        QueryKind(),
        SampleKind(),
        InferKind(),
        CompactKind(),
    )
}

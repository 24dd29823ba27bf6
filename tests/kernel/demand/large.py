"""Large graphs of four shapes, to count what one event costs."""

from collections.abc import Callable

from pondage.kernel.demand import MemoryPonds, PondKey, PondShape, PondState
from tests.kernel.demand.graphs import Graph, chain, pond_graph

SECOND = 1000


class CountingPonds(MemoryPonds):
    """Counts how often the machine asks for a Pond."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def state(self, key: PondKey) -> PondState | None:
        self.asked += 1
        return super().state(key)


def fan(count: int) -> Graph:
    """One Inlet, `count` Ponds that read it, one Pond that reads them all."""
    middle = {f"m{i}": ({"top": True}, SECOND) for i in range(count)}
    return pond_graph({"top": ({}, SECOND), **middle, "end": (dict.fromkeys(middle, True), SECOND)})


def layered(count: int) -> Graph:
    """Layers of ten Ponds, each reading two of the layer before, and one Pond that reads the last layer."""
    ponds: dict[str, tuple[dict[str, bool], int]] = {}
    layers = max(count // 10, 1)
    for layer in range(layers):
        for place in range(10):
            parents = (place, (place + 1) % 10) if layer else ()
            ponds[f"l{layer}_{place}"] = ({f"l{layer - 1}_{parent}": True for parent in parents}, SECOND)
    ponds["end"] = ({f"l{layers - 1}_{place}": True for place in range(10)}, SECOND)
    return pond_graph(ponds)


def ladder(count: int) -> Graph:
    """Diamonds one below the other: s > a, b > s' > a', b' > …, which has 2 ** (count / 3) paths."""
    ponds: dict[str, tuple[dict[str, bool], int]] = {"s0": ({}, SECOND)}
    for rung in range(max(count // 3, 1)):
        ponds[f"a{rung}"] = ({f"s{rung}": True}, SECOND)
        ponds[f"b{rung}"] = ({f"s{rung}": True}, SECOND)
        ponds[f"s{rung + 1}"] = ({f"a{rung}": True, f"b{rung}": True}, SECOND)
    return pond_graph(ponds)


SHAPES: dict[str, Callable[[int], Graph]] = {"chain": chain, "fan": fan, "layered": layered, "ladder": ladder}


def many_ripples(count: int) -> Graph:
    """One Pond of `count` Ripples: a root, children of it, and one Ripple that reads them all."""
    names = [f"r{i}" for i in range(count)]
    shape = PondShape.of("wide", {"root": (), **dict.fromkeys(names, ("root",)), "end": names})
    return Graph(shapes=[shape], durations={(shape.key, name): SECOND for name in shape.ripples})

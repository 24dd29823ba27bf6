"""What the virtual host knows of Runs, so that Ponds which read only what agrees wait as they do on a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pondage.kernel.agreement.choosing import Candidate, Offer, agreeing, behind, offered, stands_on
from pondage.kernel.agreement.diamonds import tracked
from pondage.kernel.demand.effects import Compare, Effect, RunFinished, StartRun
from pondage.kernel.demand.events import Compared
from pondage.kernel.demand.shape import PondKey, PondShape

KEPT_RUNS = 5
"""How many completed Runs of a Source may be read; what a ledger keeps by default."""


class VirtualRuns:
    """The completed Runs of each Pond, and what they stand on."""

    def __init__(self, shapes: Mapping[PondKey, PondShape]) -> None:
        """`shapes` are the definitions in force, as the host keeps them."""
        self._shapes = shapes
        self._tracks: dict[PondKey, list[PondKey]] = {}
        self._started: dict[tuple[PondKey, int], Candidate] = {}
        self._completed: dict[PondKey, list[Candidate]] = {}
        self.pins: dict[tuple[PondKey, int], dict[PondKey, int]] = {}
        """The Run of each Source that a Run reads."""
        self._latest: dict[PondKey, dict[PondKey, int]] = {}

    def deployed(self) -> None:
        """Look again which ancestors are reached by two ways."""
        sources = {key: [source for source, _ in shape.sources] for key, shape in self._shapes.items()}
        self._tracks = tracked(sources, list(sources))

    def note(self, effects: Iterable[Effect]) -> list[Compared]:
        """Note Runs that started and completed, and answer the questions among what was decided, in order."""
        answers: list[Compared] = []
        for effect in effects:
            match effect:
                case StartRun():
                    self._start(effect)
                case RunFinished():
                    self._completed.setdefault(effect.pond, []).insert(0, self._started[effect.pond, effect.number])
                case Compare():
                    answers.append(self._compare(effect))
                case _:
                    pass
        return answers

    def _start(self, effect: StartRun) -> None:
        offers = self._offers(effect.pond, effect.freshness) if effect.taken else []
        tracks = self._tracks.get(effect.pond, [])
        taken = agreeing(offers, tracks) or [offer.newest for offer in offers]
        pairs = zip(offers, taken, strict=True)
        pins = {offer.source: run.run for offer, run in pairs if run is not None}
        self.pins[effect.pond, effect.number] = pins
        if effect.taken and effect.chunk is None:  # what a chunk reads is no hint for others
            self._latest[effect.pond] = pins
        self._started[effect.pond, effect.number] = Candidate(
            run=effect.number,
            freshness=effect.freshness,
            outputs=str(effect.number),
            standing=stands_on(offers, taken, tracks),
        )

    def _compare(self, effect: Compare) -> Compared:
        offers = self._offers(effect.pond, effect.freshness)
        tracks = self._tracks.get(effect.pond, [])
        if agreeing(offers, tracks) is not None:
            return Compared(pond=effect.pond, freshness=effect.freshness)
        age: dict[tuple[str, str], int] = {
            (ancestor, run.outputs): run.run for ancestor in tracks for run in self._completed.get(ancestor, ())
        }
        return Compared(pond=effect.pond, freshness=effect.freshness, older=behind(offers, tracks, age))

    def _offers(self, pond: PondKey, freshness: int) -> list[Offer]:
        pinned = self._latest.get(pond, {})
        return [
            offered(
                source,
                self._completed.get(source, [])[:KEPT_RUNS],
                freshness=freshness,
                is_required=is_required,
                not_before=pinned.get(source, 0),
            )
            for source, is_required in self._shapes[pond].sources
        ]

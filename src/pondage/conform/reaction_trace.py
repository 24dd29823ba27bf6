"""What a reaction scenario looks at: fires, answers, health, recoveries, and what was said to Ponds."""

from pondage.kernel.reaction import Effect, ReactorShape
from pondage.kernel.reaction.effects import (
    DropDemand,
    Fired,
    Health,
    PondFailed,
    Publish,
    RecoveryNote,
    Reply,
    SourceHealth,
    StartFire,
    TargetPond,
    WantPond,
)


class ReactionTrace:
    """Everything that came out of a scenario, with its times."""

    def __init__(self) -> None:
        self.fires: list[list[object]] = []
        self.ids: list[tuple[int, int]] = []
        self.replies: list[tuple[int, str, object]] = []
        self.health: list[tuple[int, str, list[str]]] = []
        self.acc_health: list[tuple[int, str, str]] = []
        self.recovery: list[tuple[int, str | None, int, int | None]] = []
        self.ponds: list[list[object]] = []
        self.state: dict[str, object] = {}
        self._open: dict[tuple[int, int], list[object]] = {}

    def note(self, now: int, effect: Effect, shape: ReactorShape) -> None:
        """Keep what a scenario may ask about."""
        match effect:
            case StartFire():
                # Until somebody says how it ended, it is lost: cancelled, or dead with its process.
                entry = [now, effect.inputs, effect.reason, "lost"]
                if effect.unhealthy:
                    entry.append(effect.unhealthy)
                self.fires.append(entry)
                self.ids.append((effect.fire, effect.attempt))
                self._open[effect.fire, effect.attempt] = entry
            case Fired(fire, attempt, outcome):
                if (fire, attempt) in self._open:
                    self._open[fire, attempt][3] = outcome
            case Reply(cid, payload):
                self.replies.append((now, cid, payload))
            case Health(state, sources):
                self.health.append((now, state, sources))
            case SourceHealth(source, health):
                self.acc_health.append((now, source, health))
            case RecoveryNote(component, attempt, backoff):
                self.recovery.append((now, component, attempt, backoff))
            case _:
                self._note_pond(now, effect, shape)

    def _note_pond(self, now: int, effect: Effect, shape: ReactorShape) -> None:
        published = None if shape.publish is None else shape.publish.pond
        match effect:
            case Publish(f, d, fire):
                self.ponds.append([now, "publish", published, f, d, fire])
            case PondFailed(on):
                self.ponds.append([now, "pond_failed", published, on])
            case DropDemand():
                self.ponds.append([now, "dropped", published])
            case WantPond(source, f):
                self.ponds.append([now, "want", shape.sources[source].pond, f])
            case TargetPond(source, f):
                self.ponds.append([now, "target", shape.sources[source].pond, f])

"""Gates in plain sentences: why a Pond does not run now, one gate at a time, with the next command to type."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from pondage.views.pond_names import PondNames
from pondage.views.ponds.resting import RestingFields, resting_text
from pondage.views.words import age_text, count_text, crash_text, duration_text, list_text, wait_text

Fields = Mapping[str, object]
_NOTICED_US = 1_000_000
"""What is due for less than that is about to happen."""


class GateView(msgspec.Struct, frozen=True, kw_only=True):
    """One reason. `gate` and `fields` are for programs, `text` is for people, `hint` is what to type next."""

    gate: str
    text: str
    hint: str | None = None
    fields: dict[str, object] = {}


def gate_view(pond: str, gate: str, fields: Fields, *, now: int, called: PondNames) -> GateView:
    """Answer a gate with its sentence. A gate that this version does not know is shown by its name.

    `called` says how other Ponds are called in it.
    """
    write = _SENTENCES.get(gate)
    text, hint = (gate, None) if write is None else write(pond, _named(gate, fields, called), now)
    return GateView(gate=gate, text=text, hint=hint, fields=dict(fields))


def _named(gate: str, fields: Fields, called: PondNames) -> Fields:
    if gate == "source":
        return {**fields, "source": called(str(fields.get("source", "any")))}
    if gate == "not deployed":
        return {**fields, "is_another": "@" in called(str(fields.get("source")))}
    if gate != "blocked":
        return fields
    return {**fields, **{name: [called(str(each)) for each in _list(fields, name)] for name in ("by", "missing")}}


Sentence = tuple[str, str | None]


def _running(_pond: str, fields: Fields, _now: int) -> Sentence:
    names = [str(each[0]) for each in _list(fields, "ripples") if isinstance(each, list | tuple) and each]
    runs = len(_list(fields, "runs"))
    under_way = "1 Run has started" if runs == 1 else f"{runs} Runs have started"
    return f"{under_way} and {'is' if runs == 1 else 'are'} at {list_text(names) or 'the end'}.", None


def _backfill(_pond: str, fields: Fields, _now: int) -> Sentence:
    names, waiting = [str(each) for each in _list(fields, "ripples")], _number(fields, "waiting")
    chunks = count_text(waiting, "chunk")
    if names:
        after = f", and {chunks} {'waits' if waiting == 1 else 'wait'} behind it" if waiting else ""
        return f"A chunk of a backfill is at {list_text(names)}{after}; other Runs start when it is done.", None
    is_first = bool(fields.get("is_first"))
    until = "and goes before any other Run now" if is_first else "until no other Run is active or can start"
    return f"{chunks} of a backfill {'waits' if waiting == 1 else 'wait'} {until}.", None


def _killed(pond: str, _fields: Fields, _now: int) -> Sentence:
    return "It was killed: demand is ignored until somebody clears it.", f"pondage clear {pond}"


def _failed(pond: str, fields: Fields, now: int) -> Sentence:
    failures, left = _number(fields, "failures"), _number(fields, "retries_left")
    after = f" after {count_text(failures, 'failed Run')}" if failures > 1 else ""
    retry = (
        f"It is tried again when a Source moves on ({count_text(left, 'time')} left)."
        if left > 0
        else "It is not tried again by itself."
    )
    data = _number(fields, "at")
    label = f" for the data of {age_text(data, now)}" if data > 0 else ""
    error, place = fields.get("error"), fields.get("place")
    said = f" It said: {str(error).rstrip('.')}{f' (at {place})' if place else ''}." if error else ""
    stays = " The last good data stays published." if fields.get("has_data", True) else ""
    return f"It failed{label}{after}.{said} {retry}{stays}", f"pondage logs {pond}"


def _blocked(_pond: str, fields: Fields, _now: int) -> Sentence:
    ponds, missing = ([str(each) for each in _list(fields, name)] for name in ("by", "missing"))
    if not ponds:
        return "It is blocked by a Source.", None
    if len(missing) == len(ponds):
        return f"It is blocked: {list_text(ponds)} above it {'is' if len(ponds) == 1 else 'are'} not deployed.", None
    there = next(each for each in ponds if each not in missing)
    return f"It is blocked: {list_text(ponds)} above it failed, was killed or is missing.", f"pondage why {there}"


def _held(pond: str, fields: Fields, _now: int) -> Sentence:
    return f"{_asked(fields)} This is kept and runs as soon as the Pond is cleared.", f"pondage clear {pond}"


def _asked(fields: Fields) -> str:
    targets = _list(fields, "targets")
    parts = ["a pull"] if fields.get("pull") else []
    parts += [count_text(len(targets), "target")] if targets else []
    return f"Somebody asks for it ({list_text(parts)})." if parts else "Somebody asks for it."


def _no_demand(pond: str, _fields: Fields, _now: int) -> Sentence:
    return "Nobody asks for it now: no pull, no target, no Sink that wants more.", f"pondage pulse {pond}"


def _tide(_pond: str, fields: Fields, now: int) -> Sentence:
    due = _number(fields, "due")
    asks = "asks" if due > now else "asked"
    return f"Its Tide {asks} for new data {age_text(due, now)}.", None


def _source(_pond: str, fields: Fields, now: int) -> Sentence:
    source, has = str(fields.get("source", "any")), _number(fields, "has")
    needs = _number(fields, "needs")
    if source == "any":
        return "It waits for any of its optional Sources to publish.", None
    have = "has never published" if has < 0 else f"has data of {age_text(has, now)}"
    # A goal one step above what the Source has only means: something newer, whatever it is.
    wanted = "newer data is needed" if needs <= max(has, 0) + 1 else f"it must not be older than {age_text(needs, now)}"
    return f"It waits for {source}, which {have}; {wanted}.", f"pondage why {source}"


def _disagree(_pond: str, fields: Fields, _now: int) -> Sentence:
    older = [str(each).partition("@")[0] for each in _list(fields, "older")]
    stands, it = ("stands", "it was") if len(older) == 1 else ("stand", "they were")
    text = f"It reads only Sources that agree, and {list_text(older)} {stands} on an older Run of what the others read"
    return f"{text}, too; {it} asked to catch up.", f"pondage why {older[0]}" if older else None


def _window(_pond: str, fields: Fields, now: int) -> Sentence:
    opens = fields.get("opens")
    when = age_text(opens, now) if isinstance(opens, int) and opens >= 0 else "at an unknown time"
    return f"The data of this window was taken already; the next window opens {when}.", None


def _busy(_pond: str, fields: Fields, _now: int) -> Sentence:
    names = [str(each[0] if isinstance(each, list | tuple) else each) for each in _list(fields, "ripples")]
    return f"A new Run waits until its first Ripples are free: {list_text(names)} still runs.", None


def _deploying(_pond: str, _fields: Fields, _now: int) -> Sentence:
    return "A new definition takes over as soon as the active Runs are finished; none starts before.", None


def _resting(pond: str, fields: Fields, now: int) -> Sentence:
    text = resting_text(msgspec.convert(dict(fields), RestingFields), now)
    return text, None if fields.get("wakes") is not None else f"pondage pulse {pond}"


def _paused(pond: str, fields: Fields, _now: int) -> Sentence:
    by = {str(each[0]): str(each[1]) for each in _list(fields, "triggers") if isinstance(each, list | tuple)}
    names, paused = list_text(by), set(by.values())
    since = {"sleep": " since it was put to sleep", "kill": " since it was killed"}
    why = since.get(paused.pop(), "") if len(paused) == 1 else ""
    verb, those = ("is", "it asks") if len(by) == 1 else ("are", "they ask")
    return f"Paused {verb} {names}{why}: {those} for nothing until resumed.", f"pondage resume {pond}"


def _not_deployed(_pond: str, fields: Fields, _now: int) -> Sentence:
    # Of a major that left, while another one is there, the plan says how to move.
    return f"Its Source {fields.get('source')} is not deployed.", "pondage plan" if fields.get(
        "is_another"
    ) else "pondage deploy"


def _halted(pond: str, fields: Fields, _now: int) -> Sentence:
    return (
        f"Its catchment is halted after repeated errors inside Pondage: {fields.get('reason')}. Nothing is lost.",
        f"pondage clear {pond}",
    )


def _queue(_pond: str, fields: Fields, now: int) -> Sentence:
    ripple, ahead = str(fields.get("ripple")), _number(fields, "position") - 1
    available_at, crashes = _number(fields, "available_at"), _number(fields, "crashes")
    is_isolated = bool(fields.get("is_isolated"))
    if crashes or is_isolated:
        when = f" It may be taken {age_text(available_at, now)}." if available_at > now else ""
        how = " It needs a worker that holds nothing else." if is_isolated else ""
        tried = crash_text(crashes, _number(fields, "crash_budget"), is_isolated=is_isolated)
        return f"{ripple} is {tried}.{when}{how}", None
    if available_at > now:
        reason = str(fields.get("reason"))
        return f"{ripple} {wait_text(available_at, now, epoch=_number(fields, 'epoch'), reason=reason)}.", None
    if ahead <= 0 and fields.get("has_room"):
        return f"{ripple} waits in the queue, and is about to be claimed.", None
    place = "It is next" if ahead <= 0 else f"{count_text(ahead, 'piece')} of work ahead of it"
    return f"{ripple} waits in the queue for a free slot. {place}.", None


def _no_process(_pond: str, fields: Fields, _now: int) -> Sentence:
    silent = _number(fields, "silent")
    said = f" ({count_text(silent, 'process')} of it fell silent)" if silent else ""
    return f"No process of Pondage runs that could execute anything{said}.", "pondage dev"


def _no_worker(_pond: str, fields: Fields, _now: int) -> Sentence:
    labels = [str(each) for each in _list(fields, "labels")]
    what = f" with label {list_text(labels)}" if labels else ""
    code = str(fields.get("code", ""))[:12]
    if labels:
        return f"No worker{what} runs its code (archive {code}).", f"[worker] labels = {labels} in pondage.toml"
    return f"No worker runs the code of this Pond yet (archive {code}); a supervisor starts one.", None


def _pool(_pond: str, fields: Fields, _now: int) -> Sentence:
    return f"Pool {fields.get('name')!r} is full: all {_number(fields, 'size')} slots are taken.", None


def _schedule(_pond: str, fields: Fields, now: int) -> Sentence:
    cron, at = fields.get("cron"), _number(fields, "next")
    if now - at >= _NOTICED_US:
        return f"Its schedule {cron!r} was due {age_text(at, now)}; a process that runs sends the Pulse.", None
    return f"Its schedule {cron!r} sends a Pulse {age_text(at, now)}.", None


def _unchanged(_pond: str, fields: Fields, now: int) -> Sentence:
    since = duration_text(max(0, now - _number(fields, "since")) // 1_000_000 * 1_000_000)
    return f"Nothing changed for {since}: the last data was used again, and no Spark was needed.", None


def _behind(pond: str, fields: Fields, _now: int) -> Sentence:
    left = _number(fields, "left")
    what = "1 file" if left == 1 else f"{left:,} files"
    return f"It is {what} behind: one Run takes a part, and the next one begins at once.", f"pondage files {pond}"


def _spliced(pond: str, fields: Fields, _now: int) -> Sentence:
    run = _number(fields, "run")
    text = (
        f"Run #{run} is spliced: no Runs of its Sources with the same origin were kept, so it read the newest of each."
    )
    return text, f"pondage show {pond}#{run}"


def _spliced_above(_pond: str, fields: Fields, _now: int) -> Sentence:
    above = [str(each) for each in _list(fields, "from")]
    text = f"Run #{_number(fields, 'run')} stands on {list_text(above)}, which read Sources that do not agree."
    return text, f"pondage show {above[0]}" if above else None


def _rolled_back(pond: str, fields: Fields, _now: int) -> Sentence:
    text = f"It shows Run #{_number(fields, 'to')} again, because somebody rolled it back; its next Run replaces that."
    return text, f"pondage show {pond}#{_number(fields, 'to')}"


def _borrowed(pond: str, fields: Fields, _now: int) -> Sentence:
    above = fields.get("from")
    text = f"It shows what {above} has published; asking for it here never makes {above} run."
    return text, f"pondage why {pond} --env {above}"


def _promoted(_pond: str, fields: Fields, _now: int) -> Sentence:
    return f"It shows {fields.get('run')}, which was promoted; its next Run replaces that.", None


def _computed_whole(pond: str, fields: Fields, _now: int) -> Sentence:
    return f"Of {fields.get('table')} {fields.get('said')}.", f"pondage show {pond}"


_SENTENCES: dict[str, Callable[[str, Fields, int], Sentence]] = {
    "running": _running,
    "backfill": _backfill,
    "killed": _killed,
    "failed": _failed,
    "blocked": _blocked,
    "held demand": _held,
    "no demand": _no_demand,
    "tide": _tide,
    "source": _source,
    "disagree": _disagree,
    "window": _window,
    "ripple busy": _busy,
    "deploying": _deploying,
    "paused": _paused,
    "resting": _resting,
    "not deployed": _not_deployed,
    "halted": _halted,
    "queue": _queue,
    "no process": _no_process,
    "no worker": _no_worker,
    "pool": _pool,
    "schedule": _schedule,
    "unchanged": _unchanged,
    "behind": _behind,
    "computed whole": _computed_whole,
    "spliced": _spliced,
    "spliced above": _spliced_above,
    "rolled back": _rolled_back,
    "borrowed": _borrowed,
    "promoted": _promoted,
}


def _list(fields: Fields, name: str) -> list[object]:
    found = fields.get(name)
    return list(found) if isinstance(found, list | tuple) else []


def _number(fields: Fields, name: str) -> int:
    found = fields.get(name)
    return found if isinstance(found, int) else 0

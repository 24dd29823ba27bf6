"""What both ways of declaring a Pond take, checked and made plain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, cast, get_args

import msgspec

from pondage.define.pond.calendar import checked_windows
from pondage.define.pond.definition import (
    Coherence,
    FormatDefinition,
    Reading,
    Retries,
    ScheduleDefinition,
    TideDefinition,
    Triggers,
    WindowDefinition,
)
from pondage.define.pond.partition import Expected, Late, Nulls, PartitionDefinition, checked_partition
from pondage.define.pond.publication import Formats, checked_formats
from pondage.define.pond.trigger import Tide, Wave
from pondage.define.pond.verification import DEFAULT, Verification, parsed_verification
from pondage.define.pond.window import Schedule, Window
from pondage.define.values.duration import parsed_duration, parsed_seconds
from pondage.define.values.keep import parsed_keep
from pondage.define.values.names import checked_name, parsed_version
from pondage.errors import DefinitionError

Mode = Literal["replace", "append", "merge", "partition", "auto"]
Pacing = Literal["eager", "just_in_time"]
Windows = Window | Iterable["Window | tuple[Window, ...]"]
Waves = bool | Wave
Tides = str | Tide | Iterable[Tide] | Mapping[str, str] | tuple[()]
"""A limit such as `"1h"`, several by name: `{"office": "15m", "night": "4h"}`, or one or more `Tide(…)`."""
Schedules = Schedule | Iterable[Schedule]


class PondSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond's settings without its Ripples and Sources."""

    version: str
    description: str
    owner: str
    tags: tuple[str, ...]
    windows: tuple[WindowDefinition, ...]
    triggers: Triggers
    retries: Retries
    mode: Mode
    is_mode_open: bool
    """Nothing was said of it: the project may."""
    keys: tuple[str, ...]
    verify: Verification | None
    partition: PartitionDefinition | None
    coherent: Coherence | None
    """None leaves it to the project."""
    fuse: bool
    keep: str
    timeout_s: float | None
    progress_lease_s: float | None
    pool: str | None
    labels: tuple[str, ...]
    publish: tuple[FormatDefinition, ...]
    reading: Reading | None
    """None leaves it to the project, as that of `wait_us` does."""
    wait_us: int | None


def checked_settings(
    *,
    version: str,
    description: str,
    owner: str,
    tags: Iterable[str],
    window: Windows,
    wave: Waves,
    pacing: Pacing,
    tide: Tides,
    schedule: Schedules,
    retries: Retries | None,
    mode: Mode | None,
    keys: Iterable[str],
    verify: str | None,
    by: Iterable[str],
    null: Nulls,
    within: str | None,
    late: Late,
    expected: Expected | None,
    coherent: Coherence | None,
    fuse: bool,
    keep: str | None,
    timeout: str | None,
    progress_lease: str | None,
    pool: str | None,
    labels: Iterable[str],
    publish: Formats,
    reading: Reading | None,
    wait: str | None,
    place: str,
) -> PondSettings:
    """Answer the settings, or raise `DefinitionError` for the first that is wrong."""
    parsed_version(version, place=place)
    said, mode = mode, "replace" if mode is None else mode
    if mode not in get_args(Mode):
        raise _refused(f"mode is {mode!r}", 'choose "replace", "append", "merge", "partition" or "auto"', place)
    if pacing not in get_args(Pacing):
        raise _refused(f"pacing is {pacing!r}", 'choose "eager" or "just_in_time"', place)
    if isinstance(wave, Wave):
        if pacing != "eager":
            raise _refused("pacing= is given with wave=Wave(…)", 'write wave=Wave("just_in_time")', place)
        pacing = wave.pacing
    if pacing != "eager" and not wave:
        raise _refused("pacing= is given without wave=True", "pacing belongs to a Wave", place)
    schedules = _schedules(schedule, place)
    return PondSettings(
        version=version,
        description=description,
        owner=owner,
        tags=_texts(tags, "tags", place),
        windows=checked_windows(_windows(window, place), place=place),
        triggers=Triggers(
            wave=bool(wave),
            pacing=pacing,
            tides=_tides(tide, place),
            schedules=schedules,
            wave_follow=wave.follow if isinstance(wave, Wave) else None,
        ),
        retries=_retries(retries, place),
        mode=mode,
        is_mode_open=said is None,
        keys=_keys(keys, mode, place),
        verify=_verification(verify, said, place),
        partition=checked_partition(mode, by, null=null, within=within, late=late, expected=expected, place=place),
        coherent=checked_coherence(coherent, place),
        fuse=fuse,
        keep=_keep(keep, place),
        timeout_s=parsed_seconds(timeout, "timeout", place),
        progress_lease_s=parsed_seconds(progress_lease, "progress_lease", place),
        pool=None if pool is None else checked_name(pool, what="pool", place=place),
        labels=_texts(labels, "labels", place),
        publish=checked_formats(publish, place),
        reading=checked_reading(reading, place),
        wait_us=checked_wait(wait, place),
    )


def checked_reading(reading: object, place: str) -> Reading | None:
    """Answer what a read asks for; raises `DefinitionError` for what is none of the three."""
    if reading is None:
        return None
    for known in get_args(Reading):
        if reading == known:
            return cast(Reading, known)
    raise _refused(f"reading is {reading!r}", 'choose "none", "tap" or "pulse"', place)


def checked_wait(wait: str | None, place: str) -> int | None:
    """Answer how long a reader waits at most, in microseconds: a duration, or `"0"` for not at all."""
    if wait is None:
        return None
    return 0 if wait == "0" else parsed_duration(wait, what="wait", place=place)


def checked_coherence(coherent: object, place: str) -> Coherence | None:
    """Answer what was said of agreement; raises `DefinitionError` for what is none of the three."""
    if coherent is None or isinstance(coherent, bool):
        return coherent
    if coherent == "required":
        return "required"
    raise _refused(f"coherent is {coherent!r}", 'choose True, False or "required"', place)


def _keep(keep: str | None, place: str) -> str:
    if keep is not None:
        parsed_keep(keep, place=place)
    return keep or ""


def _keys(keys: Iterable[str], mode: Mode, place: str) -> tuple[str, ...]:
    given = _texts(keys, "keys", place)
    if mode == "merge" and not given:
        raise _refused('mode="merge" without keys=', 'say what identifies a row: keys=["order_id"]', place)
    if mode != "merge" and given:
        raise _refused(f'keys= is given with mode="{mode}"', 'keys belong to mode="merge"', place)
    return given


def _verification(verify: str | None, mode: Mode | None, place: str) -> Verification | None:
    if verify is not None and mode not in ("auto", None):
        raise _refused(f'verify= is given with mode="{mode}"', 'verify= belongs to mode="auto"', place)
    if verify is None:
        return parsed_verification(DEFAULT, place) if mode == "auto" else None
    return parsed_verification(verify, place)


def _windows(window: Windows, place: str) -> tuple[WindowDefinition, ...]:
    found: list[WindowDefinition] = []
    for each in [window] if isinstance(window, Window | str) else window:
        for one in each if isinstance(each, tuple) else (each,):
            if not isinstance(one, Window):
                raise _refused(f"window= takes Windows, not {one!r}", 'write daily("02:00") or Window(…)', place)
            found.append(one.definition)
    return tuple(found)


def _schedules(schedule: Schedules, place: str) -> tuple[ScheduleDefinition, ...]:
    found: list[ScheduleDefinition] = []
    for each in [schedule] if isinstance(schedule, Schedule | str) else schedule:
        if not isinstance(each, Schedule):
            raise _refused(f"schedule= takes Schedules, not {each!r}", 'write Schedule("0 6 * * *", tz=…)', place)
        found.append(each.definition)
    _refuse_twice([each.name for each in found], "Schedule", place)
    return tuple(found)


def _tides(tide: object, place: str) -> tuple[TideDefinition, ...]:
    if isinstance(tide, str):
        return (TideDefinition(limit_us=parsed_duration(tide, what="tide", place=place)),)
    if isinstance(tide, Mapping):
        return tuple(
            TideDefinition(
                limit_us=parsed_duration(limit, what="tide", place=place),
                name=checked_name(name, what="Tide", place=place),
            )
            for name, limit in tide.items()
        )
    given = (tide,) if isinstance(tide, Tide) else tuple(tide) if isinstance(tide, Iterable) else None
    if given is None or not all(isinstance(each, Tide) for each in given):
        raise _refused(f"tide= is {tide!r}", 'write tide="1h", tide={"office": "15m"} or tide=Tide("15m")', place)
    _refuse_twice([each.definition.name for each in given], "Tide", place)
    return tuple(each.definition for each in given)


def _retries(retries: object, place: str) -> Retries:
    given = Retries() if retries is None else retries
    if not isinstance(given, Retries) or given.immediately < 0 or given.on_change < 0:
        raise _refused(f"retries= is {given!r}", "write Retries(immediately=1, on_change=2)", place)
    return given


def _texts(values: Iterable[object], what: str, place: str) -> tuple[str, ...]:
    given = (values,) if isinstance(values, str) else tuple(values)
    texts = tuple(value for value in given if isinstance(value, str) and value)
    if len(texts) < len(given):
        raise _refused(f"{what}= takes texts, not {given!r}", f'write {what}=["one", "two"]', place)
    return tuple(dict.fromkeys(texts))


def _refuse_twice(names: list[str], what: str, place: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise _refused(f"two {what}s are named {name!r}", f"give each {what} a name= of its own", place)


def _refused(message: str, hint: str, place: str) -> DefinitionError:
    return DefinitionError(message, hint=hint, place=place, code="BAD_SETTING")

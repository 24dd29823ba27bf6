"""Schedules: standing triggers that send a Pulse at the times of a cron line, in a time zone, by the ledger's clock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim

from pondage.define.pond.definition import ScheduleDefinition
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Due
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors

ON_TIME_US = 60_000_000
"""A time that is noticed within a minute was not missed."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def next_time(cron: str, tz: str, after_us: int) -> int:
    """Answer the first time of a cron line after a moment. Local times follow the zone's clock changes."""
    local = (_EPOCH + timedelta(microseconds=after_us)).astimezone(ZoneInfo(tz))
    found = next(CronSim(cron, local)).astimezone(UTC)
    return (found - _EPOCH) // timedelta(microseconds=1)


class Time(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule whose time has come."""

    id: int
    cron: str
    tz: str
    catch_up: str
    next_at: int


class _PondTime(Time, frozen=True, kw_only=True):
    name: str
    actor: int
    pond: PondKey


def put(tx: Transaction, owner: Literal["pond", "job"], identity: int, declared: Iterable[ScheduleDefinition]) -> None:
    """Make the schedules of a Pond or a deployed job exactly these; one that stays as it was keeps its next time."""
    kept = {
        name: (schedule, times)
        for schedule, name, *times in tx.rows(
            f"SELECT id, name, cron, tz FROM schedules WHERE {owner} = :owner",
            tuple[int, str, str, str],
            owner=identity,
        )
    }
    for schedule in declared:
        former, times = kept.pop(schedule.name, (None, []))
        if times == [schedule.cron, schedule.tz]:
            tx.change("UPDATE schedules SET catch_up = :catch_up WHERE id = :id", catch_up=schedule.catch_up, id=former)
            continue
        if former is not None:
            tx.change("DELETE FROM schedules WHERE id = :id", id=former)
        tx.change(
            f"""INSERT INTO schedules ({owner}, name, cron, tz, catch_up, next_at)
                VALUES (:owner, :name, :cron, :tz, :catch_up, :next_at)""",
            owner=identity,
            name=schedule.name,
            cron=schedule.cron,
            tz=schedule.tz,
            catch_up=schedule.catch_up,
            next_at=next_time(schedule.cron, schedule.tz, tx.now),
        )
    for former, _ in kept.values():
        tx.change("DELETE FROM schedules WHERE id = :id", id=former)


def is_due(tx: Transaction) -> bool:
    """Answer whether a schedule's time has come."""
    return tx.row("SELECT 1 AS due FROM schedules WHERE next_at <= :now LIMIT 1") is not None


def next_due(tx: Transaction) -> int | None:
    """Answer when the next schedule's time comes."""
    return tx.row("SELECT min(next_at) AS at FROM schedules", int)


def fire(tx: Transaction) -> list[int]:
    """Send the Pulses whose time has come and answer the actors that were told.

    Missed times (nobody was there to notice) follow `catch_up`: none of them, the latest, or all.
    """
    told: list[int] = []
    for one in tx.rows(
        """SELECT s.id AS id, s.name AS name, s.cron AS cron, s.tz AS tz, s.catch_up AS catch_up, s.next_at AS next_at,
                  p.actor AS actor, p.name || '@' || p.major AS pond
           FROM schedules s JOIN ponds p ON p.id = s.pond
           WHERE s.next_at <= :now AND p.removed_at IS NULL ORDER BY s.next_at, s.id /*lock skip of s*/""",
        _PondTime,
    ):
        due, following = times(one, tx.now)
        for at in due:
            # Whether it asks at all, or is paused, is for the machine to say.
            payload = msgspec.json.encode(Due(pond=one.pond, name=one.name, at=at)).decode()
            actors.put_signal(tx, actor=one.actor, kind="due", pond=one.pond, payload=payload)
        tx.change("UPDATE schedules SET next_at = :at WHERE id = :id", at=following, id=one.id)
        told.append(one.actor)
    return told


def times(one: Time, now: int) -> tuple[list[int], int]:
    """Answer the times of a schedule that count, by its `catch_up`, and the first one that is still to come."""
    due = [one.next_at]
    while (following := next_time(one.cron, one.tz, due[-1])) <= now:
        due.append(following)
    if one.catch_up == "latest":
        due = due[-1:]
    elif one.catch_up == "none":
        due = [at for at in due[-1:] if now - at <= ON_TIME_US]
    return due, following

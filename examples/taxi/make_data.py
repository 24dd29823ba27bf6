"""Plays those who deliver: a taxi company that sends a file each night, and an office that keeps a list of zones.

What is wrong with its files is what is wrong with such files anywhere:

- five trips of the day before come late, each night
- one trip is twice in a file, another one again in that of the next night
- the fare of one trip a day is negative, the zone of another is not known
- the files of the first weekend, days 7 and 8, are forgotten; that of day 14 breaks off; all three are sent later
- on day 13 there is a new column `tip`; on day 15 `distance`, whole miles until then, becomes a double
- the fares of day 10 were wrong; the whole file is sent again

The same call always writes the same, and a file that was written stays as it is.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

HERE = Path(__file__).parent
LANDING = HERE / "landing"
DATABASE = HERE / "zones.db"
FIRST = datetime(2026, 3, 1, tzinfo=UTC)
TRIPS = 60
LATE = 5
FORGOTTEN = (7, 8)
CORRECTED, TIPPED, BROKEN, EXACT = 10, 13, 14, 15
ZONES = [
    (1, "Airport", "Queens"),
    (2, "Battery Park", "Manhattan"),
    (3, "Canal Street", "Manhattan"),
    (4, "Dyker Heights", "Brooklyn"),
    (5, "Eastchester", "Bronx"),
]

Trip = dict[str, object]


def trips_of(day: int, *, is_corrected: bool = False) -> list[Trip]:
    """The trips that began on a day, as they were: 60, of which the last two have no right fare and no zone."""
    chance = random.Random(day)
    found: list[Trip] = []
    for number in range(TRIPS):
        miles = chance.randint(1, 12)
        trip: Trip = {
            "trip_id": f"{day:02}-{number:03}",
            "at": FIRST + timedelta(days=day - 1, minutes=chance.randrange(24 * 60)),
            "zone_id": chance.randint(1, len(ZONES)),
            "distance": miles + 0.5 if day >= EXACT else miles,
            "fare": 3.0 + 2.5 * miles,
        }
        if day >= TIPPED:
            trip["tip"] = float(chance.randint(0, 5))
        if day == CORRECTED and not is_corrected:
            trip["fare"] = 10 * (3.0 + 2.5 * miles)  # the decimal point has slipped
        found.append(trip)
    found[-2]["fare"] = -1.0
    found[-1]["zone_id"] = None
    return found


def delivery(day: int, *, is_corrected: bool = False) -> list[Trip]:
    """What the file of a day holds: its trips but for those that come late, and those of the day before that did."""
    today = trips_of(day, is_corrected=is_corrected)
    before = trips_of(day - 1, is_corrected=True) if day > 1 else []
    return [*today[LATE:], today[LATE + 1], *before[: LATE + 1]]


def write(day: int, *, is_corrected: bool = False) -> None:
    """Write the file of a day, whole: first beside the folder, then moved into it."""
    rows = delivery(day, is_corrected=is_corrected)
    names = ["trip_id", "at", "zone_id", "distance", "fare", *(["tip"] if day >= TIPPED else [])]
    columns = {name: [row.get(name) for row in rows] for name in names}
    table = pa.table(
        {
            **columns,
            "at": pa.array(columns["at"], pa.timestamp("us", tz="UTC")),
            "zone_id": pa.array(columns["zone_id"], pa.int32()),
            "distance": pa.array(columns["distance"], pa.float64() if day >= EXACT else pa.int32()),
        }
    )
    beside = HERE / "unfinished"
    parquet.write_table(table, beside)
    beside.replace(path_of(day))


def path_of(day: int) -> Path:
    """Where the file of a day lands."""
    return LANDING / f"2026-03-{day:02}.parquet"


def write_zones(*, is_renamed: bool = False) -> None:
    """Write the list of zones; later the office has counted one of them to another borough, from March 9 on."""
    with sqlite3.connect(DATABASE) as connection:
        connection.execute("DROP TABLE IF EXISTS zones")
        connection.execute("CREATE TABLE zones (zone_id INTEGER, zone TEXT, borough TEXT, updated_at TEXT)")
        rows = [(*zone, "2026-01-01 00:00:00") for zone in ZONES]
        if is_renamed:
            rows[-1] = (5, "Eastchester", "Westchester", "2026-03-09 00:00:00")
        connection.executemany("INSERT INTO zones VALUES (?, ?, ?, ?)", rows)


def main() -> None:
    """Deliver what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=0, help="deliver the files up to this day of March")
    parser.add_argument("--missing", action="store_true", help="deliver what was forgotten or broke off")
    parser.add_argument("--correct", action="store_true", help=f"deliver day {CORRECTED} again, with the right fares")
    parser.add_argument("--rename", action="store_true", help="let the office change its list of zones")
    asked = parser.parse_args()
    LANDING.mkdir(exist_ok=True)
    if asked.rename or not DATABASE.exists():
        write_zones(is_renamed=asked.rename)
    for day in range(1, asked.days + 1):
        if day not in FORGOTTEN and not path_of(day).exists():
            write(day)
            if day == BROKEN:
                path_of(day).write_bytes(path_of(day).read_bytes()[:500])
    if asked.missing:
        for day in (*FORGOTTEN, BROKEN):
            write(day)
    if asked.correct:
        write(CORRECTED, is_corrected=True)
    print(f"{len(list(LANDING.iterdir()))} files in {LANDING.name}")


if __name__ == "__main__":
    main()

"""A day of consumption, made up from one seed: `python -m benchmarks.support.office_day` writes the file anew.

It imitates an office. It was not recorded from real people, and says so in the file.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "traces" / "office_day.json"
SEED = 20260302
ABOUT = (
    "Made up by benchmarks/support/office_day.py from one seed, not recorded from people. One Monday from midnight: "
    "six dashboards that are open in office hours and ask every ten minutes, a nightly report at six in the morning, "
    "an analyst who asks in bursts. `at` is in seconds; `rank` is the popularity of what was asked for (0: the most)."
)
HOUR = 3600.0
RANKS = 20


def make(seed: int = SEED) -> list[dict[str, object]]:
    """Make the day: who asked for what, when."""
    chance = random.Random(seed)
    found: list[dict[str, object]] = []

    def ask(at: float, who: str, rank: int) -> None:
        found.append({"at": round(at, 1), "who": who, "rank": rank})

    for viewer, rank in enumerate((0, 0, 0, 1, 1, 2)):
        comes, lunch, goes = chance.uniform(7.5, 9.5), chance.uniform(11.7, 12.6), chance.uniform(16.0, 18.2)
        for begin, end in ((comes, lunch), (lunch + chance.uniform(0.6, 1.1), goes)):
            at = begin * HOUR
            while at < end * HOUR:
                ask(at, f"dashboard {viewer + 1}", rank)
                # People switch tabs: now and then a refresh is left out.
                at += 600 * (1 + (chance.random() < 0.15)) + chance.uniform(-20, 20)
    for rank in (0, 1):
        ask(6 * HOUR + 300 * rank, "nightly report", rank)
    for _ in range(5):
        at = chance.choice((chance.uniform(9.5, 11.5), chance.uniform(14, 17.5))) * HOUR
        for _ in range(chance.randint(3, 8)):
            at += chance.expovariate(1 / 240)
            ask(at, "analyst", min(int(chance.paretovariate(0.9)) - 1, RANKS - 1))
    return sorted(found, key=lambda one: (float(str(one["at"])), str(one["who"])))


def read() -> list[tuple[float, str, int]]:
    """Read the shipped day."""
    day = json.loads(FILE.read_text(encoding="utf-8"))
    return [(one["at"], one["who"], one["rank"]) for one in day["consumptions"]]


def write() -> None:
    """Write the day that `make` makes, one consumption on a line."""
    lines = ",\n".join(f"    {json.dumps(one)}" for one in make())
    head = f'{{\n  "about": {json.dumps(ABOUT)},\n  "seed": {SEED},\n  "consumptions": [\n'
    FILE.write_text(f"{head}{lines}\n  ]\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    write()

"""Play histories: `python -m tests.histories --seeds 1000 --from 1`; one seed is replayed with its whole history."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter

from tests.histories.story import play


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many histories")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first seed")
    options = parser.parse_args(arguments)
    logging.getLogger("pondage").setLevel(logging.CRITICAL)  # what goes wrong is in the history
    began = time.process_time()
    failed: list[int] = []
    fates: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    turns = 0
    for seed in range(options.first, options.first + options.seeds):
        ending = play(seed)
        if options.seeds == 1:
            print("\n".join(ending.history))
        if ending.violations:
            failed.append(seed)
            print(ending)
            print(f"  replay: python -m tests.histories --seeds 1 --from {seed}")
        turns += ending.turns
        fates.update({fate.value: count for fate, count in ending.fates.items()})
        outcomes.update(ending.outcomes)
    print(f"transactions: {dict(fates)}")
    print(f"executions:   {dict(outcomes)}")
    used = time.process_time() - began
    print(f"simulation: {options.seeds} histories, {turns} turns, {len(failed)} failed, {used:.0f} s of CPU")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The fault matrix with real processes: `python -m tests.chaos --seeds 5`, or `--only "frozen and back" --from 17`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.chaos.matrix import CONTROLS, FAULTS
from tests.chaos.running import BOTH, Fault, Result, run
from tests.services.postgres import PostgresServer


def table(results: Sequence[Result]) -> list[str]:
    """Answer one line for each fault and database."""
    names = ("runs", "steps", "reaps", "fenced", "lost", "doubled", "seconds")
    lines = [f"{'row':<6} {'fault':<31}{'database':<9}" + "".join(f"{name:>9}" for name in names)]
    for fault, database in dict.fromkeys((result.fault.name, result.database) for result in results):
        some = [each for each in results if (each.fault.name, each.database) == (fault, database)]
        figures = (
            len(some), sum(each.steps for each in some), sum(each.reaps for each in some),
            sum(each.fenced for each in some), sum(bool(each.lost) for each in some),
            sum(bool(each.doubled) for each in some), round(sum(each.seconds for each in some) / len(some), 1),
        )  # fmt: skip
        lines.append(f"{some[0].fault.row:<6} {fault:<31}{database:<9}" + "".join(f"{each:>9}" for each in figures))
    return lines


def told(result: Result) -> str:
    """Answer what was wrong with a run, and how to run it again."""
    wrong = "\n  ".join([*result.doubled, *result.lost])
    again = f'python -m tests.chaos --only "{result.fault.name}" --database {result.database} --from {result.seed}'
    return f"{result.fault.name} on {result.database}, seed {result.seed}:\n  {wrong}\n  again: {again}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="how often each fault is run on each database")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first seed")
    parser.add_argument("--only", help="only faults whose name has this in it")
    parser.add_argument("--database", choices=BOTH, help="only this database")
    options = parser.parse_args(arguments)
    databases = (options.database,) if options.database else BOTH
    chosen: list[Fault] = [fault for fault in FAULTS if options.only is None or options.only in fault.name]
    controls = [fault for fault in CONTROLS if options.only is None or options.only in fault.name]
    server = PostgresServer() if "postgres" in databases else None
    results: list[Result] = []
    caught: list[Result] = []
    try:
        for seed in range(options.first, options.first + options.seeds):
            for fault in chosen:
                for database in databases:
                    if database in fault.databases:
                        result = run(fault, database, server, seed)
                        results.append(result)
                        shown = "sound" if result.is_sound else told(result)
                        print(f"{fault.name} on {database}, seed {seed}: {result.seconds:.1f} s, {shown}", flush=True)
        for fault in controls:
            for database in databases:
                caught.append(run(fault, database, server, options.first))
                print(
                    f"control: {fault.name} on {database} is {'caught' if caught[-1].is_caught else 'missed'}",
                    flush=True,
                )
    finally:
        if server is not None:
            server.close()
    lost = sum(bool(result.lost) for result in results)
    doubled = sum(bool(result.doubled) for result in results)
    found = sum(result.is_caught for result in caught)
    print("\n".join(["", *table(results)]))
    print(f"chaos: {len(results)} runs, {lost} lost, {doubled} doubled, {found} of {len(caught)} controls caught")
    return 1 if lost or doubled or found < len(caught) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

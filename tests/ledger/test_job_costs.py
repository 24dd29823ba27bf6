"""What a hop between components costs the database, whatever the size of the job."""

from __future__ import annotations

from tests.ledger.jobs import Jobs, job


def chain(length: int) -> str:
    calls = "".join(f"  - {{name: c{number}, type: transform}}\n" for number in range(1, length))
    edges = "".join(f"    - c{number}.main -> c{number + 1}.input\n" for number in range(length - 1))
    return f"components:\n  - {{name: c0, type: source}}\n{calls}connections:\n  data:\n{edges}"


def cost_of_a_hop(run: Jobs, length: int) -> tuple[int, int]:
    run.start(job(chain(length)))
    counts = run.world.ledger.driver.counts
    costs = []
    while (held := run.claim()) is not None:
        before = counts.transactions, counts.statements
        run.commit(held)
        costs.append((counts.transactions - before[0], counts.statements - before[1]))
    assert len(costs) == length
    return costs[3]


def test_a_hop_writes_what_changed_and_not_more_in_a_longer_job(run: Jobs) -> None:
    short, long = cost_of_a_hop(run, 6), cost_of_a_hop(run, 120)
    assert short == long
    assert long[0] == 1
    assert long[1] <= 30

"""Random queries over small tables with nulls and duplicates, and random changes of these, from one seed."""

from __future__ import annotations

from random import Random

from pondage.conform.incremental_scenario import CaseTable, Change, IncrementalCase, Row

SCHEMA = "k int, g string, v int, w decimal(8,2)"
COLUMNS = ("k", "g", "v", "w")


def random_case(seed: int, steps: int = 3) -> IncrementalCase:
    """Answer a case without expected rows: they are what computing everything answers."""
    random = Random(seed)
    tables = {
        name: CaseTable(
            schema=SCHEMA, rows=_rows(random, random.randrange(3, 9)), mode=random.choice(["append", "bag"])
        )
        for name in ("t1", "t2", "t3")
    }
    held = {name: list(table.rows) for name, table in tables.items()}
    made = []
    for _ in range(steps):
        step = {}
        for name, table in tables.items():
            if random.random() < 0.35:
                continue
            minus: list[Row] = []
            if table.mode == "bag":
                count = min(random.randrange(3), len(held[name]))
                minus.extend(held[name].pop(random.randrange(len(held[name]))) for _ in range(count))
            plus = _rows(random, random.randrange(3))
            # What comes again although it just went is what a set of changes must not lose.
            if minus and random.random() < 0.3:
                plus.append(list(minus[0]))
            held[name].extend(plus)
            step[name] = Change(plus=plus, minus=minus)
        made.append(step)
    return IncrementalCase(
        name=f"seed {seed}", sql=_Query(random).text(), tables=tables, steps=made, columns=[], expected=[]
    )


def _rows(random: Random, count: int) -> list[Row]:
    return [
        [
            random.choice([1, 2, 3, 4, None]),
            random.choice(["p", "q", "r", None]),
            random.choice([0, 1, 2, 3, 5, None]),
            random.choice(["0.50", "1.25", "3.00", "-2.75", None]),
        ]
        for _ in range(count)
    ]


class _Query:
    def __init__(self, random: Random) -> None:
        self._random = random

    def text(self) -> str:
        rows, columns = self._rows(2)
        return self._shaped(rows, columns)

    def _rows(self, depth: int) -> tuple[str, list[str]]:
        """Answer a subquery with the columns k, g, v, w, and the names that it may be asked for beyond them."""
        shape = self._random.choice(["table", "join", "join", "outer", "semi", "union", "in", "windowed", "summed"])
        if depth == 0 or shape == "table":
            return f"(select k, g, v, w from {self._table()}{self._where()})", list(COLUMNS)
        left, _ = self._rows(depth - 1)
        right, _ = self._rows(0)
        on = self._random.choice(
            ["a.k = b.k", "a.k <=> b.k", "a.k = b.k and a.g = b.g", "a.k = b.k and b.v > 1", "a.g = b.g"]
        )
        match shape:
            case "join":
                return f"(select a.k, a.g, a.v, b.w from {left} a join {right} b on {on})", list(COLUMNS)
            case "outer":
                side = self._random.choice(["left", "right", "full"])
                mine, theirs = ("b", "a") if side == "right" else ("a", "b")
                return (
                    f"(select {mine}.k, {mine}.g, {mine}.v, {theirs}.w from {left} a {side} join {right} b on {on})",
                    list(COLUMNS),
                )
            case "semi":
                kind = self._random.choice(["left semi", "left anti"])
                return f"(select a.k, a.g, a.v, a.w from {left} a {kind} join {right} b on {on})", list(COLUMNS)
            case "union":
                word = self._random.choice(["union all", "union all", "union", "except", "intersect", "except all"])
                return f"(select * from {left} a {word} select * from {right} b)", list(COLUMNS)
            case "in":
                condition = self._random.choice(
                    [
                        "k in (select k from {0})",
                        "v = 1 or k in (select k from {0} c where c.g = 'p')",
                        "not exists (select 1 from {0} c where c.k = a.k)",
                        "k not in (select k from {0})",
                        "v > (select avg(v) from {0})",
                        "v >= (select max(c.v) from {0} c where c.k = a.k)",
                    ]
                ).format(self._table())
                return f"(select k, g, v, w from {left} a where {condition})", list(COLUMNS)
            case "windowed":
                over = self._random.choice(["partition by k", "partition by k, g", "partition by g order by v, k, w"])
                function = self._random.choice(["sum(v)", "count(*)", "max(v)"])
                return f"(select k, g, cast({function} over ({over}) as int) as v, w from {left} a)", list(COLUMNS)
            case _:
                by = self._random.choice(["k, g", "k, g, w"])
                w = "w" if by.endswith("w") else "cast(sum(w) as decimal(8,2)) as w"
                return f"(select k, g, cast(count(v) as int) as v, {w} from {left} a group by {by})", list(COLUMNS)

    def _shaped(self, rows: str, columns: list[str]) -> str:
        where = self._where()
        match self._random.randrange(12):
            case 0:
                return f"select * from {rows} x{where}"
            case 1:
                return f"select k, v * 2 as twice, upper(g) as big from {rows} x{where}"
            case 2:
                return f"select distinct {self._random.choice(['k', 'g', 'k, g', 'v'])} from {rows} x{where}"
            case 3 | 4:
                by = self._random.choice(["k", "g", "k, g", "upper(g)"])
                return f"select {by}, {self._functions()} from {rows} x{where} group by {by}"
            case 5:
                return f"select {self._functions()} from {rows} x{where}"
            case 6:
                return f"select k, sum(v) as s from {rows} x{where} group by k having sum(v) > 2 or count(*) > 2"
            case 7:
                inner = f"select k, count(*) as n from {rows} x{where} group by k"
                return f"select n, count(*) as c, sum(n) as s from ({inner}) group by n"
            case 8:
                return (
                    f"select k, g, {self._functions()}, grouping_id() as i from {rows} x{where} group by rollup(k, g)"
                )
            case 9:
                summed = f"select k, sum(w) as s, count(*) as n from {rows} x{where} group by k"
                return f"{summed} order by s nulls first, k limit 2"
            case 10:
                return f"select k, g, v, sum(w) over (partition by k order by v) as s from {rows} x{where}"
            case _:
                common = f"with t as (select k, sum(w) as s from {rows} x{where} group by k)"
                return f"{common} select a.k, a.s from t a where a.s = (select max(s) from t)"

    def _functions(self) -> str:
        some = [
            "sum(v) as s",
            "count(*) as n",
            "avg(w) as m",
            "count(v) filter (where w > 1) as f",
            "avg(v) as mv",
            "sum(w) as sw",
        ]
        others = ["max(v) as hi", "count(distinct v) as d", "min(g) as lo"]
        chosen = self._random.sample(some, 2)
        if self._random.random() < 0.4:
            chosen.append(self._random.choice(others))
        return ", ".join(chosen)

    def _table(self) -> str:
        return self._random.choice(["t1", "t2", "t3"])

    def _where(self) -> str:
        return self._random.choice(["", "", "", " where v > 1", " where g is not null", " where k <> 2 or k is null"])

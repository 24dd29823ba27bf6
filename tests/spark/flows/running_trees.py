"""Random trees that can run: as those of the planner's tests, with conditions that hold or break."""

from __future__ import annotations

from typing import Any

from tests.plan.flow.random_trees import RandomTree

TEXT = "aWQKMQo="


class RunningTree(RandomTree):
    """A random tree whose programs exist. What breaks is known: a condition over a column that nobody has."""

    def __init__(self, seed: int) -> None:
        self.broken: set[str] = set()
        super().__init__(seed)
        for node in self.nodes.values():
            const = node.get("const", {})
            if "ref" in const:
                node["const"] = {"type": const["type"], "bytes": TEXT}

    def keep(self) -> None:
        """Try conditions more often than others: they are what can break."""
        if self.dice.random() < 0.5:
            self.cond()
        else:
            super().keep()

    def cond(self) -> None:
        if one := self.one("Table", "Stream"):
            names = {column[0] for column in one.columns if column[1] == "bigint"}
            where = "id > 1" if "id" in names else "1 < 2"
            if self.dice.random() < 0.6:
                where = "nobody_has_this > 1"
            name = self.add("cond", {"where": where}, in_=one)
            if "nobody" in where:
                self.broken.add(name)
            self.gives(name, "out", "Table", one.columns)

    def panic(self) -> None:
        """Handle failures that come, rather than such that never do."""
        sources = sorted(self.broken)[:2] if self.broken and self.dice.random() < 0.7 else [next(iter(self.nodes))]
        name = self.add("handle")
        for source in sources:
            self.edges.append([f"{source}.panic", f"{name}.in"])
            self.handled.setdefault(source, set()).add(name)

    def stop(self) -> None:
        """Only the end of an empty table: what a row stops depends on who is quicker."""
        empty: list[Any] = [one for one in self.outputs if one.head == "Table"
                            and self.nodes[one.end.partition(".")[0]].get("const", {}).get("value") == []]  # fmt: skip
        if empty:
            self.connect(empty[0], f"{self.dice.choice(list(self.nodes))}.stop")

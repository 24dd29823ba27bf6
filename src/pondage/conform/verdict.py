"""How scenarios went: what differs, and what is printed of it."""

import msgspec


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that came out differently; `order` names the order of reports in which it did."""

    order: str
    what: str
    expected: object
    got: object


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How a scenario went: it passed when nothing differs."""

    id: str
    title: str
    mismatches: list[Mismatch]

    @property
    def has_passed(self) -> bool:
        """Is everything as expected?"""
        return not self.mismatches


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How all scenarios of a call went."""

    verdicts: list[Verdict]

    @property
    def failed(self) -> int:
        """Answer how many came out differently."""
        return sum(not verdict.has_passed for verdict in self.verdicts)

    @property
    def passed(self) -> int:
        """Answer how many are as expected."""
        return len(self.verdicts) - self.failed

    def lines(self) -> list[str]:
        """Answer what people read: for each failure what was expected and what came, and the two numbers."""
        found = []
        for verdict in self.verdicts:
            if verdict.has_passed:
                continue
            order = verdict.mismatches[0].order
            found.append(f"FAILED {verdict.id} {verdict.title}" + (f" (order: {order})" if order else ""))
            for mismatch in verdict.mismatches:
                found += [
                    f"  {mismatch.what}",
                    f"    expected {_text(mismatch.expected)}",
                    f"    got      {_text(mismatch.got)}",
                ]
        return [*found, f"{self.passed} passed, {self.failed} failed"]

    def as_json(self) -> str:
        """Answer what programs read."""
        scenarios = [
            {
                "id": verdict.id,
                "title": verdict.title,
                "passed": verdict.has_passed,
                "mismatches": verdict.mismatches,
            }
            for verdict in self.verdicts
        ]
        return _text({"passed": self.passed, "failed": self.failed, "scenarios": scenarios})


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()

"""Expectations in words."""

from __future__ import annotations

from pondage.define.pond.definition import ExpectationDefinition
from pondage.views.words import duration_text


def expectation_text(each: ExpectationDefinition) -> str:
    """Answer a rule in words: `order_id is never null`."""
    severity = " (set aside)" if each.quarantine else "" if each.severity == "fail" else " (only a warning)"
    match each.kind:
        case "rows":
            limits = [
                f"{word} {value}" for word, value in (("at least", each.minimum), ("at most", each.maximum)) if value
            ]
            thing = "row" if limits and (each.maximum or each.minimum) == 1 else "rows"
            return f"{' and '.join(limits) or 'any number of'} {thing}{severity}"
        case "not_null":
            return f"{each.column} is never null{severity}"
        case "between":
            return f"{each.column} is {_range(each)}{severity}"
        case "in_set":
            return f"{each.column} is one of {', '.join(str(value) for value in each.values)}{severity}"
        case "bad_rows":
            most = f"{each.maximum:.3%}" if isinstance(each.maximum, float) else str(each.maximum)
            return f"at most {most} rows that could not be read{severity}"
        case "check":
            return f"{each.name}{severity}"
        case "matches":
            return f"{each.column} matches {each.pattern}{severity}"
        case "unique":
            return f"{', '.join(each.columns)} is unique{severity}"
        case "foreign_key":
            return f"{each.column} is one of {each.refers}.{each.key}{severity}"
        case "fresh":
            return f"{each.column} is at most {duration_text(each.within_us)} old{severity}"
        case "volume":
            return f"as many rows as the last {each.of_last}, {each.maximum:.0%} more or less{severity}"


def _range(each: ExpectationDefinition) -> str:
    if each.maximum is None:
        return f"at least {each.minimum}"
    return f"at most {each.maximum}" if each.minimum is None else f"between {each.minimum} and {each.maximum}"

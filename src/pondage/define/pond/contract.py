"""The contract of a Pond: within one major version its tables may only grow."""

from __future__ import annotations

import json
import re
from typing import Any

from pondage.errors import PondageError

_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)\Z")
# What each type may become without any stored value or any reader noticing.
_WIDER = {
    "byte": frozenset({"short", "integer", "long"}),
    "short": frozenset({"integer", "long"}),
    "integer": frozenset({"long"}),
    "float": frozenset({"double"}),
}
# The words of SQL, which authors know, for the names in Spark's JSON.
_SHOWN = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}

_Type = str | dict[str, Any]


class ContractBroken(PondageError):
    """A result is narrower than what its major version promised."""

    code = "CONTRACT"


def check_contract(previous_schema_json: str, new_schema_json: str) -> list[str]:
    """Answer how the new schema breaks the promise of the previous one; empty when it keeps it.

    Columns, and fields of structs, may be added, and types may widen: whole numbers, float to double, a decimal to
    more digits of the same scale. Order and nullability do not count: Spark derives nullability from the plan, so it
    changes when nobody changed anything.
    """
    return _struct_differences(json.loads(previous_schema_json), json.loads(new_schema_json), "")


def late_columns(previous_schema_json: str, new_schema_json: str) -> dict[str, str]:
    """Answer what a batch of an older schema lacks of the table that it is added to, as types in the words of SQL.

    These are columns that may be null and are not there, and columns whose type was widened since.
    """
    new = {field["name"]: field["type"] for field in json.loads(new_schema_json)["fields"]}
    spellings = {name.casefold() for name in new}
    found: dict[str, str] = {}
    for field in json.loads(previous_schema_json)["fields"]:
        name, type_ = field["name"], field["type"]
        if name.casefold() not in spellings:
            if field["nullable"]:
                found[name] = shown_type(type_)
        elif isinstance(type_, str) and isinstance(now := new.get(name), str) and now != type_ and _widens(now, type_):
            found[name] = shown_type(type_)
    return found


def require_contract(
    previous: str | None, new: str, *, where: str, is_batch: bool = False, is_same_code: bool = False
) -> None:
    """Raise `ContractBroken` with every difference; with no previous schema there is nothing to keep.

    What to do about it is another thing for a batch of a table that grows, and again when its code is as it was.
    """
    if previous is None:
        return
    differences = check_contract(previous, new)
    if differences:
        raise ContractBroken(
            f"{where} breaks the contract of its major version: {'; '.join(differences)}",
            hint=_hint(is_batch=is_batch, is_same_code=is_same_code),
        )


def _hint(*, is_batch: bool, is_same_code: bool) -> str:
    major = "raise the Pond's major version so that Sinks can choose when to follow"
    if is_batch and is_same_code:
        return f"this batch has another shape: cast it to the table's, and give what is never null a value; or {major}"
    if is_batch:
        return f"the earlier batches have it: keep it, as a null where there is nothing to say; or {major}"
    return f"keep the columns, or {major}"


def _struct_differences(previous: dict[str, Any], new: dict[str, Any], path: str) -> list[str]:
    present = {field["name"]: field["type"] for field in new["fields"]}
    by_spelling = {name.casefold(): name for name in present}
    what = "field" if path else "column"
    differences: list[str] = []
    for field in previous["fields"]:
        name = field["name"]
        shown = f"{path}.{name}" if path else name
        if name in present:
            differences += _type_differences(field["type"], present[name], f"{what} {shown}", shown)
        elif name.casefold() in by_spelling:
            differences.append(f"{what} {shown} was renamed to {by_spelling[name.casefold()]}")
        else:
            differences.append(f"{what} {shown} ({shown_type(field['type'])}) was removed")
    return differences


def _type_differences(previous: _Type, new: _Type, what: str, path: str) -> list[str]:
    if previous == new or (isinstance(previous, str) and isinstance(new, str) and _widens(previous, new)):
        return []
    if isinstance(previous, dict) and isinstance(new, dict) and previous.get("type") == new.get("type"):
        match previous["type"]:
            case "struct":
                return _struct_differences(previous, new, path)
            case "array":
                return _type_differences(
                    previous["elementType"], new["elementType"], f"the elements of {what}", f"{path}.element"
                )
            case "map":
                return [
                    *_type_differences(previous["keyType"], new["keyType"], f"the keys of {what}", f"{path}.key"),
                    *_type_differences(
                        previous["valueType"], new["valueType"], f"the values of {what}", f"{path}.value"
                    ),
                ]
    return [f"{what} changed from {shown_type(previous)} to {shown_type(new)}"]


def _widens(previous: str, new: str) -> bool:
    before, after = _DECIMAL.match(previous), _DECIMAL.match(new)
    if before and after:
        return int(after[1]) >= int(before[1]) and int(after[2]) == int(before[2])
    return new in _WIDER.get(previous, frozenset())


def shown_type(type_: _Type) -> str:
    """Answer a type of Spark's JSON in the words of SQL."""
    if isinstance(type_, str):
        return _SHOWN.get(type_, type_)
    match type_.get("type"):
        case "struct":
            inside = ", ".join(f"{field['name']}: {shown_type(field['type'])}" for field in type_["fields"])
            return f"struct<{inside}>"
        case "array":
            return f"array<{shown_type(type_['elementType'])}>"
        case "map":
            return f"map<{shown_type(type_['keyType'])}, {shown_type(type_['valueType'])}>"
        case other:
            return str(other)

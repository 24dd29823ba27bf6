"""The tables of the project file that give names to things: `[locations]`, `[secrets.COMPONENT]` and `[types]`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from pondage.define.types.type_registry import ARROW, TypeEntry, structures_of, unknown_names, wrong_entry
from pondage.define.types.types import Type, parts
from pondage.define.values.names import checked_name, is_name, parsed_version
from pondage.errors import DefinitionError, ProjectError
from pondage.project.keys import checked_table


class _TypeTable(msgspec.Struct, frozen=True, kw_only=True):
    definition: str = ""
    version: str = "1.0.0"
    doc: str = ""
    serialisation: str = ARROW


def read_locations(root: Path, given: object, errors: list[ProjectError]) -> dict[str, str]:
    """`[locations]`: directories and addresses that a tree may name; a relative one begins at the project."""
    if not isinstance(given, dict):
        errors.append(_refused("locations", "is not a table", 'write [locations], below it landing = "data/landing"'))
        return {}
    found: dict[str, str] = {}
    for name, address in given.items():
        key = f"locations.{name}"
        try:
            checked_name(str(name), what="location")
        except DefinitionError as error:
            errors.append(_refused(key, "is no name for a location", error.hint or ""))
            continue
        if not isinstance(address, str) or not address.strip():
            errors.append(_refused(key, f"is {address!r}", 'give a directory or an address: "s3a://bucket/landing"'))
            continue
        found[name] = address if "://" in address else str((root / Path(address).expanduser()).absolute())
    return found


def read_secrets(given: object, errors: list[ProjectError]) -> dict[str, dict[str, str]]:
    """`[secrets.COMPONENT]`: what a component calls a secret, and where that is: `env:NAME`, `file:PATH`, a name."""
    found: dict[str, dict[str, str]] = {}
    for component, table in given.items() if isinstance(given, dict) else [("", given)]:
        key = f"secrets.{component}"
        if not isinstance(table, dict) or not is_name(str(component)):
            errors.append(_refused(key, "is no table", 'write [secrets.fetch], below it API_KEY = "env:SHOP_KEY"'))
            continue
        for name, reference in table.items():
            if not str(name).isidentifier() or not isinstance(reference, str) or not _is_reference(reference):
                hint = "name it like a variable, and write env:NAME, file:PATH or a name of `pondage secret list`"
                errors.append(_refused(f"{key}.{name}", "does not say where a secret is", hint))
                continue
            found.setdefault(component, {})[name] = reference
    return found


def _is_reference(text: str) -> bool:
    kind, separator, place = text.partition(":")
    return (kind in ("env", "file") and bool(place)) if separator else is_name(text)


def read_types(given: object, errors: list[ProjectError]) -> dict[str, TypeEntry]:
    """`[types.Order]`: types with a name of their own, by `Name@major`; several majors are `[types."Order@2"]`."""
    if not isinstance(given, dict):
        errors.append(_refused("types", "is not a table", 'write [types.Order], below it definition = "{id: int}"'))
        return {}
    found: dict[str, TypeEntry] = {}
    for title, table in given.items():
        key = f"types.{title}"
        good = checked_table(_TypeTable, table, key, errors)
        name, _, major = str(title).partition("@")
        if major and "version" not in good:
            good["version"] = f"{major}.0.0"
        entry = TypeEntry(name=name, **msgspec.structs.asdict(msgspec.convert(good, _TypeTable)))
        wrong = wrong_entry(entry) or _wrong_version(entry, major) or ("" if entry.key not in found else "stands twice")
        if wrong:
            errors.append(_refused(key, wrong, 'write definition = "{id: bigint not null, name: string}"'))
        else:
            found[entry.key] = entry
    for entry in list(found.values()):
        unknown = unknown_names(entry.definition, found)
        if unknown:
            errors.append(_refused(f"types.{entry.key}", f"names the unknown type {unknown[0]}", "declare it, too"))
    _refuse_circles(found, errors)
    return found


def _wrong_version(entry: TypeEntry, major: str) -> str:
    try:
        number, _, _ = parsed_version(entry.version)
    except DefinitionError as error:
        return error.message
    return f"has the version {entry.version}" if major and major != str(number) else ""


def _refuse_circles(found: dict[str, TypeEntry], errors: list[ProjectError]) -> None:
    """A type that holds itself has no columns that could be written down."""
    structures = structures_of(found)
    for entry in found.values():
        seen: set[str] = set()
        waiting = [entry.key]
        while waiting:
            for name in _named_in(structures, waiting.pop()):
                if name == entry.key:
                    errors.append(_refused(f"types.{entry.key}", "holds itself", "take it out of its own columns"))
                    return
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)


def _named_in(structures: Mapping[str, Type], key: str) -> list[str]:
    found = []
    for one in parts(structures[key]):
        if one.is_named:
            found += [known for known in structures if _is_meant(one, known)]
    return found


def _is_meant(one: Type, key: str) -> bool:
    return key == f"{one.head}@{one.version.partition('.')[0]}" if one.version else key.partition("@")[0] == one.head


def _refused(key: str, message: str, hint: str) -> ProjectError:
    return ProjectError(f"{key} {message}", hint=hint, place=f"pondage.toml: {key}", code="BAD_PROJECT_FILE")

"""The check of a table of the project file against the fields of a struct: unknown keys, wrong types, all at once."""

from __future__ import annotations

import msgspec

from pondage.define.values.suggestion import nearest
from pondage.errors import ProjectError


def checked_table(
    shape: type[msgspec.Struct], given: object, path: str, errors: list[ProjectError], others: tuple[str, ...] = ()
) -> dict[str, object]:
    """Answer the good keys of a table and append an error for each other one. `path` is the table's own key path.

    `others` are names that are known beside the fields: somebody may have meant one of them.
    """
    if not isinstance(given, dict):
        errors.append(_refused(path, "is not a table", f"write [{path}]"))
        return {}
    fields = {field.name: field.type for field in msgspec.structs.fields(shape)}
    good: dict[str, object] = {}
    for key, value in given.items():
        full = f"{path}.{key}" if path else key
        if key not in fields:
            near = nearest(key, [*others, *fields], likeness=0.5)
            known = f"did you mean {near!r}?" if near else f"known keys: {', '.join(sorted(fields))}"
            errors.append(_refused(full, "is not a known key", known))
            continue
        try:
            # `conf` is checked value by value by its owner: TOML may have nested it.
            good[key] = value if key == "conf" and isinstance(value, dict) else msgspec.convert(value, fields[key])
        except msgspec.ValidationError as error:
            errors.append(_refused(full, f"has a wrong value: {error}", "see `pondage init` for an example"))
    return good


def _refused(key: str, message: str, hint: str) -> ProjectError:
    return ProjectError(f"{key} {message}", hint=hint, place=f"pondage.toml: {key}", code="BAD_PROJECT_FILE")

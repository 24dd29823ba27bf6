"""`Delta` and `Iceberg`: the table formats in which a Pond's tables are shown to outside readers, beside parquet."""

from __future__ import annotations

from collections.abc import Iterable

from pondage.define.pond.definition import FormatDefinition
from pondage.define.values.names import checked_name
from pondage.define.values.place import place_of_caller
from pondage.errors import DefinitionError


class TableFormat:
    """A format to publish in: all Ripples of the Pond, or those that `ripples` names."""

    def __init__(self, definition: FormatDefinition) -> None:
        self.definition = definition

    def __repr__(self) -> str:
        return f"{self.definition.kind.capitalize()}(ripples={list(self.definition.ripples)!r})"


class Delta(TableFormat):
    """Show each table as a Delta table too: one version for each publication that changed it.

    Needs `pip install 'pondage[delta]'` where `pondage dev` or `pondage worker` runs; no jars.
    """

    def __init__(self, *, ripples: Iterable[str] = ()) -> None:
        super().__init__(FormatDefinition(kind="delta", ripples=_checked(ripples, place_of_caller())))


class Iceberg(TableFormat):
    """Show each table as an Iceberg table too: one snapshot for each publication that changed it.

    Needs `pip install 'pondage[iceberg]'` where `pondage dev` or `pondage worker` runs; no jars.
    """

    def __init__(self, *, ripples: Iterable[str] = ()) -> None:
        super().__init__(FormatDefinition(kind="iceberg", ripples=_checked(ripples, place_of_caller())))


Formats = TableFormat | Iterable[TableFormat]


def checked_formats(publish: object, place: str) -> tuple[FormatDefinition, ...]:
    """Answer what `publish=` says, or raise `DefinitionError`."""
    given = [publish] if isinstance(publish, TableFormat) else publish
    formats = [each for each in given if isinstance(each, TableFormat)] if isinstance(given, Iterable) else []
    kinds = [each.definition.kind for each in formats]
    if not isinstance(given, (list, tuple)) or len(formats) < len(given) or len(set(kinds)) < len(kinds):
        raise DefinitionError(
            f"publish= takes one of each format, not {publish!r}",
            hint="write publish=Delta() or publish=[Delta(), Iceberg()]",
            place=place,
            code="BAD_FORMAT",
        )
    return tuple(each.definition for each in formats)


def refuse_unknown_ripples(formats: tuple[FormatDefinition, ...], ripples: Iterable[str], place: str) -> None:
    """Raise `DefinitionError` when a format names a Ripple that the Pond does not have."""
    known = set(ripples)
    for each in formats:
        for name in each.ripples:
            if name not in known:
                raise DefinitionError(
                    f"publish= names the Ripple {name!r}, which the Pond does not have",
                    hint=f"its Ripples are {', '.join(sorted(known))}",
                    place=place,
                    code="BAD_FORMAT",
                )


def _checked(ripples: object, place: str) -> tuple[str, ...]:
    names = [ripples] if isinstance(ripples, str) else list(ripples) if isinstance(ripples, Iterable) else []
    return tuple(dict.fromkeys(checked_name(str(name), what="Ripple", place=place) for name in names))

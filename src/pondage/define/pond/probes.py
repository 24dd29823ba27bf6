"""Probes: which root Ripple of an Inlet each of them belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pondage.define.pond.definition import RippleDefinition
from pondage.define.values.place import place_of_function
from pondage.errors import DefinitionError

Probe = Callable[..., object]


def probes_by_ripple(
    pond: str, probes: Mapping[str, Probe], ripples: Sequence[RippleDefinition], *, has_sources: bool
) -> dict[str, Probe]:
    """Answer each probe under the name of its Ripple; "" names the only root. Raises `DefinitionError`."""
    found: dict[str, Probe] = {}
    roots = [ripple.name for ripple in ripples if not ripple.tables]
    for name, function in probes.items():
        place = place_of_function(function)
        if has_sources:
            raise probe_refused(pond, place)
        if name == "" and len(roots) != 1:
            raise DefinitionError(
                f"Pond {pond!r} has {len(roots)} root Ripples, so its probe must name one",
                hint=f"write @{pond}.probe(ripple=…); the roots are {', '.join(roots)}",
                place=place,
                code="BAD_PROBE",
            )
        ripple = name or roots[0]
        if ripple not in roots:
            raise DefinitionError(
                f"the probe of Pond {pond!r} names {ripple!r}, which is not a root Ripple of it",
                hint=f"the roots are {', '.join(roots)}",
                place=place,
                code="BAD_PROBE",
            )
        found[ripple] = function
    return found


def probe_refused(pond: str, place: str) -> DefinitionError:
    """Answer the error for a probe of a Pond that is no Inlet."""
    return DefinitionError(
        f"Pond {pond!r} has a probe and Sources",
        hint="a probe belongs to an Inlet: a Pond without Sources",
        place=place,
        code="PROBE_WITHOUT_INLET",
    )

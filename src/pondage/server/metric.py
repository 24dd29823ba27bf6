"""The text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Metric(msgspec.Struct, frozen=True):
    """One family: its name, what it means, and its values by labels."""

    name: str
    help: str
    kind: Literal["gauge", "counter"]
    values: tuple[tuple[Mapping[str, str], float], ...]


def written(metrics: Iterable[Metric]) -> str:
    """Answer the text format."""
    lines: list[str] = []
    for metric in metrics:
        lines.append(f"# HELP pondage_{metric.name} {metric.help}")
        lines.append(f"# TYPE pondage_{metric.name} {metric.kind}")
        for labels, value in metric.values:
            said = ",".join(f'{name}="{text.translate(_ESCAPES)}"' for name, text in labels.items())
            lines.append(
                f"pondage_{metric.name}{{{said}}} {value:.15g}" if said else f"pondage_{metric.name} {value:.15g}"
            )
    return "\n".join(lines) + "\n"

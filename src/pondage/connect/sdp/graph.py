"""What an import found: the datasets of a pipeline, who reads whom, and what cannot be carried over."""

from __future__ import annotations

import msgspec


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset that becomes a Pond.

    `reads` and `follows` (as streams) name other datasets of the pipeline, `watches` directories whose new files it
    reads.
    """

    name: str
    pond: str
    kind: str
    place: str
    comment: str = ""
    reads: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    watches: tuple[str, ...] = ()


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not carried over, and why."""

    what: str
    why: str


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """A pipeline as it was read. `tables` are tables of somebody else that it reads by name."""

    name: str
    specification: str
    datasets: tuple[Dataset, ...]
    left: tuple[Left, ...] = ()
    tables: tuple[str, ...] = ()
    configuration: dict[str, str] = {}


def pond_names(datasets: list[str]) -> dict[str, str]:
    """Answer a name for the Pond of each dataset: its last part, with the parts before it where that is taken."""
    found: dict[str, str] = {}
    for dataset in datasets:
        parts = [_plain(part) for part in dataset.split(".")]
        name = parts[-1]
        while name in found.values() and len(parts) > 1:
            parts = [*parts[:-2], "_".join(parts[-2:])]
            name = parts[-1]
        while name in found.values():
            name += "_2"
        found[dataset] = name[:63]
    return found


def _plain(part: str) -> str:
    letters = "".join(each if each.isascii() and (each.isalnum() or each == "_") else "_" for each in part.lower())
    return letters if letters[:1].isalpha() else f"t_{letters}"

"""From an imported pipeline to the text of a project: one Pond for each dataset, readable and complete."""

from __future__ import annotations

import json

from pondage.connect.sdp.graph import Dataset, Imported

HEADER = '''"""Ponds of the pipeline {name}. Made by `pondage import-sdp`; its own files are used as they are."""

from pondage import pond
from pondage.connect.sdp import Pipeline

pipeline = Pipeline(__file__, {specification})
made_of = {{"pipeline": pipeline.digest}}
'''


def ponds_text(found: Imported, specification: str) -> str:
    """Answer the module that declares the Ponds; `specification` is its path as seen from the module."""
    ponds = {each.name: each.pond for each in found.datasets}
    parts = [HEADER.format(name=found.name, specification=json.dumps(specification))]
    parts += [_pond(each, ponds) for each in _ordered(found.datasets)]
    return "\n\n".join(parts)


def project_text(found: Imported) -> str:
    """Answer the project file."""
    lines = ["[project]", f"name = {json.dumps(_project_name(found.name))}"]
    if found.configuration:
        lines += ["", "[spark.conf]"]
        lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in sorted(found.configuration.items())]
    return "\n".join(lines) + "\n"


def _pond(dataset: Dataset, ponds: dict[str, str]) -> str:
    parameters = ["spark"] + (["run"] if dataset.follows or dataset.watches else [])
    read = [ponds[each] for each in dict.fromkeys((*dataset.reads, *dataset.follows)) if each in ponds]
    settings = ["parameters=made_of"]
    if dataset.comment:
        settings.append(f"description={json.dumps(dataset.comment)}")
    if dataset.kind == "stream":
        settings.append('mode="append"')
    arguments = [json.dumps(dataset.name), "spark"]
    if dataset.reads:
        arguments.append(_table_of(dataset.reads, ponds, "{pond}"))
    if dataset.follows:
        arguments.append(f"changes={_table_of(dataset.follows, ponds, 'run.changes({quoted})')}")
    if dataset.watches:
        arguments.append("run=run")
    return "\n".join(
        [
            f"# {dataset.place}",
            f"@pond({', '.join(settings)})",
            f"def {dataset.pond}({', '.join([*parameters, *read])}):",
            f"    return pipeline.frame({', '.join(arguments)})",
            "",
        ]
    )


def _table_of(names: tuple[str, ...], ponds: dict[str, str], form: str) -> str:
    rows = [
        f"{json.dumps(each)}: {form.format(pond=ponds[each], quoted=json.dumps(ponds[each]))}"
        for each in names
        if each in ponds
    ]
    return f"{{{', '.join(rows)}}}"


def _ordered(datasets: tuple[Dataset, ...]) -> list[Dataset]:
    """Answer them with Sources before their Sinks, as a person reads a pipeline."""
    waiting = {each.name: each for each in datasets}
    done: list[Dataset] = []
    while waiting:
        ready = [each for each in waiting.values() if not any(read in waiting for read in (*each.reads, *each.follows))]
        done += [waiting.pop(each.name) for each in ready or list(waiting.values())]
    return done


def _project_name(name: str) -> str:
    letters = "".join(each if each.isascii() and (each.isalnum() or each == "_") else "_" for each in name.lower())
    return letters if letters[:1].isalpha() else f"p_{letters}"

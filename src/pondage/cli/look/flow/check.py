"""`flow check`: everything that is wrong with a tree, or the types on its edges. It needs no ledger."""

from __future__ import annotations

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.files.inference import asking, infer_option, unresolved_line
from pondage.cli.files.tree import planned_tree, refuse_tree
from pondage.cli.printing.output import print_json, print_table
from pondage.define.job.flow import FlowRefused
from pondage.views.words import count_text


@click.command("check", cls=Verb)
@click.argument("file", metavar="FILE|-")
@infer_option
@settings_and_json
def check(settings: Settings, file: str, is_inferred: bool, is_json: bool) -> None:
    """Check a tree and print everything that is wrong with it, or the types on its edges.

    Exits 0 when it can run, 4 when it is refused.
    """
    try:
        if is_inferred:
            with desk(settings) as opened, asking(opened) as inferring:
                planned = planned_tree(file, opened=opened, inferring=inferring)
        else:
            planned = planned_tree(file)
    except FlowRefused as error:
        refuse_tree(error, is_json=is_json)
    if is_json:
        print_json(
            {
                "ok": True,
                "problems": [],
                "plan": planned.plan.hash,
                "edges": planned.edges,
                "extracts": {
                    name: {"from": f"{one.node}.{one.port}", "type": planned.extract_types[name], "format": one.format}
                    for name, one in planned.extracts.items()
                },
                "unresolved": planned.unresolved,
                "reasons": planned.reasons,
            }
        )
        return
    rows = [(one.source, one.target, "stream" if one.is_stream else "table", one.type) for one in planned.edges]
    rows += [
        (f"{one.node}.{one.port}", f"extract {name}", one.format, planned.extract_types[name])
        for name, one in planned.extracts.items()
    ]
    print_table(settings, ("FROM", "TO", "AS", "TYPE"), rows)
    for port in planned.unresolved:
        click.echo(unresolved_line(port, planned.reasons))
    parts = f"{count_text(len(planned.plan.components), 'node')}, {count_text(len(planned.edges), 'edge')}"
    click.echo(f"ok: {parts}, plan {planned.plan.hash[:12]}")

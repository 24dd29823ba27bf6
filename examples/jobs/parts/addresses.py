"""A component of this project, beside those of the library."""

from __future__ import annotations

from pondage import component


@component(
    "clean_names",
    inputs={"input": "Table<Any>"},
    outputs={"main": "Table<Any>"},
    params={
        "type": "object",
        "properties": {"columns": {"type": "array", "items": {"type": "string"}}},
        "required": ["columns"],
        "additionalProperties": False,
    },
    after=(),
    globals=(),
    deterministic=True,
)
def clean_names(input, *, params, run):  # noqa: A002 - the name of the port
    """Take away spaces around texts, and write them with capital first letters."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    run.log.info("cleaning %s", ", ".join(params["columns"]))
    return input.withColumns({name: F.initcap(F.trim(F.col(name))) for name in params["columns"]})

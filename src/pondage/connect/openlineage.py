"""OpenLineage: every ended Run told to an address, or appended to a file. Carried out by the outbox."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pondage import __version__
from pondage.errors import PondageError
from pondage.ledger.data.lineage import RunFacts, TableFacts

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent
    from openlineage.client.facet_v2 import DatasetFacet, JobFacet
    from openlineage.client.transport import Transport

PRODUCER = f"pondage/{__version__}"
_RUNS = uuid.UUID("5b1f3a52-6d0e-5c1c-9f6a-0d1f6d7c2a11")
"""Under this name a Run's id becomes the UUID that the protocol asks for: always the same one."""


class LineageSender:
    """Tells the beginning and the end of Runs. Telling twice is harmless: a Run has one id."""

    def __init__(self, target: str, *, namespace: str, key: str | None = None) -> None:
        """`target` is `https://…` or `file:PATH`; `key` is sent as a bearer token. Raises when the client is absent."""
        try:
            from openlineage.client import OpenLineageClient
        except ImportError:
            raise PondageError(
                "OpenLineage needs its client", hint="pip install 'pondage[lineage]'", code="MISSING_EXTRA"
            ) from None
        self._namespace = namespace
        self._client = OpenLineageClient(transport=_transport(target, key))

    def tell(self, facts: RunFacts) -> None:
        """Tell the start and the end of a Run; raises when it cannot be told now."""
        for event in events(facts, self._namespace):
            self._client.emit(event)


def _transport(target: str, key: str | None) -> Transport:
    from openlineage.client.transport.file import FileConfig, FileTransport
    from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport

    if target.startswith("file:"):
        path = Path(target.removeprefix("file:"))
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileTransport(FileConfig(log_file_path=str(path), append=True))
    # The outbox has its own patience: one try, then the row waits.
    config = HttpConfig(url=target, retry={"total": 0})
    if key is not None:
        config.auth = ApiKeyTokenProvider({"api_key": key})
    return HttpTransport(config)


def events(facts: RunFacts, namespace: str) -> tuple[RunEvent, RunEvent]:
    """Answer the two events of an ended Run."""
    from openlineage.client import event_v2, facet_v2

    ended = {"completed": event_v2.RunState.COMPLETE, "failed": event_v2.RunState.FAIL}
    identity = str(uuid.uuid5(_RUNS, facts.run))
    job = event_v2.Job(
        namespace,
        f"{facts.environment}.{facts.pond}",
        facets={
            "jobType": facet_v2.job_type_job.JobTypeJobFacet(
                processingType="BATCH", integration="PONDAGE", jobType="POND"
            ),
            "tags": _reads(facts),
            "documentation": facet_v2.documentation_job.DocumentationJobFacet(description=facts.description),
        },
    )
    engine = facet_v2.processing_engine_run.ProcessingEngineRunFacet(version=str(__version__), name="pondage")
    facets: dict[str, facet_v2.RunFacet] = {"processing_engine": engine}
    if facts.state != "completed":
        message = facts.error or facts.state
        facets["errorMessage"] = facet_v2.error_message_run.ErrorMessageRunFacet(message, "python")
    inputs = [_input(each, facts, namespace) for each in facts.inputs]
    start = event_v2.RunEvent(
        eventType=event_v2.RunState.START,
        eventTime=_moment(facts.started_at),
        run=event_v2.Run(identity, facets={"processing_engine": engine}),
        job=job,
        inputs=inputs,
        producer=PRODUCER,
    )
    end = event_v2.RunEvent(
        eventType=ended.get(facts.state, event_v2.RunState.ABORT),
        eventTime=_moment(facts.ended_at),
        run=event_v2.Run(identity, facets=facets),
        job=job,
        inputs=inputs,
        outputs=[_output(each, facts, namespace) for each in facts.outputs],
        producer=PRODUCER,
    )
    return start, end


def _reads(facts: RunFacts) -> JobFacet:
    """Answer how often the Pond was read, and how many bytes: tags, because the protocol has no facet for readers."""
    from openlineage.client.facet_v2 import tags_job

    counted = {"pondage.reads": facts.reads, "pondage.read_bytes": facts.read_bytes}
    return tags_job.TagsJobFacet(
        tags=[tags_job.TagsJobFacetFields(key, str(value), "PONDAGE") for key, value in counted.items()]
    )


def _input(each: TableFacts, facts: RunFacts, namespace: str) -> InputDataset:
    from openlineage.client.event_v2 import InputDataset

    return InputDataset(namespace, _name(each.table, facts), facets=_facets(each))


def _output(each: TableFacts, facts: RunFacts, namespace: str) -> OutputDataset:
    from openlineage.client import facet_v2
    from openlineage.client.event_v2 import OutputDataset

    facets = _facets(each)
    columns = facet_v2.column_lineage_dataset
    if each.lineage is not None:

        def field(table: str, column: str, kind: str) -> columns.InputField:
            transformation = columns.Transformation(type=kind)
            return columns.InputField(namespace, _name(table, facts), column, [transformation])

        facets["columnLineage"] = columns.ColumnLineageDatasetFacet(
            fields={
                name: columns.Fields([field(origin.table, origin.column, "DIRECT") for origin in origins])
                for name, origins in each.lineage.columns.items()
            },
            dataset=[field(origin.table, origin.column, "INDIRECT") for origin in each.lineage.rows],
        )
    statistics = facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=each.rows, size=each.bytes, fileCount=each.files
    )
    return OutputDataset(
        namespace, _name(each.table, facts), outputFacets={"outputStatistics": statistics}, facets=facets
    )


def _facets(each: TableFacts) -> dict[str, DatasetFacet]:
    from openlineage.client import facet_v2

    fields = [
        facet_v2.schema_dataset.SchemaDatasetFacetFields(name=field["name"], type=_type(field["type"]))
        for field in json.loads(each.schema)["fields"]
    ]
    return {
        "schema": facet_v2.schema_dataset.SchemaDatasetFacet(fields=fields),
        "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=each.snapshot),
    }


def _type(declared: object) -> str:
    return declared if isinstance(declared, str) else json.dumps(declared)


def _name(table: str, facts: RunFacts) -> str:
    return f"{facts.environment}.{table}"


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at / 1e6, tz=UTC).isoformat()

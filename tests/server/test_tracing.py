"""Traces for whoever asks for them: spans of requests, of the steps that follow, and of executions."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pondage import tracing
from pondage.errors import PondageError
from tests.engine.plain import PlainExecutor, Running, make_worker
from tests.ledger.harness import World
from tests.patience import PATIENCE_S
from tests.server.conftest import As
from tests.services.postgres import wait_until


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.use(provider)
    yield exporter
    tracing.use(None)


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [each for each in spans.get_finished_spans() if each.name == name]


def test_a_request_is_a_span_and_the_step_that_it_makes_is_a_part_of_it(
    client: As, spans: InMemorySpanExporter
) -> None:
    assert client("demand").post("/v1/ponds/sales/pulse", {}).status == 200
    (request,) = named(spans, "POST /v1/ponds/{pond}/pulse")
    assert request.attributes is not None
    assert request.attributes["pondage.status"] == 200
    steps = named(spans, "advance")
    assert steps
    assert request.context is not None
    assert all(each.context is not None and each.context.trace_id == request.context.trace_id for each in steps)


def test_a_request_that_is_refused_says_so_and_names_no_token(client: As, spans: InMemorySpanExporter) -> None:
    asking = client("read")
    asking.post("/v1/ponds/sales/kill", {})
    (request,) = named(spans, "POST /v1/ponds/{pond}/kill")
    assert request.attributes is not None
    assert request.attributes["pondage.status"] == 403
    assert str(asking.token) not in str(request.attributes)


def test_an_execution_is_a_span_with_what_was_done(
    world: World, client: As, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    executor = PlainExecutor()
    client("demand").post("/v1/ponds/orders/pulse", {})
    with Running(make_worker(world, tmp_path, executor)):
        wait_until(lambda: bool(named(spans, "execution")))
    (execution,) = named(spans, "execution")
    assert execution.attributes is not None
    assert execution.attributes["pondage.node"] == "orders"


def test_nothing_is_traced_and_nothing_imported_unless_it_is_asked_for() -> None:
    code = (
        "import sys; from pondage import tracing; from pondage.ledger.step import advance\n"
        "with tracing.span('x'): tracing.note(a=1)\n"
        "assert not tracing.begin('server') and not any('opentelemetry' in name for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)}, timeout=PATIENCE_S)


def test_whoever_asks_without_the_packages_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tracing.ENDPOINTS[0], "http://127.0.0.1:1")
    monkeypatch.setattr(tracing, "find_spec", lambda _: None)
    with pytest.raises(PondageError) as refused:
        tracing.begin("server")
    assert refused.value.code == "NO_TELEMETRY"

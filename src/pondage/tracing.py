"""Traces by OpenTelemetry, for whoever has configured it: spans of requests, advancements and executions.

Without `begin` every span is a no-op that costs one comparison, and the SDK is not imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import Any

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_TRACER: list[Any] = []
_UNNOTED = nullcontext()


def begin(role: str) -> bool:
    """Send spans of this process where the variables of OpenTelemetry say; False when they say nothing.

    Raises `PondageError` when they do and the packages are not installed.
    """
    if _TRACER or not any(os.environ.get(name) for name in ENDPOINTS):
        return bool(_TRACER)
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter.otlp") is None:
        from pondage.errors import PondageError

        raise PondageError(
            "traces are asked for, and OpenTelemetry is not installed",
            hint=f"pip install 'pondage[telemetry]', or unset {ENDPOINTS[0]}",
            code="NO_TELEMETRY",
        )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = os.environ.get("OTEL_SERVICE_NAME", "pondage")
    provider = TracerProvider(resource=Resource.create({"service.name": name, "pondage.role": role}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    use(provider)
    return True


def use(provider: Any) -> None:
    """Take spans from this provider, or from none."""
    _TRACER.clear()
    if provider is not None:
        _TRACER.append(provider.get_tracer("pondage"))


def span(name: str, **attributes: str | int | bool | None) -> AbstractContextManager[None]:
    """Note how long the block takes, as a part of the span around it; an error is noted, and goes on."""
    return _noted(name, attributes) if _TRACER else _UNNOTED


@contextmanager
def _noted(name: str, attributes: dict[str, str | int | bool | None]) -> Iterator[None]:
    known = {f"pondage.{key}": value for key, value in attributes.items() if value is not None}
    with _TRACER[0].start_as_current_span(name, attributes=known):
        yield


def note(**attributes: str | int | bool) -> None:
    """Add to the span around this place what is known only at its end."""
    if _TRACER:
        from opentelemetry import trace

        trace.get_current_span().set_attributes({f"pondage.{key}": value for key, value in attributes.items()})

"""The `run` that a Ripple may ask for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pondage.define.pond.run import Run, Unchanged


def test_freshness_is_a_moment_in_utc_and_reading_it_is_recorded():
    run = Run(freshness_us=1_500_000)
    assert not run.read_freshness
    assert run.freshness == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert run.read_freshness


def test_before_the_first_run_there_is_no_previous_freshness():
    run = Run(freshness_us=1)
    assert run.previous_freshness is None
    assert run.read_freshness
    assert Run(freshness_us=2, previous_freshness_us=0).previous_freshness == datetime(1970, 1, 1, tzinfo=UTC)


def test_parameters_and_logger_record_nothing_and_parameters_are_read_only():
    run = Run(freshness_us=1, parameters={"limit": 3}, idempotency_key="k")
    run.logger.debug("hello")
    assert run.parameters["limit"] == 3
    assert run.idempotency_key == "k"
    assert not run.read_freshness
    with pytest.raises(TypeError):
        run.parameters["limit"] = 4  # type: ignore[index]


def test_unchanged_ends_the_ripple_with_an_ordinary_exception():
    with pytest.raises(Unchanged):
        Run(freshness_us=1).unchanged()
    assert issubclass(Unchanged, Exception)

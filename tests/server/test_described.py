"""The server holds to its own description: made-up requests for every operation, right and wrong ones, and no 500.

`PONDAGE_EXAMPLES=50` tries as many for each; a few are enough to see a route whose description and answer disagree.
"""

import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from pondage.server.mounts import LARGE
from pondage.server.openapi import document
from pondage.server.routes import ROUTES, SOCKETS
from tests.server.test_twins import Twins, twins

EXAMPLES = int(os.environ.get("PONDAGE_EXAMPLES", "3"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
KNOWN = {"pond": "sales", "subject": "sales", "name": "sales", "run": "sales#1", "job": "nightly", "reactor": "quote"}
# Wrong tokens have tests of their own, and would be counted here: made-up requests come with ours.
SCHEMA = schemathesis.openapi.from_dict({**document(ROUTES, SOCKETS), "security": []})
OPERATIONS = {f"{each.method.upper()} {each.path}": each for each in (one.ok() for one in SCHEMA.get_all_operations())}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    with twins(tmp_path_factory.mktemp("described") / "shop") as made:
        yield made


UPLOADS = {f"{route.method} {route.path}" for route in ROUTES if route.limit_bytes == LARGE}
"""Wrong definitions in uploads are tried in test_changing; making them up takes long."""
TRIED = [(label, mode) for label in OPERATIONS for mode in GenerationMode if label not in UPLOADS or mode == "positive"]


@pytest.mark.parametrize(("label", "mode"), TRIED, ids=lambda given: getattr(given, "value", given))
def test_every_operation_answers_as_it_is_described(label: str, mode: GenerationMode, pair: Twins) -> None:
    operation = OPERATIONS[label]
    headers = {"Authorization": f"Bearer {pair.token}"}
    places = {each.name for each in operation.path_parameters}
    known = {name: value for name, value in KNOWN.items() if name in places} if operation.method == "get" else {}
    found = operation.as_strategy(generation_mode=mode, path_parameters=known or None)

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=found)
    def tried(case: Any) -> None:
        answer = case.call(base_url=pair.url, headers=headers)
        case.validate_response(answer, checks=CHECKS)

    try:
        tried()
    except hypothesis.errors.Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, "nothing can be asked"


def test_an_operation_without_a_token_is_refused_as_it_is_described(pair: Twins) -> None:
    case = OPERATIONS["GET /v1/status"].Case()
    answer = case.call(base_url=pair.url)
    assert answer.status_code == 401
    case.validate_response(answer, checks=CHECKS)

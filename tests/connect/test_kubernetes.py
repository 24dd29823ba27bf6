"""The manifest for Kubernetes, checked by Kubernetes' own schema."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest
import yaml

from pondage.connect.kubernetes import Cluster, documents, manifest
from pondage.define.job.component import ComponentDefinition, Resources, Scaling

CLUSTER = Cluster(image="registry.example/pondage:1", warehouse="s3a://lake", namespace="data", drain_s=30)
PLAIN = ComponentDefinition(name="dedupe", version="1.2.0")
LARGE = ComponentDefinition(
    name="Big_join",
    version="3.0.0",
    resources=Resources(cores=4, memory=("2g", "8g"), gpu=1, labels=("gpu", "eu")),
    scaling=Scaling(max_concurrency=3, min=2, max=9),
    restartable=False,
    image="registry.example/join:7",
    dockerfile="docker/join.Dockerfile",
)


def rendered() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(manifest([PLAIN, LARGE], CLUSTER)))


@pytest.mark.parametrize("number", range(5))
def test_every_document_is_valid_by_the_schema_of_kubernetes(number: int) -> None:
    kubernetes_validate.validate(rendered()[number], "1.37", strict=True)


def test_the_schema_would_refuse_a_wrong_one() -> None:
    document = rendered()[0]
    document["spec"]["replicas"] = "many"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, "1.37", strict=True)


def test_no_two_deployments_select_the_same_pods() -> None:
    deployments = [one for one in rendered() if one["kind"] == "Deployment"]
    selected = [tuple(sorted(one["spec"]["selector"]["matchLabels"].items())) for one in deployments]
    assert len(set(selected)) == len(deployments) == 3
    assert [one["metadata"]["name"] for one in deployments] == [
        "pondage-dedupe",
        "pondage-big-join-2g",
        "pondage-big-join-8g",
    ]
    for one in deployments:
        assert one["spec"]["template"]["metadata"]["labels"] == one["spec"]["selector"]["matchLabels"]


def test_what_a_component_declares_is_what_its_container_gets() -> None:
    large = rendered()[1]["spec"]["template"]["spec"]
    (container,) = large["containers"]
    assert container["image"] == "registry.example/join:7"
    assert container["resources"] == {
        "requests": {"cpu": "4", "memory": "3072Mi", "nvidia.com/gpu": "1"},
        "limits": {"memory": "3072Mi", "nvidia.com/gpu": "1"},
    }
    said = " ".join(container["args"])
    assert "--component Big_join" in said
    assert "--slots 3" in said
    assert "--memory 2g" in said
    assert "--labels gpu,eu" in said
    # It may not be started again, so it gets two days to end.
    assert large["terminationGracePeriodSeconds"] == 172_800
    assert rendered()[0]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 90


def test_the_number_of_workers_follows_the_queue_of_the_component() -> None:
    scaler = rendered()[2]
    assert scaler["kind"] == "HorizontalPodAutoscaler"
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (2, 9)
    external = scaler["spec"]["metrics"][0]["external"]
    assert external["metric"]["selector"] == {"matchLabels": {"component": "Big_join"}}
    assert external["target"]["averageValue"] == "3"
    assert rendered()[1]["spec"]["replicas"] == 2


def test_the_address_of_the_ledger_is_in_a_secret_and_nowhere_else() -> None:
    (container,) = rendered()[0]["spec"]["template"]["spec"]["containers"]
    assert container["env"][0]["valueFrom"] == {"secretKeyRef": {"name": "pondage", "key": "ledger"}}
    assert "--ledger" not in container["args"]
    assert len(list(documents([], CLUSTER))) == 0

"""Workers for chosen components on Kubernetes, as a manifest: a Deployment for each component and size of memory.

The ledger's address comes from a Secret, never from the manifest. How many there are follows the depth of the queue,
which `/metrics` of the server has as `pondage_component_queue_waiting`, by an adapter for external metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import yaml

from pondage.define.job.component import ComponentDefinition
from pondage.define.values.size import mebibytes

OVERHEAD_MEBIBYTES = 1024
"""What a container needs beside the heap: Python, its workers, the JVM's own."""
UNRESTARTABLE_S = 2 * 24 * 3600
"""How long a component that may not be started again has to end (`termination_grace`)."""
METRIC = "pondage_component_queue_waiting"


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest needs to know beside the components. `secret` has the key `ledger`, its address."""

    image: str
    warehouse: str
    namespace: str = "default"
    secret: str = "pondage"
    slots: int = 2
    drain_s: float = 600.0


def manifest(components: Iterable[ComponentDefinition], cluster: Cluster) -> str:
    """Render the manifest as YAML, one document after the other."""
    rendered: str = yaml.safe_dump_all(list(documents(components, cluster)), sort_keys=False)
    return rendered


def documents(components: Iterable[ComponentDefinition], cluster: Cluster) -> Iterator[dict[str, object]]:
    """Give the documents of a manifest."""
    for component in components:
        sizes = component.resources.memory or ("",)
        for number, size in enumerate(sizes):
            yield _deployment(component, cluster, size, replicas=max(1, component.scaling.min) if number == 0 else 1)
            if component.scaling.max > 1:
                yield _autoscaler(component, cluster, size)


def _name(component: ComponentDefinition, size: str) -> str:
    # A name for DNS: the names of components are words with underscores, in any case.
    return "-".join(filter(None, ("pondage", component.name.replace("_", "-").lower().strip("-"), size.lower())))


def _labels(component: ComponentDefinition, size: str) -> dict[str, str]:
    """Answer labels that no other Deployment of ours selects by."""
    labels = {"app.kubernetes.io/name": "pondage-worker", "pondage.dev/component": component.name}
    return labels | ({"pondage.dev/memory": size} if size else {})


def _metadata(component: ComponentDefinition, cluster: Cluster, size: str) -> dict[str, object]:
    metadata: dict[str, object] = {
        "name": _name(component, size),
        "namespace": cluster.namespace,
        "labels": {**_labels(component, size), "app.kubernetes.io/version": component.version},
    }
    if component.dockerfile:
        metadata["annotations"] = {"pondage.dev/dockerfile": component.dockerfile}
    return metadata


def _deployment(component: ComponentDefinition, cluster: Cluster, size: str, *, replicas: int) -> dict[str, object]:
    labels = _labels(component, size)
    grace_s = int(cluster.drain_s) + 60 if component.restartable else UNRESTARTABLE_S
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(component, cluster, size),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": grace_s,
                    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                    "containers": [_container(component, cluster, size)],
                    "volumes": [{"name": "state", "emptyDir": {}}],
                },
            },
        },
    }


def _container(component: ComponentDefinition, cluster: Cluster, size: str) -> dict[str, object]:
    slots = component.scaling.max_concurrency or cluster.slots
    arguments = ["worker", "--component", component.name, "--workers", "1", "--slots", str(slots), "--state", "/state"]
    if size:
        arguments += ["--memory", size]
    if component.resources.labels:
        arguments += ["--labels", ",".join(component.resources.labels)]
    ledger = {"secretKeyRef": {"name": cluster.secret, "key": "ledger"}}
    return {
        "name": "worker",
        "image": component.image or cluster.image,
        "command": ["pondage"],
        "args": arguments,
        "env": [
            {"name": "PONDAGE_LEDGER", "valueFrom": ledger},
            {"name": "PONDAGE_WAREHOUSE", "value": cluster.warehouse},
        ],
        "resources": _resources(component, size),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "state", "mountPath": "/state"}],
    }


def _resources(component: ComponentDefinition, size: str) -> dict[str, object]:
    limits: dict[str, object] = {}
    if size:
        limits["memory"] = f"{mebibytes(size) + OVERHEAD_MEBIBYTES}Mi"
    if component.resources.gpu:
        limits["nvidia.com/gpu"] = str(component.resources.gpu)
    requests: dict[str, object] = {"cpu": str(component.resources.cores), **limits}
    return {"requests": requests, **({"limits": limits} if limits else {})}


def _autoscaler(component: ComponentDefinition, cluster: Cluster, size: str) -> dict[str, object]:
    metric = {
        "metric": {"name": METRIC, "selector": {"matchLabels": {"component": component.name}}},
        "target": {"type": "AverageValue", "averageValue": str(component.scaling.max_concurrency or cluster.slots)},
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _metadata(component, cluster, size),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": _name(component, size)},
            "minReplicas": max(1, component.scaling.min),
            "maxReplicas": component.scaling.max,
            "metrics": [{"type": "External", "external": metric}],
        },
    }

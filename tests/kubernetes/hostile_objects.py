"""What the parts of `hostile` write into objects."""

import json

from names import GATE, GPU, HOST

WORKLOAD = "kueue.x-k8s.io/workload"
POD_SET = "kueue.x-k8s.io/podset"
MOST = "9223372036854775807"
NOW = "2026-01-01T00:00:00Z"


def pod(name, workload, host=None, gated=False, gpus="1", **metadata):
    """One that says it belongs to a workload."""
    requests = {"cpu": "1", GPU: gpus}
    spec = {
        "restartPolicy": "Never",
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": requests, "limits": {GPU: gpus}}}
        ],
    }
    if host:
        spec["nodeSelector"] = {HOST: host}
    if gated:
        spec["schedulingGates"] = [{"name": GATE}]
    labels, annotations = {POD_SET: "main"}, {WORKLOAD: workload}
    return {"metadata": {"name": name, "labels": labels, "annotations": annotations, **metadata}, "spec": spec}


def long_conversion():
    """A review of two kilobytes whose answer has 130 MB: few domains claim to be many, with names that are escaped."""

    def piece(domains):
        values = [{"universal": "\x01" * 63}]
        return {"domainCount": domains, "valuesPerLevel": values, "podCounts": {"universal": 1}}

    assignment = {"levels": ["level"], "slices": [piece(100_000)] * 3}
    pod_set = {"name": "main", "count": 1, "topologyAssignment": assignment}
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "long", "namespace": "anywhere"},
        "status": {"admission": {"clusterQueue": "any", "podSetAssignments": [pod_set]}},
    }
    request = {"uid": "1", "desiredAPIVersion": "kueue.x-k8s.io/v1beta1", "objects": [workload]}
    return json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})

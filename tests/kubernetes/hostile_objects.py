"""What the parts of `hostile` write into objects."""

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

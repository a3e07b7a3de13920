"""Objects that the tests make: queues and jobs; and what they read in those of others."""

from names import AMOUNTS, BLOCK, GPU, GROUP, HOST, QUEUE_LABEL, RACK


def kueue_object(kind, name, spec, **metadata):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def cluster_queue(name, amounts, flavor="tas"):
    quotas = [{"name": resource, "nominalQuota": amount} for resource, amount in amounts.items()]
    group = {"coveredResources": list(amounts), "flavors": [{"name": flavor, "resources": quotas}]}
    return "clusterqueues", kueue_object("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": [group]})


def local_queue(namespace, name, target):
    return f"namespaces/{namespace}/localqueues", kueue_object("LocalQueue", name, {"clusterQueue": target})


def queue_objects(namespace, amounts=AMOUNTS):
    """The collections and documents of a topology, a flavor of all nodes, ClusterQueue "all", LocalQueue "main"."""
    levels = [{"nodeLabel": key} for key in (BLOCK, RACK, HOST)]
    yield "topologies", kueue_object("Topology", "default", {"levels": levels})
    yield "resourceflavors", kueue_object("ResourceFlavor", "tas", {"topologyName": "default", "nodeLabels": GROUP})
    yield cluster_queue("all", amounts)
    yield local_queue(namespace, "main", "all")


def job(name, pods, gpus, queue="main", annotations=None):
    """A Job of `pods` indexed pods with this many GPUs each; queue None: one that is nobody's business."""
    requests = {"cpu": "1", "memory": "1Gi", GPU: str(gpus)}
    container = {"name": "c", "image": "i", "resources": {"requests": requests, "limits": {GPU: str(gpus)}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {QUEUE_LABEL: queue} if queue else {}},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": {
                "metadata": {"annotations": annotations or {}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def condition(document, kind):
    """The condition of this type, or {}."""
    found = [c for c in document.get("status", {}).get("conditions", []) if c["type"] == kind]
    return found[0] if found else {}


def holds(document, kind):
    return condition(document, kind).get("status") == "True"


def assigned_hosts(assignment):
    """One for each pod, of a topology assignment of hosts, in the format of v1beta1 or of v1beta2."""
    hosts = []
    for domain in assignment.get("domains", []):
        hosts += [domain["values"][-1]] * domain["count"]
    for piece in assignment.get("slices", []):
        counts, values = piece["podCounts"], piece["valuesPerLevel"][-1]
        for i in range(piece["domainCount"]):
            several = values.get("individual", {})
            host = values.get("universal") or (
                several.get("prefix", "") + several["roots"][i] + several.get("suffix", "")
            )
            hosts += [host] * (counts.get("universal") or counts["individual"][i])
    return hosts

"""Making, finding and removing objects of a cluster: what the tests of a manager as a process have in common."""

import kube_objects
from kube_objects import condition
from names import BATCH, INDEX, JOB_NAME, KUEUE, RACK, REQUIRED


class Objects:
    """For tests that have a `client`, and, if they use namespaces, a list `namespaces` of what they are to remove."""

    def create(self, path, document):
        return self.client.request("POST", path, document)

    def get(self, path):
        return self.client.find(path)

    def items(self, path):
        return self.client.request("GET", path)["items"]

    def delete(self, path):
        self.client.remove(path)

    def job(self, namespace, name):
        return self.get(f"{BATCH}/namespaces/{namespace}/jobs/{name}")

    def submit(self, namespace, document):
        return self.create(f"{BATCH}/namespaces/{namespace}/jobs", document)

    def submit_gang(self, namespace, name, pods, gpus, queue="main"):
        """A Job that needs a rack."""
        return self.submit(namespace, kube_objects.job(name, pods, gpus, queue, {REQUIRED: RACK}))

    def remove_job(self, namespace, name):
        self.delete(f"{BATCH}/namespaces/{namespace}/jobs/{name}")

    def pods(self, namespace, name):
        """Of a Job, in the order of their indexes."""
        found = self.items(f"/api/v1/namespaces/{namespace}/pods?labelSelector={JOB_NAME}%3D{name}")
        return sorted(found, key=lambda pod: int(pod["metadata"]["labels"].get(INDEX, 0)))

    def nodes_of(self, namespace, name):
        """Where the pods of a Job are, in the order of their indexes."""
        return [pod["spec"].get("nodeName", "") for pod in self.pods(namespace, name)]

    def runs(self, namespace, name, pods):
        phases = [pod.get("status", {}).get("phase") for pod in self.pods(namespace, name)]
        return phases == ["Running"] * pods

    def workload_of(self, namespace, name):
        """Of a Job; None if there is none, or more than one."""
        items = self.items(f"{KUEUE}/namespaces/{namespace}/workloads")
        found = [w for w in items if any(o["name"] == name for o in w["metadata"].get("ownerReferences", []))]
        return found[0] if len(found) == 1 else None

    def waits_for(self, namespace, name, reason):
        workload = self.workload_of(namespace, name)
        return workload is not None and condition(workload, "QuotaReserved").get("reason") == reason

    def is_empty(self, namespace):
        paths = [f"{KUEUE}/namespaces/{namespace}/workloads", f"/api/v1/namespaces/{namespace}/pods"]
        return not any(self.items(path) for path in paths)

    def use_namespace(self, name):
        self.namespaces.append(name)
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})

    def make_queues(self, *documents):
        """Parts share the topology and its flavor."""
        for collection, document in documents:
            self.client.ensure(f"{KUEUE}/{collection}", document)

    def use_queues(self, namespace):
        """A namespace of its own, with LocalQueue "main" in it."""
        self.use_namespace(namespace)
        self.make_queues(*kube_objects.queue_objects(namespace))


def client_configs(document):
    """How an API server calls webhooks that are registered, or the conversion of a CRD."""
    webhooks = document["webhooks"] if "webhooks" in document else [document["spec"]["conversion"]["webhook"]]
    return [webhook["clientConfig"] for webhook in webhooks]

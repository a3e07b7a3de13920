"""Making, finding and removing objects of a cluster: what the tests of a manager as a process have in common."""
from manager_process import condition
from names import BATCH, INDEX, JOB_NAME, KUEUE


class Objects:
    """For tests that have a `client`, and a list `namespaces` of what they are to remove."""

    def create(self, path, document):
        return self.client.request("POST", path, document)

    def get(self, path):
        return self.client.find(path)

    def delete(self, path):
        self.client.remove(path)

    def job(self, namespace, name):
        return self.get(f"{BATCH}/namespaces/{namespace}/jobs/{name}")

    def submit(self, namespace, document):
        return self.create(f"{BATCH}/namespaces/{namespace}/jobs", document)

    def remove_job(self, namespace, name):
        self.delete(f"{BATCH}/namespaces/{namespace}/jobs/{name}")

    def pods(self, namespace, name):
        path = f"/api/v1/namespaces/{namespace}/pods?labelSelector={JOB_NAME}%3D{name}"
        found = self.client.request("GET", path)["items"]
        return sorted(found, key=lambda pod: int(pod["metadata"]["labels"].get(INDEX, 0)))

    def nodes_of(self, namespace, name):
        """Where the pods of a Job are, in the order of their indexes."""
        return [pod["spec"].get("nodeName", "") for pod in self.pods(namespace, name)]

    def runs(self, namespace, name, pods):
        nodes = self.nodes_of(namespace, name)
        return len(nodes) == pods and all(nodes)

    def workload_of(self, namespace, name):
        """Of a Job; None if there is none, or more than one."""
        items = self.client.request("GET", f"{KUEUE}/namespaces/{namespace}/workloads")["items"]
        found = [w for w in items if any(o["name"] == name for o in w["metadata"].get("ownerReferences", []))]
        return found[0] if len(found) == 1 else None

    def waits_for(self, namespace, name, reason):
        workload = self.workload_of(namespace, name)
        return workload is not None and condition(workload, "QuotaReserved").get("reason") == reason

    def use_namespace(self, name):
        self.namespaces.append(name)
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})

    def make_queues(self, *documents):
        """Parts share the topology and its flavor."""
        for collection, document in documents:
            self.client.ensure(f"{KUEUE}/{collection}", document)

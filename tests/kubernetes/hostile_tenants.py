"""Tenants who forge: a part of `hostile`."""
import time

import api_client
import hostile_objects
import kube_objects
from hostile_objects import MOST, NOW
from kube_objects import condition, kueue_object
from names import AMOUNTS, BATCH, GATE, GPU, HOST, KUEUE, RACK, RBAC, REQUIRED

OLDER_KUEUE = "/apis/kueue.x-k8s.io/v1beta1"


class Tenants:
    """The part, for a class that has Checks, Objects and what `hostile` checks again and again."""

    def tenant(self, namespace, *more_rules):
        """A client with the rights of an editor in this namespace, and these."""
        self.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "user"}})
        subject = {"kind": "ServiceAccount", "name": "user", "namespace": namespace}
        roles = [("ClusterRole", "edit")]
        if more_rules:
            role = {"metadata": {"name": "more"}, "rules": list(more_rules)}
            self.create(f"{RBAC}/namespaces/{namespace}/roles", role)
            roles.append(("Role", "more"))
        for kind, name in roles:
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
            binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
            self.create(f"{RBAC}/namespaces/{namespace}/rolebindings", binding)
        path = f"{self.cluster.folder}/{namespace}.kubeconfig"
        return api_client.Client(self.cluster.write_kubeconfig(f"{namespace}/user", path))

    def tenants(self):
        for space in ("neighbour", "tenant", "powerful"):
            self.use_queues(space)
        selector = {"matchLabels": {"kubernetes.io/metadata.name": "neighbour"}}
        collection, document = kube_objects.cluster_queue("reserved", AMOUNTS)
        document["spec"]["namespaceSelector"] = selector
        self.make_queues((collection, document), kube_objects.local_queue("tenant", "reserved", "reserved"))
        self.make_queues(kube_objects.local_queue("neighbour", "private", "all"))
        self.submit_gang("neighbour", "theirs", 2, 8)
        self.wait("the neighbour's Job to run", lambda: self.runs("neighbour", "theirs", 2))
        user = self.tenant("tenant")
        self.rights(user)
        self.queues_of_others(user)
        self.starts_by_hand(user)
        self.forged_pods(user)
        self.powerful_tenant()
        self.check(self.runs("neighbour", "theirs", 2), "tenants: the neighbour's Job no longer runs")
        theirs = self.workload_of("neighbour", "theirs")
        self.check(theirs is not None and kube_objects.holds(theirs, "Admitted"), "tenants: nor is it admitted")
        self.check_account("tenants", self.manager)
        self.remove_job("neighbour", "theirs")
        self.lives("tenants")

    def rights(self, user):
        """What the role of users does not include."""
        theirs = self.workload_of("neighbour", "theirs")["metadata"]["name"]
        workload = kueue_object("Workload", "own", {"queueName": "main", "podSets": []})
        for what, method, path, document in (
            ("a Workload", "POST", f"{KUEUE}/namespaces/tenant/workloads", workload),
            ("a queue", "POST", f"{KUEUE}/namespaces/tenant/localqueues", {"metadata": {"name": "own"}}),
            ("the neighbour's Workload", "GET", f"{KUEUE}/namespaces/neighbour/workloads/{theirs}", None),
            ("the neighbour's Job", "GET", f"{BATCH}/namespaces/neighbour/jobs/theirs", None),
        ):
            request = lambda m=method, p=path, d=document: user.request(m, p, d)  # noqa: E731
            self.refused(f"tenants: {what}", request, "forbidden", status=403)

    def queues_of_others(self, user):
        """A queue of another namespace, and one of a ClusterQueue that is not for this one."""
        jobs = f"{BATCH}/namespaces/tenant/jobs"
        user.request("POST", jobs, kube_objects.job("private", 1, 1, "private"))
        user.request("POST", jobs, kube_objects.job("reserved", 1, 1, "reserved"))
        for name, words in (("private", "LocalQueue private doesn't exist"), ("reserved", "doesn't match")):
            self.wait(f"{name} to wait for its queue", lambda n=name: self.waits_for("tenant", n, "Inadmissible"))
            message = condition(self.workload_of("tenant", name), "QuotaReserved")["message"]
            self.check(words in message, f"tenants: {name} waits because: {message}")
            self.check(not self.pods("tenant", name), f"tenants: {name} has pods")
            self.remove_job("tenant", name)
        document = kube_objects.job("elsewhere", 1, 1, "neighbour/private")
        request = lambda: user.request("POST", jobs, document)  # noqa: E731
        self.refused("tenants: a queue with a namespace", request, "metadata.labels")

    def starts_by_hand(self, user):
        jobs = f"{BATCH}/namespaces/tenant/jobs"
        user.request("POST", jobs, kube_objects.job("waits", 1, 8, "main", {REQUIRED: "no.such/level"}))
        self.wait("waits to have a Workload", lambda: self.workload_of("tenant", "waits"))
        start = {"spec": {"suspend": False}}
        self.refused(
            "tenants: a start by hand",
            lambda: user.patch(f"{jobs}/waits", start),
            "spec.suspend", "queue", "admits it", "remove the label",
        )
        created = kube_objects.job("at-once", 1, 8, "main", {REQUIRED: "no.such/level"})
        created["spec"]["suspend"] = False
        user.request("POST", jobs, created)
        self.check(self.job("tenant", "at-once")["spec"]["suspend"], "tenants: a new Job starts by itself")
        # Who may admit may do it, and the manager takes it back as ever.
        self.client.patch(f"{jobs}/waits", start)
        self.wait("waits to be stopped again", lambda: self.job("tenant", "waits")["spec"]["suspend"])
        for name in ("waits", "at-once"):
            self.remove_job("tenant", name)

    def forged_pods(self, user):
        """Pods by which somebody tries to get un-gated, to take nodes or to keep quota."""
        pods = "/api/v1/namespaces/tenant/pods"
        jobs = f"{BATCH}/namespaces/tenant/jobs"
        user.request("POST", jobs, kube_objects.job("small", 1, 1, "main", {REQUIRED: RACK}))
        self.wait("the tenant's own Job to run", lambda: self.runs("tenant", "small", 1))
        small = self.job("tenant", "small")
        own = self.workload_of("tenant", "small")["metadata"]["name"]
        theirs = self.workload_of("neighbour", "theirs")["metadata"]["name"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "small", "uid": small["metadata"]["uid"]}
        forged = {"ownerReferences": [{**owner, "controller": True}]}
        nodes = self.names_of_nodes()
        made = [
            hostile_objects.pod("says-so", own, gated=True, gpus="8"),
            hostile_objects.pod("of-the-neighbour", theirs, gated=True, gpus="8"),
            hostile_objects.pod("in-the-jobs-name", own, gated=True, gpus="8", **forged),
        ]
        # Each names a node, asks for all there is and more, and is never bound.
        for i, host in enumerate(nodes):
            made.append(hostile_objects.pod(f"full-{i}", own if i % 2 else "nowhere", host, gpus=MOST))
        for document in made:
            user.request("POST", pods, document)
        self.honest("neighbour", "beside-forged-pods")
        for name in ("says-so", "of-the-neighbour", "in-the-jobs-name"):
            pod = self.get(f"{pods}/{name}")
            if pod is None:
                # The Job's controller ends what is one too many of its own; nobody ends the others.
                self.check(name == "in-the-jobs-name", f"tenants: the pod {name} is gone")
                continue
            gates = pod["spec"].get("schedulingGates", [])
            self.check(gates == [{"name": GATE}], f"tenants: the pod {name} has lost its gate")
        self.check_account("tenants: with forged pods", self.manager)
        user.close()  # it may have been silent for too long
        # A pod that goes on running does not keep the quota of a Workload that it is not of.
        user.request("POST", pods, hostile_objects.pod("lingers", own, gpus="1"))
        self.wait("the lingering pod to run", lambda: self.get(f"{pods}/lingers")["spec"].get("nodeName"))
        self.client.patch(f"{KUEUE}/namespaces/tenant/workloads/{own}", {"spec": {"active": False}})
        self.wait(
            "the quota of a deactivated Workload to be given back",
            lambda: "admission" not in self.workload_of("tenant", "small").get("status", {}),
        )
        for document in [*made, {"metadata": {"name": "lingers"}}]:
            self.delete(f"{pods}/{document['metadata']['name']}")
        self.remove_job("tenant", "small")

    def powerful_tenant(self):
        """Some clusters let users write Workloads and their status, for the sake of admission checks."""
        group = {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads", "workloads/status"]}
        user = self.tenant("powerful", {**group, "verbs": ["get", "create", "update", "patch", "delete"]})
        collection = f"{KUEUE}/namespaces/powerful/workloads"
        template = kube_objects.job("", 1, 8)["spec"]["template"]
        spec = {"queueName": "nowhere", "podSets": [{"name": "main", "count": 1, "template": template}]}
        host = self.names_of_nodes()[0]
        places = {
            "levels": [HOST],
            "slices": [{"domainCount": 1, "valuesPerLevel": [{"universal": host}], "podCounts": {"universal": 1}}],
        }
        usage = {"cpu": "1", "memory": "1Gi", GPU: "8"}
        flavors = {resource: "tas" for resource in usage}
        assignment = {
            "name": "main", "count": 1, "flavors": flavors, "resourceUsage": usage, "topologyAssignment": places,
        }
        admission = {"clusterQueue": "all", "podSetAssignments": [assignment]}
        reserved = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": ""}
        reserved["lastTransitionTime"] = NOW
        # A status that comes with a new object is dropped.
        forged = kueue_object("Workload", "forged", spec)
        forged["status"] = {"admission": admission, "conditions": [reserved]}
        made = user.request("POST", collection, forged)
        self.check("admission" not in made.get("status", {}), "tenants: an admission came with a new Workload")
        status = f"{collection}/forged/status"
        self.refused(
            "tenants: an admission by hand",
            lambda: user.patch(status, {"status": {"admission": admission, "conditions": [reserved]}}),
            "powerful/forged", "status.admission:", "status.conditions[QuotaReserved]:", "admit",
        )
        for field, value in (("unhealthyNodes", [{"name": host}]), ("requeueState", {"count": 1})):
            self.refused(
                f"tenants: {field} by hand", lambda f=field, v=value: user.patch(status, {"status": {f: v}}),
                f"status.{field}:", "admit",
            )
        older = f"{OLDER_KUEUE}/namespaces/powerful/workloads/forged/status"
        finished = {**reserved, "type": "Finished", "reason": "Succeeded"}
        self.refused(
            "tenants: the same in an older version",
            lambda: user.patch(older, {"status": {"conditions": [finished]}}), "status.conditions[Finished]",
        )
        check = {"name": "some", "state": "Ready", "message": "", "lastTransitionTime": NOW}
        user.patch(status, {"status": {"admissionChecks": [check]}})
        kept = self.get(f"{collection}/forged")["status"].get("admissionChecks", [])
        self.check(len(kept) == 1, "tenants: a controller of checks cannot write its state")
        # A Workload that names a Job of another namespace by its uid says nothing about that Job.
        uid = self.job("neighbour", "theirs")["metadata"]["uid"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "theirs", "uid": uid, "controller": True}
        foreign = kueue_object("Workload", "foreign", spec, ownerReferences=[owner])
        user.request("POST", collection, foreign)
        label = kueue_object("Workload", "labelled", spec, labels={"kueue.x-k8s.io/job-uid": uid})
        user.request("POST", collection, label)
        time.sleep(1)
        self.check(self.runs("neighbour", "theirs", 2), "tenants: a foreign Workload stopped the neighbour's Job")
        self.check(self.workload_of("neighbour", "theirs"), "tenants: the neighbour's Job has lost its Workload")
        for name in ("forged", "foreign", "labelled"):
            self.delete(f"{collection}/{name}")

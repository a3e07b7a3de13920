"""A cluster on which Kueue ran, and what Phalanx makes of it: a part of `process`."""
import copy
import os
import time

import kube_objects
from kube_objects import holds
from manager_process import waited
from names import AMOUNTS, BATCH, GATE, GPU, GROUP, HOST, INDEX, JOB_NAME, KUEUE, QUEUE_LABEL, RACK, REQUIRED
from names import UNCONSTRAINED, WEBHOOKS

FINALIZER = "kueue.x-k8s.io/resource-in-use"


class Kueue:
    """Does to Jobs, Workloads and pods what Kueue does, as a cluster has it on which Kueue ran."""

    def __init__(self, run, namespace):
        self.run, self.namespace = run, namespace

    def workload(self, job):
        """For a Job that waits. Kueue leaves the labels of the Job controller out, some versions not all of them."""
        template = copy.deepcopy(job["spec"]["template"])
        name = template["metadata"].pop("labels")[JOB_NAME]
        topology = {"podIndexLabel": INDEX}
        if REQUIRED in template["metadata"].get("annotations", {}):
            topology["required"] = template["metadata"]["annotations"][REQUIRED]
        else:
            template["metadata"]["labels"] = {JOB_NAME: name}
        pod_set = {"name": "main", "count": job["spec"]["parallelism"], "template": template}
        metadata, name = job["metadata"], job["metadata"]["name"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": metadata["uid"]}
        document = kube_objects.kueue_object(
            "Workload",
            f"job-{name}-{metadata['uid'][:5]}",
            {
                "queueName": metadata["labels"][QUEUE_LABEL],
                "priority": 0,
                "active": True,
                "podSets": [{**pod_set, "topologyRequest": topology}],
            },
            labels={"kueue.x-k8s.io/job-uid": metadata["uid"]},
            finalizers=[FINALIZER],
            ownerReferences=[{**owner, "controller": True, "blockOwnerDeletion": True}],
        )
        return self.run.create(f"{KUEUE}/namespaces/{self.namespace}/workloads", document)

    def write_conditions(self, workload, status, conditions):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        common = {"lastTransitionTime": now, "observedGeneration": 1}
        status["conditions"] = [
            {"type": kind, "status": value, "reason": reason, "message": message, **common}
            for kind, value, reason, message in conditions
        ]
        path = f"{KUEUE}/namespaces/{self.namespace}/workloads/{workload['metadata']['name']}"
        return self.run.client.patch(f"{path}/status", {"status": status})

    def refuse(self, workload):
        message = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor tas"
        self.write_conditions(workload, {}, [("QuotaReserved", "False", "Pending", message)])

    def admit(self, workload, queue, hosts, gpus):
        prefix = os.path.commonprefix(hosts)
        pods = len(hosts)
        usage = {"cpu": str(pods), "memory": f"{pods}Gi", GPU: str(pods * gpus)}
        places = {"prefix": prefix, "roots": [host[len(prefix) :] for host in hosts]}
        slices = [{"domainCount": pods, "podCounts": {"universal": 1}, "valuesPerLevel": [{"individual": places}]}]
        assignment = {
            "name": "main",
            "count": pods,
            "flavors": {resource: "tas" for resource in usage},
            "resourceUsage": usage,
            "topologyAssignment": {"levels": [HOST], "slices": slices},
        }
        conditions = [
            ("QuotaReserved", "True", "QuotaReserved", f"Quota reserved in ClusterQueue {queue}"),
            ("Admitted", "True", "Admitted", "The workload is admitted"),
            ("PodsReady", "True", "Started", "All pods reached readiness and the workload is running"),
        ]
        status = {"admission": {"clusterQueue": queue, "podSetAssignments": [assignment]}}
        return self.write_conditions(workload, status, conditions)

    def start(self, job, workload, queue, hosts):
        """Un-suspends the Job and un-gates its pods, to the hosts in their order."""
        name = job["metadata"]["name"]
        local = job["metadata"]["labels"][QUEUE_LABEL]
        labels = {"podset": "main", "tas": "true", "cluster-queue-name": queue, "local-queue-name": local}
        metadata = {
            "labels": {f"kueue.x-k8s.io/{key}": value for key, value in labels.items()},
            "annotations": {"kueue.x-k8s.io/workload": workload["metadata"]["name"]},
        }
        if REQUIRED not in job["spec"]["template"]["metadata"].get("annotations", {}):
            metadata["annotations"][UNCONSTRAINED] = "true"  # placed without having been asked to
        template = {"metadata": metadata, "spec": {"nodeSelector": GROUP, "schedulingGates": [{"name": GATE}]}}
        path = f"{BATCH}/namespaces/{self.namespace}/jobs/{name}"
        self.run.client.patch(path, {"spec": {"suspend": False, "template": template}})
        waited(lambda: len(self.run.pods(self.namespace, name)) == len(hosts), 30)
        for pod in self.run.pods(self.namespace, name):
            place = hosts[int(pod["metadata"]["labels"][INDEX])]
            spec = {"nodeSelector": {**GROUP, HOST: place}, "schedulingGates": None}
            path = f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}"
            self.run.client.patch(path, {"spec": spec})
        waited(lambda: self.run.job(self.namespace, name)["status"].get("ready") == len(hosts), 30)


class Adoption:
    """The part, for a class that has Checks and what `process` asks the cluster by."""

    def adoption(self):
        space = "adoption"
        self.cluster.install()
        for path in WEBHOOKS:
            self.delete(path)
        time.sleep(1)  # until no API server asks them any more
        self.use_namespace(space)
        for collection, document in [
            *kube_objects.queue_objects(space),
            kube_objects.cluster_queue("narrow", {**AMOUNTS, GPU: "40"}),
            kube_objects.local_queue(space, "narrow", "narrow"),
        ]:
            if document["kind"] != "LocalQueue":
                document["metadata"]["finalizers"] = [FINALIZER]
            self.make_queues((collection, document))
        kueue, wish = Kueue(self, space), {REQUIRED: RACK}
        hosts = {"old": [f"b1-r1-h{i}" for i in (1, 2, 3, 4)], "odd": ["b2-r1-h3", "b2-r1-h1"], "plain": ["b2-r2-h2"]}
        for name, queue, gpus, asked in (("old", "narrow", 8, wish), ("odd", "main", 4, wish), ("plain", "main", 1, None)):
            document = kube_objects.job(name, len(hosts[name]), gpus, queue, asked)
            document["spec"]["suspend"] = True
            made = self.submit(space, document)
            workload = kueue.workload(made)
            kueue.admit(workload, {"main": "all"}.get(queue, queue), hosts[name], gpus)
            kueue.start(made, workload, {"main": "all"}.get(queue, queue), hosts[name])
        document = kube_objects.job("waiting", 4, 4, "narrow", wish)
        document["spec"]["suspend"] = True
        waiting = kueue.workload(self.submit(space, document))
        kueue.refuse(waiting)

        before = self.settled(space)
        self.cluster.install()
        self.start(self.manager)
        time.sleep(2)
        after = self.picture(space)
        for what, version in before.items():
            self.check(after.get(what) == version, f"adoption: {what} was {version} and is {after.get(what)}")
        self.check(len(after) == len(before), f"adoption: there is more than before: {set(after) - set(before)}")
        self.check_account("adoption", self.manager)
        self.wait("the waiting job to be looked at", lambda: self.waits_for(space, "waiting", "WaitingForQuota"))
        taken = self.workload_of(space, "waiting")
        self.check(
            taken is not None and taken["metadata"]["uid"] == waiting["metadata"]["uid"],
            "adoption: the waiting job does not go on with Kueue's Workload",
        )
        self.adopted_without_a_wish(space)
        self.adopted_holds_its_place(space)
        self.adopted_stops_and_starts(space, hosts["odd"])
        self.adopted_ends(space)
        for name in ("rack-1", "rack-2", "rack-3", "waiting", "odd"):
            self.remove_job(space, name)
        self.wait("nothing to be left of the adopted jobs", lambda: self.is_empty(space))

    def adopted_without_a_wish(self, space):
        """Kueue's mark on the Job is taken for what it is, also when the Job is stopped."""
        workload = self.workload_of(space, "plain")
        path = f"{KUEUE}/namespaces/{space}/workloads/{workload['metadata']['name']}"
        self.client.patch(path, {"spec": {"active": False}})

        def restored():
            job = self.job(space, "plain")
            return job["spec"]["suspend"] and "annotations" not in job["spec"]["template"]["metadata"]

        self.wait("the job without a wish to be stopped", restored)
        time.sleep(1)
        now = self.workload_of(space, "plain")
        kept = now is not None and now["metadata"]["uid"] == workload["metadata"]["uid"]
        self.check(kept, "adoption: the job without a wish does not go on with Kueue's Workload")
        self.remove_job(space, "plain")
        self.wait("the job without a wish to go", lambda: self.workload_of(space, "plain") is None)

    def adopted_holds_its_place(self, space):
        """Its rack is the first that would be taken, and nobody gets it. The other holds half of a rack."""
        for i in (1, 2, 3):
            self.submit_gang(space, f"rack-{i}", 4, 8)
        for i in (1, 2):
            self.wait(f"rack-{i} to run", lambda i=i: self.runs(space, f"rack-{i}", 4))
        racks = sorted(self.nodes_of(space, f"rack-{i}")[0][:5] for i in (1, 2))
        self.check(racks == ["b1-r2", "b2-r2"], f"adoption: new jobs went to {racks}")
        self.wait("rack-3 to wait", lambda: self.waits_for(space, "rack-3", "TopologyPlacementFailed"))

    def adopted_stops_and_starts(self, space, hosts):
        """Kueue's job is stopped and brought back as Kueue's user wrote it, by what Kueue's Workload says."""
        name = self.workload_of(space, "odd")["metadata"]["name"]
        path = f"{KUEUE}/namespaces/{space}/workloads/{name}"
        self.client.patch(path, {"spec": {"active": False}})

        def restored():
            job, workload = self.job(space, "odd"), self.get(path)
            labels = job["spec"]["template"]["metadata"]["labels"]
            ours = [key for key in labels if key.startswith("kueue.x-k8s.io/")]
            spec = job["spec"]["template"]["spec"]
            clean = not ours and "schedulingGates" not in spec and "nodeSelector" not in spec
            return job["spec"]["suspend"] and clean and "admission" not in workload.get("status", {})

        self.wait("the adopted job to be stopped", restored)
        # rack-3 got the rack that is free now.
        self.wait("rack-3 to run", lambda: self.runs(space, "rack-3", 4))
        self.check(self.nodes_of(space, "rack-3")[0][:5] == hosts[0][:5], "adoption: rack-3 is in another rack")
        self.remove_job(space, "rack-3")
        self.client.patch(path, {"spec": {"active": True}})
        self.wait("the adopted job to run again", lambda: self.runs(space, "odd", 2))

    def adopted_ends(self, space):
        """What it held goes to whom Kueue left waiting."""
        self.remove_job(space, "old")
        self.wait("the waiting job to run", lambda: self.runs(space, "waiting", 4))
        self.wait("the Workload of the deleted job to go", lambda: self.workload_of(space, "old") is None)
        self.check_account("adoption", self.manager)

    def picture(self, space):
        """What nobody may write to: everything but what waits and the statuses of queues."""
        found = {}
        for path in (f"{BATCH}/namespaces/{space}/jobs", f"/api/v1/namespaces/{space}/pods"):
            for item in self.items(path):
                meta = item["metadata"]
                found[f"{path}/{meta['name']}"] = (meta["uid"], meta["resourceVersion"])
        for kind in (f"namespaces/{space}/workloads", "topologies", "resourceflavors", "clusterqueues"):
            for item in self.items(f"{KUEUE}/{kind}"):
                meta = item["metadata"]
                if holds(item, "Admitted") or kind in ("topologies", "resourceflavors"):
                    found[f"{kind}/{meta['name']}"] = (meta["uid"], meta["resourceVersion"])
                else:
                    found[f"{kind}/{meta['name']}"] = (meta["uid"], meta["finalizers"])
        return found

    def settled(self, space):
        last = self.picture(space)
        for _ in range(20):
            time.sleep(1)
            now = self.picture(space)
            if now == last:
                break
            last = now
        return last

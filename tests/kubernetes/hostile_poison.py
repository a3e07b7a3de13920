"""Objects as bad as can be: a part of `hostile`."""
import concurrent.futures

import api_client
import hostile_objects
import kube_objects
from hostile_objects import MOST, NOW
from kube_objects import condition, kueue_object
from names import AMOUNTS, BATCH, GPU, GROUP, HOST, KUEUE, RACK, REQUIRED, WEBHOOKS

ESCAPES = "\x1b[2J\r\n2026-01-01T00:00:00.000000Z info  forged\u202e"


class Poison:
    """The part, for a class that has Checks, Objects and what `hostile` checks again and again."""

    def poison(self):
        space = "poison"
        self.use_queues(space)
        self.honest(space, "before")
        self.lives("one honest Job")
        for part in (
            self.invalid_objects, self.escapes, self.large_objects, self.crowded_jobs, self.absurd_jobs, self.absurd_pods,
            self.odd_queues,
        ):
            part(space)
            self.lives(part.__name__.replace("_", " "))
            self.honest(space, f"after-{part.__name__.replace('_', '-')}")
        # A manager must be able to start with all of it in place. Pods of no node are taken away after a minute.
        self.bind_absurd_pods(space)
        code, _ = self.manager.end()
        self.check(code == 0, f"poison: the manager ended with {code}")
        self.start(self.manager)
        self.lives("a start with all of it")
        self.honest(space, "after-the-start")
        self.check_account("poison", self.manager)
        left = {name for name in self.names_of_pods(space) if name.startswith("absurd-")}
        self.check(left >= {f"absurd-{i}" for i in range(20)}, f"poison: of the absurd pods there are only {left}")
        self.remove_poison(space)
        self.room_for_all(space)
        self.check_account("poison: after it was removed", self.manager)

    def room_for_all(self, space):
        """Nothing of the sums was lost: a gang for each rack, at once, takes every GPU that there is."""
        racks = {}
        for node in self.nodes():
            racks.setdefault(node["metadata"]["labels"][RACK], []).append(node["metadata"]["name"])
        gangs = {f"all-{i}": len(hosts) for i, hosts in enumerate(racks.values())}
        self.check(len(gangs) > 1, f"poison: there is no more than one rack: {racks}")
        for name, pods in gangs.items():
            self.submit_gang(space, name, pods, 8)
        for name, pods in gangs.items():
            self.wait(f"{name} to run beside the others", lambda n=name, p=pods: self.runs(space, n, p), 120)
        taken = sorted(host for name in gangs for host in self.nodes_of(space, name))
        self.check(taken == sorted(self.names_of_nodes()), f"poison: the gangs are on {taken}")
        for name in gangs:
            self.remove_job(space, name)
        self.wait("the gangs to be gone", lambda: not self.names_of_pods(space))

    def names_of_pods(self, space):
        found = self.items(f"/api/v1/namespaces/{space}/pods")
        return {pod["metadata"]["name"] for pod in found}

    def invalid_objects(self, space):
        """Rejections name the object, the field and what to do."""
        workloads, queues = f"{KUEUE}/namespaces/{space}/workloads", f"{KUEUE}/clusterqueues"

        def workload(**fields):
            template = kube_objects.job("", 1, 1)["spec"]["template"]
            template["spec"]["containers"][0]["resources"] = {"requests": fields.pop("requests", {"cpu": "1"})}
            pod_set = {"name": "main", "count": 1, "template": template, **fields}
            return kueue_object("Workload", "bad", {"queueName": "main", "podSets": [pod_set]})

        def queue(**amounts):
            return kube_objects.cluster_queue("bad", amounts)[1]

        levels = [{"nodeLabel": f"example.com/level-{i}"} for i in range(17)]
        topology = kueue_object("Topology", "bad", {"levels": levels})
        control = kueue_object("Topology", "bad", {"levels": [{"nodeLabel": f"a{ESCAPES}"}]})
        flavor = kueue_object("ResourceFlavor", "bad", {"nodeLabels": {"a": f"b{ESCAPES}"}})
        slices = {"required": RACK, "podSetSliceRequiredTopology": HOST}
        for what, path, document, words in (
            ("negative requests", workloads, workload(requests={"cpu": "-5"}), ["requests", "-5", "negative"]),
            ("no quantity", workloads, workload(requests={"cpu": "many"}), ["requests"]),
            ("more pods than there are", workloads, workload(minCount=2), ["minCount", "at most"]),
            ("a slice without a size", workloads, workload(topologyRequest=slices), ["podSetSliceSize", "required"]),
            ("negative quota", queues, queue(cpu="-1"), ["nominalQuota"]),
            ("quota beyond 64 bits", queues, queue(cpu="1e30"), ["nominalQuota"]),
            ("too many levels", f"{KUEUE}/topologies", topology, ["spec.levels", "16"]),
            ("control characters in a level", f"{KUEUE}/topologies", control, ["nodeLabel"]),
            ("control characters in a label", f"{KUEUE}/resourceflavors", flavor, ["nodeLabels"]),
        ):
            self.refused(f"poison: {what}", lambda p=path, d=document: self.create(p, d), *words)
    def escapes(self, space):
        """What is written into annotations must not get onto terminals or into logs as it is."""
        for annotation in ("kueue.x-k8s.io/job-min-parallelism", REQUIRED):
            document = kube_objects.job("escapes", 1, 1)
            document["metadata"]["annotations"] = {annotation: f"1{ESCAPES}"}
            document["spec"]["template"]["metadata"]["annotations"] = {annotation: f"1{ESCAPES}"}
            self.refused(f"poison: {annotation}", lambda d=document: self.submit(space, d), "annotations", "\\x1b[2J")
        check = kueue_object("AdmissionCheck", "odd", {"controllerName": "example.com/odd"})
        self.create(f"{KUEUE}/admissionchecks", check)
        self.others.append(f"{KUEUE}/admissionchecks/odd")
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": NOW}
        self.client.patch(f"{KUEUE}/admissionchecks/odd/status", {"status": {"conditions": [active]}})
        collection, document = kube_objects.cluster_queue("checked", AMOUNTS)
        document["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "odd"}]}
        self.make_queues((collection, document), kube_objects.local_queue(space, "checked", "checked"))
        self.others.append(f"{KUEUE}/clusterqueues/checked")
        self.submit(space, kube_objects.job("checked", 1, 1, "checked"))

        def asked():
            return (self.workload_of(space, "checked") or {}).get("status", {}).get("admissionChecks")

        self.wait("the check to be asked for", asked)
        workload = self.workload_of(space, "checked")
        path = f"{KUEUE}/namespaces/{space}/workloads/{workload['metadata']['name']}"
        state = {"name": "odd", "state": "Rejected", "message": f"no{ESCAPES}", "lastTransitionTime": NOW}
        self.client.patch(f"{path}/status", {"status": {"admissionChecks": [state]}})
        self.wait("the rejected Workload to be deactivated", lambda: not self.get(path)["spec"].get("active", True))
        said = self.manager.said()
        self.check("\x1b" not in said and "\u202e" not in said, "poison: escapes got into the log")
        forged = [line for line in said.splitlines() if line.startswith("2026-01-01T00:00:00.000000Z info  forged")]
        self.check(not forged, f"poison: somebody else wrote into the log: {forged}")

        def messages():
            events = self.items(f"/api/v1/namespaces/{space}/events")
            return [event["message"] for event in events if "Rejected" in event.get("message", "")]

        self.wait("an Event to tell it", messages)
        told = messages() + [c["message"] for c in self.get(path)["status"]["conditions"]]
        self.check(all(text.isprintable() for text in told), f"poison: Events or conditions have escapes: {told}")
        self.remove_job(space, "checked")

    def large_objects(self, space):
        """As large as API servers let them be."""

        def annotated(name, size):
            document = kube_objects.job(name, 1, 1, "main")
            document["metadata"]["annotations"] = {f"example.com/{i}": "x" * (size // 8) for i in range(8)}
            return document

        def long_environment(name, variables, size):
            document = kube_objects.job(name, 1, 1, "main")
            container = document["spec"]["template"]["spec"]["containers"][0]
            container["env"] = [{"name": f"V{i}", "value": "v" * size} for i in range(variables)]
            return document

        too_annotated, too_large = annotated("too-annotated", 300_000), long_environment("too-large", 4000, 1000)
        self.refused(
            "poison: annotations of 300 kB", lambda: self.submit(space, too_annotated),
            "metadata.annotations", "more than 262144 bytes",
        )
        self.refused("poison: a Job of 4 MB", lambda: self.submit(space, too_large), "too large", status=413)
        self.submit(space, annotated("annotated", 255_000))
        self.submit(space, long_environment("variables", 5000, 1))
        self.submit(space, long_environment("large", 700, 1000))
        for name in ("annotated", "variables", "large"):
            self.wait(f"the Job {name} to run", lambda n=name: self.runs(space, n, 1))
        # Such a Job fits, but its Workload, which is written more than once, hardly does.
        try:
            self.submit(space, long_environment("largest", 1330, 1000))
            fits = True
        except api_client.ApiError:
            fits = False
        names = [f"large-{i}" for i in range(12)]
        for name in names:
            self.submit(space, long_environment(name, 700, 1000))
        for name in names + ["largest"] * fits:
            self.wait(f"a Workload of {name} or an Event about it", lambda n=name: self.heard_of(space, n))
        self.say(f"poison: a Job of 1.4 MB {'is' if fits else 'is not'} taken by the API server")

    def crowded_jobs(self, space):
        """A map of thousands of entries: with a Workload of it, nobody could read any Workload as v1beta1."""
        crowded = kube_objects.job("crowded", 1, 1, "main")
        crowded["spec"]["suspend"] = True
        crowded["spec"]["template"]["spec"]["nodeSelector"] = {f"k{i}": "" for i in range(8000)}
        self.refused("poison: a map of thousands", lambda: self.submit(space, crowded), "nodeSelector", "1000 entries")
        for path in WEBHOOKS:
            self.client.remove(path)

        def comes_past():
            try:
                return self.submit(space, crowded) or True
            except api_client.ApiError as refusal:
                if "1000 entries" not in str(refusal):
                    raise
                return False

        self.wait("a crowded Job to come past the webhooks", comes_past)
        self.wait("an Event about the crowded Job", lambda: self.heard_of(space, "crowded"))
        self.check(not self.workload_of(space, "crowded"), "poison: a crowded Job has a Workload")
        self.items(f"{KUEUE.replace('v1beta2', 'v1beta1')}/namespaces/{space}/workloads")
        self.cluster.install()
        self.remove_job(space, "crowded")

    def heard_of(self, space, name):
        """Whether there is a Workload of this Job, or an Event about it by the manager."""
        # Without specs, which are large here.
        metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        workloads = self.client.request("GET", f"{KUEUE}/namespaces/{space}/workloads", accept=metadata)["items"]
        if any(owner["name"] == name for w in workloads for owner in w["metadata"].get("ownerReferences", [])):
            return True
        query = f"fieldSelector=involvedObject.kind%3DJob%2CinvolvedObject.name%3D{name}"
        events = self.items(f"/api/v1/namespaces/{space}/events?{query}")
        return any("phalanx" in str(event.get("source")) + event.get("reportingComponent", "") for event in events)

    def absurd_jobs(self, space):
        many = (1 << 31) - 1
        for name, pods, requests in (
            ("gpus", 1, {GPU: MOST}),
            ("cpus", 1, {"cpu": "1e18"}),
            ("memory", 1, {"memory": "8Ei"}),
            ("sum", many, {"cpu": "4611686018427387904m", GPU: str(1 << 62)}),
            ("pods", many, {"cpu": "1"}),
        ):
            document = kube_objects.job(f"absurd-{name}", 1, 1, "main", {REQUIRED: RACK})
            resources = {"requests": requests, "limits": requests}
            document["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
            document["spec"].update({"parallelism": pods, "completions": pods, "completionMode": "NonIndexed"})
            self.submit(space, document)
            self.wait(
                f"absurd-{name} to wait",
                lambda n=name: condition(self.workload_of(space, f"absurd-{n}") or {}, "QuotaReserved").get("status")
                == "False",
            )
            self.check(not self.pods(space, f"absurd-{name}"), f"poison: absurd-{name} has pods")
        long_name = "n" * 61  # pods have "-0" behind it
        self.submit(space, kube_objects.job(long_name, 1, 1, "main", {"example.com/note": f"note{ESCAPES}"}))
        self.wait("a Job with a long name to run", lambda: self.runs(space, long_name, 1))
        self.remove_job(space, long_name)

    def bind_absurd_pods(self, space):
        """Bound by name, so that no scheduler is asked. Those that are there already stay."""
        nodes = self.names_of_nodes()
        there = self.names_of_pods(space)
        for i in range(40):
            document = hostile_objects.pod(f"absurd-{i}", "nowhere", gpus=MOST)
            document["spec"]["nodeName"] = nodes[0] if i < 20 else f"no-such-node-{i}"
            resources = document["spec"]["containers"][0]["resources"]
            for amounts in resources.values():
                amounts.update({f"example.com/{i}-{j}": MOST for j in range(20)})
            if document["metadata"]["name"] not in there:
                self.create(f"/api/v1/namespaces/{space}/pods", document)

    def absurd_pods(self, space):
        self.bind_absurd_pods(space)
        node = {
            "metadata": {"name": "absurd-node", "labels": {HOST: "absurd-node", "example.com/long": "l" * 63}},
            "spec": {"taints": [{"key": "example.com/absurd", "effect": "NoSchedule"}]},
        }
        node["metadata"]["annotations"] = {"example.com/note": f"note{ESCAPES}", "example.com/large": "x" * 200_000}
        node["metadata"]["labels"].update(GROUP)
        self.create("/api/v1/nodes", node)
        self.others.append("/api/v1/nodes/absurd-node")
        amounts = {"cpu": MOST, "memory": MOST, GPU: MOST, "pods": MOST, "example.com/thing": MOST}
        self.client.patch("/api/v1/nodes/absurd-node/status", {"status": {"allocatable": amounts, "capacity": amounts}})

    def odd_queues(self, _space):
        """Very many of them, cohorts in a circle, names as long as they may be."""
        names = [f"many-{i}" for i in range(self.options.queues - 1)] + ["q" * 253]
        documents = []
        for name in names:
            document = kube_objects.cluster_queue(name, {"cpu": f"{MOST}m"})[1]
            document["spec"]["cohortName"] = f"circle-{len(name) % 3}"
            documents.append(document)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(self.create_apart, documents))
        self.client.close()  # it may have been silent for too long
        for i in range(3):
            cohort = kueue_object("Cohort", f"circle-{i}", {"parentName": f"circle-{(i + 1) % 3}"})
            self.create(f"{KUEUE}/cohorts", cohort)
            self.others.append(f"{KUEUE}/cohorts/circle-{i}")
        self.others += [f"{KUEUE}/clusterqueues/{name}" for name in names]
        reason = lambda: condition(self.get(f"{KUEUE}/clusterqueues/many-0"), "Active").get("reason")  # noqa: E731
        self.wait("a queue in a circle to say so", lambda: reason() == "CohortCycle")

    def create_apart(self, document):
        client = self.cluster.client()
        client.request("POST", f"{KUEUE}/clusterqueues", document)
        client.close()

    def delete_apart(self, path):
        client = self.cluster.client()
        client.remove(path)
        client.close()

    def remove_poison(self, space):
        jobs = self.items(f"{BATCH}/namespaces/{space}/jobs")
        for document in jobs:
            self.remove_job(space, document["metadata"]["name"])
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(self.delete_apart, self.others))
        self.client.close()  # it may have been silent for too long
        left = [path for path in self.others if "many-" not in path]
        self.wait("the poison to be gone", lambda: not any(self.get(path) for path in left), 120)
        self.others = []
        for name in self.names_of_pods(space):
            if name.startswith("absurd-"):
                self.delete(f"/api/v1/namespaces/{space}/pods/{name}?gracePeriodSeconds=0")
        self.wait("its pods to be gone", lambda: not self.names_of_pods(space))

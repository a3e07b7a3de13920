"""Jobs that come in while things happen, and what has to be true of them afterwards: for chaos and faults.

All the while no node may be over-committed, neither by the pods that are on it nor by what was promised to Workloads,
and no queue gives more than its quota. In the end every Job is complete, every one of its indexes ran exactly
once, also counting pods that are gone by then, no pod is left gated, the account of every manager is what a fresh one
would build from the objects, and none of them lacked a right or ended by itself.
"""

import collections
import sys
import threading
import time

sys.dont_write_bytecode = True
import api_client  # noqa: E402
import kube_objects  # noqa: E402
import manager_process  # noqa: E402
from api_client import NO_ANSWER, ApiError  # noqa: E402
from kube_objects import assigned_hosts, holds  # noqa: E402
from names import AMOUNTS, BATCH, BLOCK, GPU, INDEX, JOB_NAME, KUEUE, LEASE_PATH, RACK  # noqa: E402

GPUS_OF_A_NODE = 8
QUOTA = 96  # GPUs: less than there are, so that sometimes the quota decides and sometimes the nodes
WORKLOAD_OF_POD = "kueue.x-k8s.io/workload"
LEASE_SECONDS = 3  # shorter than anybody would want it, so that much happens in little time
MOST_SECONDS_OF_A_POD = 15  # far more than any runs for
CRASHES = ("internal fault", "terminate called", "Sanitizer")


def over_promised(workloads, jobs, pods):
    """What Workloads were promised beyond what a node, or a queue, has.

    The scheduler binds no pod where it does not fit, so pods alone do not tell that a place was given away twice: the
    second gang would just wait. Pods that are done need their places no more, and of a Job that is gone only the pods
    that are left do. Jobs and pods have to be listed after the Workloads: what happens in between makes them fewer.
    """
    done, left = collections.Counter(), collections.Counter()
    for pod in pods:
        name = pod["metadata"]["namespace"], pod["metadata"].get("annotations", {}).get(WORKLOAD_OF_POD)
        which = done if pod.get("status", {}).get("phase") == "Succeeded" else left
        which[name] += 1
        which[(*name, pod["spec"].get("nodeName"))] += 1
    there = {job["metadata"]["uid"] for job in jobs if "deletionTimestamp" not in job["metadata"]}
    promised, reserved = collections.Counter(), 0
    for workload in workloads:
        name = workload["metadata"]["namespace"], workload["metadata"]["name"]
        if not holds(workload, "QuotaReserved") or holds(workload, "Finished"):
            continue
        owners = {owner["uid"] for owner in workload["metadata"].get("ownerReferences", [])}
        stays = owners & there and "deletionTimestamp" not in workload["metadata"]
        needed = lambda count, *place: max(0, count - done[place]) if stays else min(count, left[place])  # noqa: E731
        for pod_set in workload["status"]["admission"]["podSetAssignments"]:
            of_a_pod = int(pod_set.get("resourceUsage", {}).get(GPU, 0)) // pod_set["count"]
            reserved += needed(pod_set["count"], *name) * of_a_pod
            hosts = collections.Counter(assigned_hosts(pod_set.get("topologyAssignment") or {}))
            for host, count in hosts.items():
                promised[host] += needed(count, *name, host) * of_a_pod
    problems = [
        f"node {host}: {amount} of {GPUS_OF_A_NODE} GPUs are promised"
        for host, amount in promised.items()
        if amount > GPUS_OF_A_NODE
    ]
    if reserved > QUOTA:
        problems.append(f"{reserved} of {QUOTA} GPUs of the queue are given away")
    return problems


def promise(name, gpus, host):
    """A Workload that was promised one pod with these GPUs, for the check of the check."""
    place = {"domains": [{"values": [host], "count": 1}]}
    pod_set = {"name": "main", "count": 1, "resourceUsage": {GPU: str(gpus)}, "topologyAssignment": place}
    return {
        "metadata": {"namespace": "a", "name": name, "ownerReferences": [{"uid": "of " + name}]},
        "status": {
            "admission": {"podSetAssignments": [pod_set]},
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
        },
    }


class Sampler(threading.Thread):
    """Looks at all pods and promises, again and again, and notes when a node has more than it has, and which pods there
    ever were.

    A Job that is suspended loses its pods without counting them as failed, so those that are there in the end do not
    tell that it was started twice. They take a second to go, which is enough to be seen.
    """

    def __init__(self, client):
        super().__init__(daemon=True)
        self.looks, self.problems, self.over = 0, [], threading.Event()
        self.ran = collections.defaultdict(set)  # uids of the pods with a node, by namespace, job and index
        self._failure, self._looks_before = None, 0
        self._client = client
        self.start()

    def run(self):
        try:
            while not self.over.wait(0.2):
                try:
                    self._look()
                except (*NO_ANSWER, ApiError):
                    pass  # an API server that is away is part of some tests; who never looked has checked nothing
        except Exception as problem:  # whatever it is, failure() tells it
            self._failure = problem

    def begin_part(self):
        """From here on it has to look anew."""
        self._looks_before = self.looks

    def failure(self):
        """Why nothing can be concluded from what it saw in this part; "" if it did look."""
        if self._failure is not None or not self.is_alive():
            return f"nobody looks at the pods any more: {self._failure!r}"
        return "" if self.looks > self._looks_before else "nobody has looked at the pods"

    def _look(self):
        used = collections.Counter()
        workloads = self._client.request("GET", f"{KUEUE}/workloads")["items"]
        jobs = self._client.request("GET", f"{BATCH}/jobs")["items"]
        pods = self._client.request("GET", "/api/v1/pods")["items"]
        self.problems += over_promised(workloads, jobs, pods)
        for pod in pods:
            node, labels = pod["spec"].get("nodeName"), pod["metadata"].get("labels", {})
            if node and INDEX in labels:
                self.ran[pod["metadata"]["namespace"], labels[JOB_NAME], labels[INDEX]].add(pod["metadata"]["uid"])
            if node and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                for container in pod["spec"]["containers"]:
                    used[node] += int(container["resources"].get("requests", {}).get(GPU, 0))
        self.looks += 1
        for node, amount in used.items():
            if amount > GPUS_OF_A_NODE:
                self.problems.append(f"node {node}: {amount} of {GPUS_OF_A_NODE} GPUs are used")


def random_job(name, chance):
    pods = chance.choice([1, 2, 4, 8])
    gpus = chance.choice([1, 4, 8]) if pods <= 4 else chance.choice([1, 4])
    annotations = {"phalanx.dev/run-for": f"{chance.choice([1, 2, 3])}s"}
    wish = chance.choice(["required", "required", "preferred", None])
    if wish:
        annotations[f"kueue.x-k8s.io/podset-{wish}-topology"] = chance.choice([RACK, BLOCK])
    return kube_objects.job(name, pods, gpus, annotations=annotations)


class Submitter(threading.Thread):
    """Creates random jobs in a namespace, each as often as it takes."""

    def __init__(self, run, namespace, prefix, count, chance, pause=0.4):
        super().__init__(daemon=True)
        self.refusals = []  # by webhooks that could not be called
        self.failure = None
        self._run, self._namespace, self._prefix = run, namespace, prefix
        self._count, self._chance, self._pause = count, chance, pause
        self.start()

    def run(self):
        client = self._run.cluster.client()
        try:
            for index in range(self._count):
                document = random_job(f"{self._prefix}-{index:03d}", self._chance)
                path = f"{BATCH}/namespaces/{self._namespace}/jobs"
                self._run.persist(path, document, client, self.refusals)
                time.sleep(self._chance.uniform(0, self._pause))
        except Exception as problem:  # whatever it is, the one who waits for us tells it
            self.failure = problem


class Run(manager_process.Checks):
    """A cluster with Phalanx installed, managers that come and go, and load."""

    def __init__(self, test, options, lease_seconds=LEASE_SECONDS):
        super().__init__(test, options)
        self.lease_seconds = lease_seconds
        self.configuration = self.configure("")
        self.check_the_check()
        self.sampler = Sampler(self.cluster.client())
        self._reminded = {}  # when which pod was, or was first seen

    def check_the_check(self):
        def judged(promises, jobs_there=True, pods=()):
            jobs = [{"metadata": owner} for each in promises for owner in each["metadata"]["ownerReferences"]]
            return over_promised(promises, jobs if jobs_there else [], pods)

        twice = [promise("x", 8, "h"), promise("y", 1, "h")]
        many = [promise(f"w-{i}", 8, f"h-{i}") for i in range(QUOTA // 8 + 1)]
        noticed = judged(twice) and judged(many) and not judged(twice[:1]) and not judged(twice, jobs_there=False)
        self.check(noticed, "what is promised twice would not be noticed")

    def configure(self, more):
        """Needs a restart of the managers, unless it decides; returns the file."""
        lease = self.lease_seconds
        times = f"leaseDuration: {lease}s, renewDeadline: {lease * 2 // 3}s, retryPeriod: 500ms"
        return self.cluster.write_configuration("config", f"leaderElection: {{{times}}}\n{more}")

    def make_queues(self, namespace):
        """What is there already is shared."""
        self.persist("/api/v1/namespaces", {"metadata": {"name": namespace}})
        for collection, document in kube_objects.queue_objects(namespace, {**AMOUNTS, GPU: str(QUOTA)}):
            self.persist(f"{KUEUE}/{collection}", document)

    def persist(self, path, document, client=None, refusals=None):
        """Creates it, as often as it takes: without a manager nobody answers the webhooks."""

        def again(problem):
            webhook = isinstance(problem, ApiError) and "webhook" in str(problem)
            if webhook and refusals is not None:
                refusals.append(str(problem))
            return webhook or api_client.passes(problem)

        # A CA that somebody removed is back after a minute at most.
        return api_client.insist(lambda: (client or self.client).ensure(path, document), 120, again)

    def ask(self, path):
        """What is there, as soon as the API server answers."""
        return api_client.insist(lambda: self.client.request("GET", path), 60)

    def jobs(self, namespace):
        return self.ask(f"{BATCH}/namespaces/{namespace}/jobs")["items"]

    def all_complete(self, namespace):
        if all(kube_objects.holds(item, "Complete") for item in self.jobs(namespace)):
            return True
        self.remind_kubelet(namespace)
        return False

    def remind_kubelet(self, namespace):
        """A kubelet tries again what failed. kwok does not, and looks again only at a pod that somebody has touched."""
        now = time.monotonic()
        for pod in self.ask(f"/api/v1/namespaces/{namespace}/pods")["items"]:
            uid, bound = pod["metadata"]["uid"], pod["spec"].get("nodeName")
            if not bound or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                continue
            if now - self._reminded.setdefault(uid, now) > MOST_SECONDS_OF_A_POD:
                self._reminded[uid] = now
                touched = {"metadata": {"annotations": {"test.example.com/reminded": f"{now:.0f}"}}}
                try:
                    self.client.patch(f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}", touched)
                except (*NO_ANSWER, ApiError):
                    pass  # it is reminded again

    def leader(self, managers):
        now = manager_process.holder_of(self.ask(LEASE_PATH))
        return next((manager for manager in managers if manager.identity() == now), None)

    def end_of(self, submitter):
        submitter.join(timeout=300)
        done = not submitter.is_alive() and submitter.failure is None
        self.check(done, f"not all jobs could be submitted: {submitter.failure or 'it takes too long'}")

    def verify(self, part, namespace, count, managers, restarts=False):
        """All of it, of the jobs of a namespace; restarts: some were rightly started more than once."""
        self.wait(f"{part}: all jobs to be complete", lambda: self.all_complete(namespace), patience=180)
        runs = collections.Counter()
        for pod in self.ask(f"/api/v1/namespaces/{namespace}/pods")["items"]:
            labels = pod["metadata"]["labels"]
            runs[labels[JOB_NAME], labels[INDEX]] += 1
            self.check(not pod["spec"].get("schedulingGates"), f"{part}: pod {pod['metadata']['name']} is left gated")
        jobs = self.jobs(namespace)
        self.check(len(jobs) == count, f"{part}: {len(jobs)} jobs are there instead of {count}")
        for item in jobs:
            name, status = item["metadata"]["name"], item.get("status", {})
            succeeded, failed = status.get("succeeded", 0), status.get("failed", 0)
            whole = succeeded == item["spec"]["completions"] and failed == 0
            self.check(whole, f"{part}: Job {name}: {succeeded} pods succeeded and {failed} failed")
            for index in range(item["spec"]["completions"]):
                times = runs[name, str(index)]
                self.check(times == 1, f"{part}: Job {name}: index {index} ran {times} times")
        self.verify_seen(part, namespace, jobs, restarts)
        for manager in managers:
            self.verify_manager(part, manager)

    def verify_seen(self, part, namespace, jobs, restarts):
        """What the sampler saw all the while."""
        failure = self.sampler.failure()
        self.check(not failure, f"{part}: {failure}")
        looks = self.sampler.looks + 2  # one that is under way may not have all pods
        self.wait(f"{part}: a look at all pods", lambda: self.sampler.looks >= looks)
        for item in jobs:
            name = item["metadata"]["name"]
            for index in range(item["spec"]["completions"]):
                pods = len(self.sampler.ran.get((namespace, name, str(index)), ()))
                right = pods >= 1 if restarts else pods == 1
                self.check(right, f"{part}: Job {name}: {pods} pods of index {index} were seen on nodes")
        self.check(not self.sampler.problems, f"{part}: {self.sampler.problems[:3]}")
        self.sampler.begin_part()

    def verify_manager(self, part, manager):
        self.check_account(part, manager)
        self.check_rights(part)
        self.check(manager.process.poll() is None, f"{part}: {manager.name} has ended by itself")
        crash = next((line for line in manager.said().splitlines() if any(word in line for word in CRASHES)), "")
        self.check(not crash, f"{part}: {manager.name} says: {crash}")

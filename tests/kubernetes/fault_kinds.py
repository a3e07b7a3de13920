"""The faults of the program `faults`, one class each, and their order in its table."""

import collections
import datetime
import glob
import re
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
import api_client  # noqa: E402
import gang_load  # noqa: E402
import kube_objects  # noqa: E402
import manager_process  # noqa: E402
import trust_probe  # noqa: E402
from cluster_objects import client_configs  # noqa: E402
from fault import LEASE_SECONDS, Fault  # noqa: E402
from fault_networks import NetworkSilent, NetworkSlow, Succession, WatchesCut  # noqa: E402
from names import BATCH, CRDS, KUEUE, WEBHOOKS  # noqa: E402

LONGEST_RUN = 3  # seconds, of a pod (gang_load.py)


class ApiServer(Fault):
    name = "api-server"
    what = "kube-apiserver ends and is started again"

    def disturb(self):
        time.sleep(self.chance.uniform(0.5, 2))
        verb = self.variant("kill", "stop")
        self.run.cluster.control_plane(verb, "kube-apiserver")
        away = self.variant(0, 0, LEASE_SECONDS + 1)  # sometimes nobody can renew the lease
        time.sleep(away)
        self.run.cluster.control_plane("restart", "kube-apiserver")
        name = "SIGKILL" if verb == "kill" else "SIGTERM"
        self.did = f"{name}, {'after more than the lease' if away else 'at once'}"


class Etcd(Fault):
    name = "etcd"
    what = "etcd fails"

    def disturb(self):
        time.sleep(self.chance.uniform(0.5, 2))
        if self.variant(False, False, True):
            self.run.cluster.control_plane("kill", "etcd")
            self.run.cluster.control_plane("restart", "etcd")
            self.did = "killed and started again"
            return
        pause = self.variant(LEASE_SECONDS + 3, 1.5, 0)
        self.run.cluster.control_plane("pause", "etcd")
        time.sleep(pause)
        self.run.cluster.control_plane("resume", "etcd")
        self.did = f"stands still for {'more' if pause > LEASE_SECONDS else 'less'} than the lease"


class Certificates(Fault):
    name = "certificates"
    what = "certificates are replaced"
    pause = 8

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.by_age = self.variant(False, True)
        if self.by_age:
            self.pause = 25

    def begin(self):
        if self.by_age:
            self.run.configure("internalCertManagement: {certificateValidity: 90s, authorityValidity: 3m}\n")
        self.run.restart_managers(without_certificates=True)
        self.keys = self.keys_of_secret()
        self.probe = trust_probe.TrustProbe(self.run.cluster.client(), self.run.webhooks.port)

    def keys_of_secret(self):
        secret = self.run.client.find(self.run.secret) or {}
        return {key for key, value in secret.get("data", {}).items() if value}

    def wait_for_secret(self):
        self.run.wait("the Secret to be whole again", lambda: self.keys_of_secret() == self.keys, patience=120)

    def disturb(self):
        if self.by_age:
            # A certificate is replaced after 60 s, and meanwhile the Secret is emptied; an authority after 120 s.
            meanwhile = self.chance.uniform(56, 66)
            time.sleep(meanwhile)
            self.run.client.patch(self.run.secret, {"data": {"tls.crt": None, "tls.key": None, "ca.crt": None}})
            emptied = time.monotonic()
            self.wait_for_secret()
            time.sleep(max(0, emptied + 145 - meanwhile - time.monotonic()))
            self.did = "certificate and authority run out"
            return
        for field in ("tls.crt", "ca.crt"):
            time.sleep(8)
            served = len(self.probe.identities)
            self.run.client.patch(self.run.secret, {"data": {field: None}})
            # It is trusted everywhere first, which takes its time where much else is going on.
            manager_process.waited(lambda n=served: len(self.probe.identities) > n, 120, 0.5)
            self.wait_for_secret()
        time.sleep(8)
        self.run.forget_certificates()
        self.wait_for_secret()
        time.sleep(8)
        self.did = "the Secret loses its certificate, its authority, itself"

    def check(self, part, submitter):
        probe, before = self.probe, self.probe.handshakes
        self.run.wait(f"{part}: one more handshake", lambda: probe.handshakes > before or not probe.is_alive())
        self.run.check(probe.is_alive() and not probe.failure, f"{part}: the probe ended: {probe.failure!r}")
        probe.stop()
        self.run.check(probe.handshakes > 0 and not probe.problems, f"{part}: not trusted: {probe.problems[:3]}")
        self.run.check(not submitter.refusals, f"{part}: jobs were refused: {submitter.refusals[:3]}")
        self.run.check(len(probe.identities) > 2, f"{part}: {len(probe.identities)} certificates were served")
        self.run.check(len(probe.authorities) > 1, f"{part}: {len(probe.authorities)} bundles were trusted")
        self.counted = f"{len(probe.identities)} certificates, {probe.handshakes} handshakes, "

    def conclude(self):
        if self.by_age:
            self.run.configure("")
            self.run.restart_managers(without_certificates=True)


class Crds(Fault):
    name = "crds"
    what = "CRDs and webhooks are changed"
    pause = 4  # so that jobs come in while the CA is missing, too

    def disturb(self):
        for _ in range(2):
            time.sleep(self.chance.uniform(0, 1))
            self.run.cluster.install()
        # Nobody installs after this, which would bring the CA with it: the managers have to put it back.
        self.removed = time.monotonic()
        self.paths = [*WEBHOOKS, *self.converted()]
        for path in self.paths:
            self.remove_authority(path)

    def converted(self):
        """The CRDs whose versions our webhook converts."""
        for crd in self.run.ask(CRDS)["items"]:
            if crd["spec"]["group"] == "kueue.x-k8s.io" and crd["spec"].get("conversion", {}).get("webhook"):
                yield f"{CRDS}/{crd['metadata']['name']}"

    def remove_authority(self, path):
        """As kubectl replace does: the whole document; once more if somebody was faster."""

        def replaced():
            document = self.run.ask(path)
            for each in client_configs(document):
                each.pop("caBundle", None)
            try:
                left = client_configs(self.run.client.request("PUT", path, document))
                self.run.check(not any("caBundle" in each for each in left), f"{path}: the CA was not removed")
                return True
            except api_client.ApiError as refusal:
                if refusal.status != 409:
                    raise
                return False

        self.run.wait(f"{path} to be replaced", replaced, patience=300)

    def trusted_again(self):
        documents = [self.run.ask(path) for path in self.paths]
        return all(each.get("caBundle") for document in documents for each in client_configs(document))

    def end(self):
        if self.run.wait("the managers to put the CA back everywhere", self.trusted_again, patience=90):
            self.counted = f"whole again within {time.monotonic() - self.removed:.0f} s, "

    def check(self, part, submitter):
        # Old versions are there only if conversion works.
        old = f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{self.namespace}/workloads"
        self.run.check(self.run.ask(old)["items"], f"{part}: workloads cannot be had in their old version")
        self.did = "installed again; replaced without the CA of the webhooks"
        self.counted += f"{len(submitter.refusals)} submissions refused meanwhile, "


class Clocks(Fault):
    name = "clocks"
    what = "the clock of one of two replicas is wrong, and whoever leads is put to sleep"
    repetitions = 2
    libraries = "/usr/lib/*/faketime/libfaketimeMT.so.1"
    sleeps = 2

    def begin(self):
        found = glob.glob(self.libraries)
        if not found:
            sys.exit(f"there is no {self.libraries}; it is in a package of: tools/install-packages cluster")
        self.hours, self.sets = self.variant(1, 5, 20), self.variant(False, True)
        self.did = f"{self.hours} h ahead, {'set while it runs' if self.sets else 'from the start'}"
        self.clock = f"{self.run.cluster.folder}/clock"
        first, second = self.run.managers
        second.environment = {
            "LD_PRELOAD": found[0],
            "FAKETIME_TIMESTAMP_FILE": self.clock,
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.set_clock(0 if self.sets else self.hours)
        # The one whose clock is wrong makes the certificates.
        self.run.restart_managers([second, first], without_certificates=True)
        if not self.sets:
            self.clock_is_told()

    def set_clock(self, hours):
        with open(self.clock, "w", encoding="utf-8") as file:
            file.write(f"+{hours}h\n")

    def clock_is_told(self):
        """It measures that, to within a second."""
        hours, second = self.hours, self.run.managers[1]
        told = rf"the clock of this machine is ({hours}h|{f'{hours - 1}h' if hours > 1 else ''}59m)\S* ahead of"
        self.run.wait(f"second to say: {told}", lambda: re.search(told, second.said()))

    def disturb(self):
        slept = 0
        for _ in range(self.sleeps):
            time.sleep(self.chance.uniform(1, 2))
            if self.sets and slept == 0:
                self.set_clock(self.hours)
                self.clock_is_told()
            manager_process.waited(lambda: self.run.leader(self.run.managers), 60)
            leader = self.run.leader(self.run.managers)
            if leader is None:
                continue
            leader.send(signal.SIGSTOP)
            time.sleep(LEASE_SECONDS + self.chance.uniform(1.0, 2.5))
            leader.send(signal.SIGCONT)
            slept += 1
        self.run.check(slept == self.sleeps, f"{slept} leaders were put to sleep instead of {self.sleeps}")
        self.counted = f"{slept} sleeps, "

    def check(self, part, submitter):
        now = datetime.datetime.now(datetime.timezone.utc)
        for workload in self.run.ask(f"{KUEUE}/namespaces/{self.namespace}/workloads")["items"]:
            name = workload["metadata"]["name"]
            evicted = kube_objects.holds(workload, "Evicted")
            self.run.check(not evicted, f"{part}: Workload {name} was sent back")
            for each in workload["status"]["conditions"]:
                changed = datetime.datetime.fromisoformat(each["lastTransitionTime"].replace("Z", "+00:00"))
                apart = abs((now - changed).total_seconds())
                self.run.check(apart < 600, f"{part}: Workload {name}: {each['type']} changed at {changed}")

    def conclude(self):
        self.run.managers[1].environment = {}
        self.run.restart_managers()


class Conflicts(Fault):
    name = "conflicts"
    what = "others write to all objects all the time"
    repetitions = 2
    lag = 0.15  # seconds each way, by which the managers see what others wrote later than it counts
    burst = 20  # writes to a Workload that is new, while the managers decide on it
    burst_pause = 0.05

    def begin(self):
        self.over, self.touches, self.failure = threading.Event(), 0, None
        self.restarts = self.variant(False, True)  # who suspends a Job, or takes its Workload, has it begin anew
        self.last = {}  # when which pod was touched
        self.conflicts = self.conflicts_met()
        for network in self.networks():
            network.slow_down(self.lag)
        self.writers = [threading.Thread(target=each, daemon=True) for each in (self.touch_all, self.touch_new)]
        for writer in self.writers:
            writer.start()

    def collections(self):
        yield from (f"{KUEUE}/namespaces/{self.namespace}/{plural}" for plural in ("workloads", "localqueues"))
        yield f"{BATCH}/namespaces/{self.namespace}/jobs"
        yield f"/api/v1/namespaces/{self.namespace}/pods"
        yield f"{KUEUE}/clusterqueues"

    def touch_all(self):
        client = self.run.cluster.client()
        try:
            while not self.over.is_set():
                for path in self.collections():
                    self.touch(client, path)
        except Exception as problem:  # whatever it is, it is told in the end
            self.failure = problem

    def touch_new(self):
        """Writes to each new Workload for a second, so that what the managers decide on is not what is there."""
        client = self.run.cluster.client()
        path = f"{KUEUE}/namespaces/{self.namespace}/workloads"
        written = collections.Counter()
        try:
            while not self.over.wait(self.burst_pause):
                for item in client.request("GET", f"{path}?resourceVersion=0")["items"]:
                    if written[item["metadata"]["uid"]] < self.burst:
                        written[item["metadata"]["uid"]] += 1
                        touched = {"metadata": {"annotations": {"faults.example.com/new": str(written.total())}}}
                        attempt(lambda: client.patch(f"{path}/{item['metadata']['name']}", touched))
        except Exception as problem:  # whatever it is, it is told in the end
            self.failure = problem

    def touch(self, client, path):
        for item in client.request("GET", f"{path}?resourceVersion=0")["items"]:
            if path.endswith("/pods") and self.was_touched(item["metadata"]["uid"]):
                continue
            self.touches += 1
            touched = {"metadata": {"annotations": {"faults.example.com/touched": str(self.touches)}}}
            attempt(lambda: client.patch(f"{path}/{item['metadata']['name']}", touched))
            time.sleep(0.02)  # more would keep the other controllers from writing anything

    def was_touched(self, uid):
        """For kwok the time that a pod runs begins anew when somebody touches it."""
        now = time.monotonic()
        if now - self.last.get(uid, 0) < 2 * LONGEST_RUN:
            return True
        self.last[uid] = now
        return False

    def conflicts_met(self):
        """By patches of Workloads: that something is there already, which creating it may find, is another 409."""
        labels = ('phalanx_api_writes_total{', 'code="409"', 'verb="patch"', 'resource="workloads')
        counted = [manager.metrics().items() for manager in self.run.managers]
        return sum(int(count) for each in counted for name, count in each if all(label in name for label in labels))

    def disturb(self):
        self.did = self.variant("annotations", "jobs are suspended, resumed and robbed of their Workloads")
        if self.restarts:
            for _ in range(6):
                time.sleep(self.chance.uniform(0.3, 1))
                self.chance.choice([self.suspend, self.resume, self.rob, self.let_go])()
        else:
            time.sleep(4)

    def some(self, path):
        items = self.run.ask(path)["items"]
        return f"{path}/{self.chance.choice(items)['metadata']['name']}" if items else None

    def change(self, path, patch):
        if path:
            attempt(lambda: self.run.client.patch(path, patch))

    def suspend(self):
        self.change(self.some(f"{BATCH}/namespaces/{self.namespace}/jobs"), {"spec": {"suspend": True}})

    def resume(self):
        self.change(self.some(f"{BATCH}/namespaces/{self.namespace}/jobs"), {"spec": {"suspend": False}})

    def let_go(self):
        self.change(self.some(f"{KUEUE}/namespaces/{self.namespace}/workloads"), {"metadata": {"finalizers": None}})

    def rob(self):
        path = self.some(f"{KUEUE}/namespaces/{self.namespace}/workloads")
        if path:
            self.run.client.remove(path)

    def end(self):
        # They go on until everything is done: with them, not after them.
        self.run.wait("all jobs to be complete", lambda: self.run.all_complete(self.namespace), patience=180)
        self.over.set()
        for writer in self.writers:
            writer.join(timeout=30)
        self.run.check(self.failure is None, f"a foreign writer ended: {self.failure!r}")
        for network in self.networks():
            network.slow_down(0)
        met = self.conflicts_met() - self.conflicts
        self.run.check(met > 0, "no write of a manager to a Workload met a foreign one")
        self.counted = f"{self.touches} foreign writes and those to new Workloads, {met} conflicts, "


class Namespaces(Fault):
    name = "namespaces"
    what = "a namespace is deleted"
    fitting = gang_load.QUOTA // 16  # of its jobs fill the queue

    def begin(self):
        self.doomed = f"{self.namespace}-doomed"
        self.run.make_queues(self.doomed)
        annotations = {"phalanx.dev/run-for": "1h"}
        for index in range(12):
            document = kube_objects.job(f"long-{index:02d}", 4, 4, annotations=annotations)
            self.run.persist(f"{BATCH}/namespaces/{self.doomed}/jobs", document)
        self.run.wait("the jobs to fill the queue", lambda: self.running() == 4 * self.fitting, patience=120)

    def running(self):
        pods = self.run.ask(f"/api/v1/namespaces/{self.doomed}/pods")["items"]
        return sum(pod.get("status", {}).get("phase") == "Running" for pod in pods)

    def disturb(self):
        time.sleep(self.chance.uniform(0.5, 4))
        path = f"/api/v1/namespaces/{self.doomed}"
        self.run.client.remove(path)
        gone = self.run.wait("the namespace to be gone", lambda: not self.run.client.find(path))
        self.did = "with jobs that run and wait, and that leave no room" if gone else "it is not gone"


def attempt(action):
    """What is gone meanwhile, or changed by somebody else, is no matter."""
    try:
        action()
    except api_client.ApiError as refusal:
        if refusal.status not in (404, 409):
            raise


KINDS = [
    ApiServer,
    Etcd,
    WatchesCut,
    NetworkSlow,
    NetworkSilent,
    Succession,
    Certificates,
    Crds,
    Clocks,
    Conflicts,
    Namespaces,
]

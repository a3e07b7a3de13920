"""The faults of the program `faults`, one class each, in the order of its table.

A fault is made for one repetition. begin() comes before the jobs, disturb() while they come in and run, end() has to
leave a cluster on which everything can work, check() looks for what is special about this fault, and conclude() takes
back what another fault must not meet. Repetitions differ by their number, so that each variant comes in turn.
"""

import datetime
import os
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
import api_client  # noqa: E402
import manager_process  # noqa: E402
import trust_probe  # noqa: E402
from manager_process import BATCH, KUEUE  # noqa: E402

LONGEST_RUN = 3  # seconds, of a pod (gang_load.py)
LEASE = 6  # seconds; short, but longer than a machine takes that has more to do than this


class Fault:
    name = what = ""
    repetitions = 1
    pause = 0.8  # at most so many seconds between two jobs

    def __init__(self, run, namespace, number, chance):
        self.run, self.namespace, self.number, self.chance = run, namespace, number, chance
        self.did = "nothing"  # a few words for people who wait

    def begin(self):
        pass

    def disturb(self):
        pass

    def end(self):
        pass

    def check(self, part, submitter):
        pass

    def conclude(self):
        pass

    def variant(self, *choices):
        return choices[self.number % len(choices)]

    def networks(self):
        return [manager.network for manager in self.run.managers]


class ApiServer(Fault):
    name = "api-server"
    what = "kube-apiserver ends (SIGTERM, SIGKILL) and is started again"

    def disturb(self):
        time.sleep(self.chance.uniform(0.5, 2))
        verb = self.variant("kill", "stop")
        self.run.cluster.control_plane(verb, "kube-apiserver")
        time.sleep(self.variant(0, 0, LEASE + 1))  # sometimes nobody can renew the lease
        self.run.cluster.control_plane("restart", "kube-apiserver")
        self.did = f"{verb} and restart"


class Etcd(Fault):
    name = "etcd"
    what = "etcd stands still for less and for more than the lease, or is killed and started again"

    def disturb(self):
        time.sleep(self.chance.uniform(0.5, 2))
        if self.variant(False, False, True):
            self.run.cluster.control_plane("kill", "etcd")
            self.run.cluster.control_plane("restart", "etcd")
            self.did = "killed and restarted"
            return
        pause = self.variant(LEASE + 3, 1.5, 0)
        self.run.cluster.control_plane("pause", "etcd")
        time.sleep(pause)
        self.run.cluster.control_plane("resume", "etcd")
        self.did = f"paused for {pause} s"


class WatchesCut(Fault):
    name = "watches-cut"
    what = "all connections of the managers are cut again and again (RST, FIN)"
    times = 6

    def disturb(self):
        cut = 0
        for _ in range(self.times):
            time.sleep(self.chance.uniform(0.2, 1.5))
            reset = self.variant(True, False)
            network = self.chance.choice(self.networks())
            cut += network.cut(reset)
        self.did = f"{cut} connections cut"


class NetworkSlow(Fault):
    name = "network-slow"
    what = "every byte of a manager is late by 50 to 500 ms each way; or 64 KiB/s"

    def disturb(self):
        for network in self.networks():
            delay = self.chance.uniform(0.05, 0.5)
            network.slow_down(*self.variant((delay, 0), (0.02, 1 << 16)))
        time.sleep(10)
        self.did = self.variant("delayed", "throttled")

    def end(self):
        for network in self.networks():
            network.slow_down(0)


class NetworkSilent(Fault):
    name = "network-silent"
    what = "connections stay open and nothing arrives: all for some seconds, all for ever, watches alone for ever"

    def disturb(self):
        time.sleep(self.chance.uniform(0.5, 2))
        if self.variant(False, True, False):
            for network in self.networks():
                network.hold()
            time.sleep(LEASE + self.chance.uniform(1, 3))
            for network in self.networks():
                network.release()
            self.did = "all held back for a while"
            return
        # On the connections of watches the manager has nothing to say.
        quiet = self.variant(0, 0, 1)
        dead = sum(network.deaden(quiet) for network in self.networks())
        self.did = f"{dead} connections dead"


class Certificates(Fault):
    name = "certificates"
    what = "the Secret loses its certificate, its authority, itself; certificate and authority run out and are renewed"
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
        self.probe = trust_probe.TrustProbe(self.run.cluster.client(), self.run.webhooks.port)

    def disturb(self):
        if self.by_age:
            # A certificate is replaced after 60 s, in the midst of which the Secret is emptied; an authority after 120 s.
            meanwhile = self.chance.uniform(56, 66)
            time.sleep(meanwhile)
            self.run.client.patch(self.run.secret, {"data": {"tls.crt": None, "tls.key": None, "ca.crt": None}})
            time.sleep(145 - meanwhile)
            return
        for field in ("tls.crt", "ca.crt"):
            time.sleep(8)
            served = len(self.probe.identities)
            self.run.client.patch(self.run.secret, {"data": {field: None}})
            # It is trusted everywhere first, which takes its time where much else is going on.
            manager_process.waited(lambda n=served: len(self.probe.identities) > n, 120, 0.5)
        time.sleep(8)
        self.run.forget_certificates()
        time.sleep(8)

    def check(self, part, submitter):
        self.probe.stop()
        probe = self.probe
        self.run.check(probe.handshakes > 0 and not probe.problems, f"{part}: not trusted: {probe.problems[:3]}")
        self.run.check(not submitter.refusals, f"{part}: jobs were refused: {submitter.refusals[:3]}")
        self.run.check(len(probe.identities) > 2, f"{part}: {len(probe.identities)} certificates were served")
        self.run.check(len(probe.authorities) > 1, f"{part}: {len(probe.authorities)} bundles were trusted")
        self.did = f"{len(probe.identities)} certificates, {probe.handshakes} handshakes"

    def conclude(self):
        if self.by_age:
            self.run.configure("")
            self.run.restart_managers(without_certificates=True)


class Crds(Fault):
    name = "crds"
    what = "CRDs and webhooks are installed again, and replaced without the CA of the webhooks"
    repetitions = 1
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

    def disturb(self):
        time.sleep(self.chance.uniform(0, 1))
        self.run.cluster.install()
        for crd in ("workloads.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"):
            self.replace(f"{self.crds}/{crd}", self.without_authority)
        self.replace(trust_probe.WEBHOOKS, self.without_authorities)
        time.sleep(self.chance.uniform(0, 1))
        self.run.cluster.install()

    def replace(self, path, change):
        """As kubectl replace does: the whole document; once more if somebody was faster."""
        while True:
            document = self.run.ask(path)
            change(document)
            try:
                self.run.client.request("PUT", path, document)
                return
            except api_client.ApiError as refusal:
                if refusal.status != 409:
                    raise

    @staticmethod
    def without_authority(crd):
        crd["spec"]["conversion"]["webhook"]["clientConfig"].pop("caBundle", None)

    @staticmethod
    def without_authorities(configuration):
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"].pop("caBundle", None)

    def check(self, part, submitter):
        # Old versions are there only if conversion works.
        old = f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{self.namespace}/workloads"
        self.run.check(self.run.ask(old)["items"], f"{part}: workloads cannot be had in their old version")
        self.did = f"{len(submitter.refusals)} submissions refused meanwhile"


class Clocks(Fault):
    name = "clocks"
    what = "the clock of one of two replicas is 1, 5 or 20 hours ahead, and whoever leads is put to sleep"
    repetitions = 1
    library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
    sleeps = 2

    def begin(self):
        if not os.path.exists(self.library):
            sys.exit(f"there is no {self.library}; it is in a package of: tools/install-packages cluster")
        hours = self.variant(1, 5, 20)
        self.did = f"{hours} h ahead"
        first, second = self.run.managers
        second.environment = {
            "LD_PRELOAD": self.library,
            "FAKETIME": f"+{hours}h",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        # The one whose clock is wrong makes the certificates.
        self.run.restart_managers([second, first], without_certificates=True)

    def disturb(self):
        for _ in range(self.sleeps):
            time.sleep(self.chance.uniform(1, 2))
            leader = self.run.leader(self.run.managers)
            if leader is None:
                continue
            leader.send(signal.SIGSTOP)
            time.sleep(LEASE + self.chance.uniform(1.0, 2.5))
            leader.send(signal.SIGCONT)

    def check(self, part, submitter):
        now = datetime.datetime.now(datetime.timezone.utc)
        for workload in self.run.ask(f"{KUEUE}/namespaces/{self.namespace}/workloads")["items"]:
            name = workload["metadata"]["name"]
            evicted = manager_process.holds(workload, "Evicted")
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
    what = "others write to all objects all the time; jobs are suspended, resumed and robbed of their Workloads"
    repetitions = 2

    def begin(self):
        self.over, self.touches, self.failure = threading.Event(), 0, None
        self.last = {}  # when which pod was touched
        self.conflicts = self.conflicts_met()
        self.writer = threading.Thread(target=self.touch_all, daemon=True)
        self.writer.start()

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
        counted = [manager.metrics().items() for manager in self.run.managers]
        return sum(int(count) for each in counted for name, count in each if 'code="409"' in name)

    def disturb(self):
        if self.variant(False, True):
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
            manager_process.delete(self.run.client, path)

    def end(self):
        # They go on until everything is done: with them, not after them.
        self.run.wait("all jobs to be complete", lambda: self.run.all_complete(self.namespace), patience=180)
        self.over.set()
        self.writer.join(timeout=30)
        self.run.check(self.failure is None, f"the foreign writer ended: {self.failure!r}")
        self.did = f"{self.touches} foreign writes, {self.conflicts_met() - self.conflicts} conflicts"


class Namespaces(Fault):
    name = "namespaces"
    what = "a namespace with jobs that run and wait, and that leave no room, is deleted"
    repetitions = 1

    def begin(self):
        self.doomed = f"{self.namespace}-doomed"
        self.run.make_queues(self.doomed)
        annotations = {"phalanx.dev/run-for": "1h"}
        for index in range(12):
            document = manager_process.job(f"long-{index:02d}", 4, 4, annotations=annotations)
            self.run.persist(f"{BATCH}/namespaces/{self.doomed}/jobs", document)

    def disturb(self):
        time.sleep(self.chance.uniform(0.5, 4))
        path = f"/api/v1/namespaces/{self.doomed}"
        manager_process.delete(self.run.client, path)
        gone = self.run.wait("the namespace to be gone", lambda: not manager_process.get(self.run.client, path))
        self.did = "gone" if gone else "not gone"


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
    Certificates,
    Crds,
    Clocks,
    Conflicts,
    Namespaces,
]

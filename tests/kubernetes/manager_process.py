"""What the tests of a manager on a control plane have in common: the cluster, the process, checks.

The manager runs with the rights of its own ServiceAccount, as it would in a pod; the test itself may do everything.
"""

import argparse
import atexit
import functools
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
import api_client  # noqa: E402
import rights  # noqa: E402
from names import KUEUE, LEASE_PATH, RBAC  # noqa: E402

SHORT_LEASE = "leaderElection: {leaseDuration: 4s, renewDeadline: 3s, retryPeriod: 1s}\n"  # not to wait for long
HERE = os.path.dirname(os.path.abspath(__file__))

signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))


def free_port():
    """One that stays free for a replica between two of its lives (free-ports says why)."""
    return int(subprocess.check_output([f"{HERE}/free-ports", "1"]))


def is_ready(port):
    """Whether somebody says so at /readyz."""
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2).status == 200
    except OSError:
        return False


def replace_file(path, text):
    """As a whole, as a kubelet does with what it mounts."""
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(f"{path}.part", path)


def built(*words):
    """The folder in which build-servers has put what it is asked for."""
    return subprocess.check_output([f"{HERE}/build-servers", *words], text=True).strip()


class Cluster:
    """A control plane that is up (control-plane up HOME), and how managers of it are started."""

    def __init__(self, home, phalanx, folder):
        self.home, self.phalanx, self.folder = home, phalanx, folder
        self.kubeconfig = f"{home}/admin.kubeconfig"
        self.manager_kubeconfig = f"{folder}/manager.kubeconfig"
        self.certificates = f"{folder}/certificates"
        self.webhook = free_port()
        os.makedirs(folder, exist_ok=True)

    def client(self):
        return api_client.Client(self.kubeconfig)

    def control_plane(self, verb, *words):
        command = [f"{HERE}/control-plane", verb, self.home, *words]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    @functools.cached_property
    def servers(self):
        """The folder of kubectl, helm and the programs of the control plane."""
        return built()

    def kubectl(self, *words, stdin=""):
        """What it prints."""
        command = [f"{self.servers}/kubectl", "--kubeconfig", self.kubeconfig]
        command += ["--cache-dir", f"{self.folder}/kubectl-cache", *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True, input=stdin)
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(words)}: {done.stderr}")
        return done.stdout

    def documents(self, manifests):
        """Of YAML, which kubectl can read and Python cannot; it prints one document of JSON after another."""
        shown = self.kubectl("patch", "--local", "-f", "-", "--type=merge", "-p", "{}", "-o", "json", stdin=manifests)
        decoder = json.JSONDecoder()
        while shown := shown.lstrip():
            document, length = decoder.raw_decode(shown)
            shown = shown[length:]
            yield document

    def write_kubeconfig(self, account="phalanx-system/phalanx", path=None):
        """With the rights of a ServiceAccount; by default for managers. Returns the file."""
        path = path or self.manager_kubeconfig
        replace_file(path, self.control_plane("kubeconfig", account))
        return path

    def pid_of(self, program):
        with open(f"{self.home}/processes/{program}/pid", encoding="ascii") as file:
            return int(file.read().split()[0])

    def install(self):
        """CRDs, rights and webhooks; then the manager's account has a kubeconfig."""
        command = [self.phalanx, "install", "--apply", "--kubeconfig", self.kubeconfig]
        command += ["--webhook-url", f"https://127.0.0.1:{self.webhook}", "--webhook-cert-dir", self.certificates]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.write_kubeconfig()

    def observer(self):
        """A file with the token of an account that may read metrics and the account, and nothing else."""
        path = f"{self.folder}/observer.token"
        if os.path.exists(path):
            return path
        client, name = self.client(), "phalanx-observer"
        urls = {"nonResourceURLs": ["/metrics", "/debug/account"], "verbs": ["get"]}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": name}
        for collection, document in (
            ("/api/v1/namespaces/default/serviceaccounts", {}),
            (f"{RBAC}/clusterroles", {"rules": [urls]}),
            (f"{RBAC}/clusterrolebindings", {"roleRef": role, "subjects": [subject]}),
        ):
            client.ensure(collection, {"metadata": {"name": name}, **document})
        account = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
        token = client.request("POST", account, {"spec": {"expirationSeconds": 86400}})["status"]["token"]
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.write(token)
        return path

    def write_configuration(self, name, fields):
        """Returns the file."""
        path = f"{self.folder}/{name}.yaml"
        replace_file(path, f"apiVersion: config.phalanx.dev/v1\nkind: Configuration\n{fields}")
        return path


class Manager:
    """One replica, with ports that stay the same over its lives."""

    def __init__(self, cluster, name="manager", configuration=None, webhook=None):
        self.name, self.cluster, self.configuration = name, cluster, configuration
        self.health, self.metrics_port, self.webhook = free_port(), free_port(), webhook or cluster.webhook
        self.kubeconfig, self.certificates = cluster.manager_kubeconfig, cluster.certificates
        self.arguments = []  # more of them, from the next start on
        self.environment = {}  # the same, of variables
        self.log = f"{cluster.folder}/{name}.log"
        self.process = None
        self.lives = 0
        self._log_begin = 0
        atexit.register(self.end, signal.SIGKILL)  # a test that is interrupted leaves nothing behind

    def identity(self):
        """Its holder in the lease, but for the random number."""
        return f"{self.name}-{self.lives}"

    def start(self):
        self.lives += 1
        command = [self.cluster.phalanx, "manager", "--kubeconfig", self.kubeconfig]
        if self.configuration:
            command += ["--config", self.configuration]
        command += ["--identity", self.identity()]
        command += ["--webhook-port", str(self.webhook), "--webhook-cert-dir", self.certificates]
        command += ["--health-address", f"127.0.0.1:{self.health}"]
        command += ["--metrics-address", f"127.0.0.1:{self.metrics_port}"]
        command += self.arguments
        with open(self.log, "a", encoding="utf-8") as log:
            self._log_begin = log.tell()
            environment = {**os.environ, **self.environment}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def said(self):
        """What it said in this life."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            log.seek(self._log_begin)
            return log.read()

    def ready(self):
        return is_ready(self.health)

    def ready_ms(self):
        return int(re.search(r"^ready in (\d+) ms$", self.said(), re.MULTILINE).group(1))

    def leads(self):
        return "leads: decides from here on" in self.said()

    def connect(self):
        """TLS to its webhooks, whatever certificate it shows."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.webhook), timeout=10))

    def ask(self, path, token=None, method="GET"):
        """Of its metrics endpoint: the status and the text. Without a token as nobody; with True as the observer."""
        if token is True:
            with open(self.cluster.observer(), encoding="ascii") as file:
                token = file.read()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        address = f"https://127.0.0.1:{self.metrics_port}{path}"
        trust = ssl.create_default_context(cafile=f"{self.certificates}/ca.crt")
        request = urllib.request.Request(address, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20, context=trust) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def metrics(self):
        status, text = self.ask("/metrics", True)
        if status != 200:
            raise RuntimeError(f"{self.name}: /metrics: {status} {text}")
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM, patience=30):
        """Returns its exit code, and how long it took to end."""
        if self.process is None:
            return None
        begun = time.monotonic()
        self.process.send_signal(number)
        self.process.send_signal(signal.SIGCONT)
        try:
            code = self.process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.process = None
        return code, time.monotonic() - begun

    def account_problem(self):
        """What its account has that the objects do not say; "" if nothing."""
        command = [self.cluster.phalanx, "account", "--kubeconfig", self.cluster.kubeconfig]
        command += ["--manager", f"https://127.0.0.1:{self.metrics_port}", "--patience", "20s"]
        command += ["--manager-ca", f"{self.certificates}/ca.crt", "--manager-token", self.cluster.observer()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"{self.name}: {done.stdout}{done.stderr}".strip()


def holder(client):
    return holder_of(client.request("GET", LEASE_PATH))


def holder_of(lease):
    """Who has it, by the name that was given: the manager adds a random number to it."""
    return lease["spec"].get("holderIdentity", "").rpartition("_")[0]


def parser(description, parts=()):
    """Of what every test is called with: DIR PHALANX WORK-FOLDER and, if it has parts, --only."""
    arguments = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("home", "phalanx", "folder"):
        arguments.add_argument(name)
    if parts:
        arguments.add_argument("--only", nargs="+", choices=parts, default=parts)
    return arguments


class Checks:
    """A test on a cluster: counts what held and what did not."""

    def __init__(self, test, options):
        self.test, self.count, self.problems = test, 0, []
        self.options = options
        self.cluster = Cluster(options.home, options.phalanx, options.folder)
        self.client = self.cluster.client()

    def say(self, text):
        print(f"{self.test}: {text}", file=sys.stderr, flush=True)

    def check(self, holds, problem):
        self.count += 1
        if not holds:
            self.problems.append(problem)
            self.say(f"FAIL {problem}")
        return bool(holds)

    def wait(self, what, condition, patience=60):
        """A check, too: that it comes true in time."""
        return self.check(waited(condition, patience), f"after {patience} s still waiting for: {what}")

    def refused(self, what, request, *words, status=422):
        """That the API server refuses, with this status and a message that has all these words in it."""
        try:
            request()
        except api_client.ApiError as refusal:
            text = str(refusal)
            lacking = [word for word in words if word not in text]
            self.check(words and not lacking, f"{what}: {lacking} are not in the refusal: {text[:500]}")
            self.check(refusal.status == status, f"{what}: status {refusal.status}: {text[:300]}")
            self.check(text.isprintable(), f"{what}: the refusal has control characters in it: {text!r}")
            return
        self.check(False, f"{what}: is not refused")

    def check_account(self, part, manager):
        problem = manager.account_problem()
        self.check(not problem, f"{part}: {problem}")

    def check_rights(self, part):
        """That no manager of this cluster was ever refused what it wanted, for lack of rights."""
        refusals = list(rights.refusals(self.cluster.home))
        self.check(not refusals, f"{part}: managers may not do what they want to: {refusals[:3]}")

    def start(self, manager):
        """Until it decides."""
        manager.start()
        self.wait(f"{manager.name} to be ready", manager.ready)
        self.wait(f"{manager.name} to lead", manager.leads)

    def run_parts(self, parts, only=()):
        """The methods of these names, or some of them; says how long each took."""
        for part in parts:
            if not only or part in only:
                begun = time.monotonic()
                getattr(self, part.replace("-", "_"))()
                self.say(f"{part}: {time.monotonic() - begun:.1f} s")

    def clean_up(self, namespaces, cluster_queues, patience=60):
        """Removes them and what queue_objects made, while a manager still runs that lets them go."""
        paths = [f"/api/v1/namespaces/{name}" for name in namespaces]
        paths += [f"{KUEUE}/clusterqueues/{name}" for name in cluster_queues]
        paths += [f"{KUEUE}/resourceflavors/tas", f"{KUEUE}/topologies/default"]
        for path in paths:
            self.client.remove(path)
        self.wait("everything to be gone", lambda: not any(self.client.find(path) for path in paths), patience)

    def conclude(self):
        print(f"{self.count} checks, {len(self.problems)} failed")
        sys.exit(1 if self.problems else 0)


def waited(condition, patience, pause=0.1):
    """Whether it came true in time."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True

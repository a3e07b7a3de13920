"""What a manager shows of itself, and to whom: a part of `process`."""
import json
import signal
import urllib.request

import manager_process
from manager_process import waited

# One of each sort; docs/reference/metrics.md has all, and a unit test that it does.
SERIES = [
    'kueue_admitted_workloads_total{cluster_queue="all",priority_class="",replica_role="leader"}',
    'kueue_admitted_active_workloads{cluster_queue="all",replica_role="leader"}',
    'kueue_local_queue_admitted_active_workloads{name="main",namespace="observability",replica_role="leader"}',
    'kueue_admission_wait_time_seconds_count{cluster_queue="all",priority_class="",replica_role="leader"}',
    'phalanx_decisions_total{cause="",decision="admit"}',
    'phalanx_decisions_total{cause="",decision="ungate"}',
    'phalanx_task_seconds_count{task="place"}',
    'phalanx_task_seconds_count{task="ungate"}',
    'phalanx_api_writes_total{code="200",resource="pods",verb="patch"}',
    'phalanx_requests_total{code="200",path="/mutate-batch-v1-job"}',
    'phalanx_watch_blind_seconds{resource="pods"}',
    "phalanx_step_seconds_count",
    "phalanx_webhook_certificate_expiry_timestamp_seconds",
]


class Observability:
    """The part, for a class that has Checks and what `process` asks the cluster by."""

    def observability(self):
        space = "observability"
        self.use_queues(space)
        self.submit_gang(space, "one", 4, 4)
        self.wait("the gang to run", lambda: self.runs(space, "one", 4))
        self.shown_to_whom()
        self.shown_what(space)
        self.logs_as_json()
        self.remove_job(space, "one")
        self.wait("nothing to be left of the gang", lambda: self.is_empty(space))

    def shown_to_whom(self):
        stranger = self.create("/api/v1/namespaces/default/serviceaccounts/default/token", {})["status"]["token"]
        for token, path, method, wanted in (
            (None, "/metrics", "GET", 401),
            (None, "/debug/account", "GET", 401),
            (None, "/", "GET", 401),
            ("forged", "/metrics", "GET", 401),
            (stranger[:-4] + "AAAA", "/metrics", "GET", 401),
            (stranger, "/metrics", "GET", 403),
            (stranger, "/debug/account", "GET", 403),
            (True, "/metrics", "POST", 403),
            (True, "/debug/other", "GET", 403),
            (True, "/metrics", "GET", 200),
            (True, "/debug/account", "GET", 200),
        ):
            status, text = self.manager.ask(path, token, method)
            who = "the observer" if token is True else "a stranger" if token == stranger else token
            self.check(status == wanted, f"observability: {method} {path} as {who}: {status}, not {wanted}: {text[:200]}")
            if wanted != 200:
                self.check("flavors" not in text and "phalanx_step" not in text, f"observability: {path} is told to {who}")
        for path in ("/healthz", "/readyz"):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.manager.health}{path}", timeout=5) as answer:
                self.check(answer.read() == b"ok\n", f"observability: {path} is not open")

    def shown_what(self, space):
        def missing():
            found = self.manager.metrics()
            return [series for series in SERIES if series not in found]

        waited(lambda: not missing(), 10)
        self.check(not missing(), f"observability: no {missing()}")
        found = self.manager.metrics()
        running = f'kueue_local_queue_admitted_active_workloads{{name="main",namespace="{space}",replica_role="leader"}}'
        self.check(float(found.get(running, 0)) == 1, f"observability: {running} is {found.get(running)}")
        refused = [key for key in found if key.startswith("phalanx_api_writes_total") and 'code="403"' in key]
        self.check(not refused, f"observability: rights are missing: {refused}")

    def logs_as_json(self):
        """A follower of its own says everything as objects of JSON."""
        follower = manager_process.Manager(self.cluster, "json", webhook=manager_process.free_port())
        follower.arguments = ["--log-format", "json", "--log-level", "info"]
        follower.start()
        self.wait("the follower to be ready", follower.ready)
        self.check(follower.metrics()["phalanx_leader"] == "0", "observability: two lead")
        code, _ = follower.end(signal.SIGTERM)
        self.check(code == 0, f"observability: the follower ended with {code}")
        lines = [line for line in follower.said().splitlines() if not line.startswith("ready in ")]
        self.check(len(lines) >= 3, f"observability: the follower said {lines}")
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:
                said = {}
            self.check(set(said) == {"time", "level", "message"}, f"observability: no log in JSON: {line}")

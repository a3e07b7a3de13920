"""Deployments whose pods are processes of this machine.

kwok says of every pod that it runs, but runs nothing. Here each Deployment that a test hosts gets what a kubelet would
do: as long as it has a pod, a process runs; when its last pod is being deleted, the process is told to stop.
"""

import atexit
import subprocess
import threading
import time

import api_client


class HostedDeployment(threading.Thread):
    """Follows the pods of one Deployment. `process` has start(), running() and stop()."""

    def __init__(self, client, namespace, selector, process):
        super().__init__(daemon=True)
        self.process, self.over = process, threading.Event()
        self.lock = threading.Lock()  # whoever has it may stop and start the process itself
        self._client = client  # of its own
        query = selector.replace("=", "%3D").replace("/", "%2F")
        self._path = f"/api/v1/namespaces/{namespace}/pods?labelSelector={query}"
        # Called before what the process registered earlier: otherwise a process that was killed would be started anew.
        atexit.register(self.cease)
        self.start()

    def run(self):
        while not self.over.is_set():
            try:
                with self.lock:
                    self._look()
            except (*api_client.NO_ANSWER, api_client.ApiError):
                pass  # an API server that is busy; the next look comes soon
            time.sleep(0.2)

    def _look(self):
        pods = self._client.request("GET", self._path)["items"]
        if self.over.is_set():
            return
        wanted = any("deletionTimestamp" not in pod["metadata"] for pod in pods)
        if wanted and not self.process.running():
            self.process.start()
        elif not wanted and self.process.running():
            self.process.stop()
        if self.process.running():
            self.process.look()

    def cease(self):
        """From here on nothing is started."""
        self.over.set()
        self.join()

    def end(self):
        self.cease()
        if self.process.running():
            self.process.stop()


class Program:
    """One program with its log, for a HostedDeployment."""

    def __init__(self, log):
        self.log, self.process = log, None
        atexit.register(self.kill)  # a test that is interrupted leaves nothing behind

    def command(self):
        """Its words, and its environment (None: as here)."""
        raise NotImplementedError

    def start(self):
        words, environment = self.command()
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, env=environment)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def look(self):
        """Called again and again while it runs."""

    def kill(self):
        if self.running():
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

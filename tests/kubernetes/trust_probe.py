"""Calls the webhooks as an API server would, trusting exactly what their registration says: for tests of rotation."""

import base64
import hashlib
import socket
import ssl
import sys
import threading

sys.dont_write_bytecode = True
import api_client  # noqa: E402
from names import WEBHOOKS  # noqa: E402


class TrustProbe(threading.Thread):
    """Reads what is trusted, and then connects, again and again: whoever answers must be trusted."""

    def __init__(self, client, port):
        super().__init__(daemon=True)
        self.handshakes, self.problems, self.failure = 0, [], None
        self.identities, self.authorities = set(), set()
        self._client, self._port, self._over = client, port, threading.Event()
        self.start()

    def run(self):
        try:
            while not self._over.wait(0.05):
                self._call()
        except Exception as problem:  # whatever it is, the one who stops us tells it
            self.failure = problem

    def _call(self):
        try:
            trusted = self._trusted()
        except (*api_client.NO_ANSWER, api_client.ApiError, KeyError):
            return  # who is not registered is not called
        try:
            self._shake_hands(trusted)
            self.handshakes += 1
        except ssl.SSLError as problem:
            self.problems.append(str(problem))
        except OSError:
            pass  # nobody listens: that is not what this looks for

    def stop(self):
        self._over.set()
        self.join(timeout=10)

    def _trusted(self):
        webhooks = self._client.request("GET", WEBHOOKS[0])["webhooks"]
        return base64.b64decode(webhooks[0]["clientConfig"]["caBundle"]).decode()

    def _shake_hands(self, trusted):
        self.authorities.add(hashlib.sha256(trusted.encode()).hexdigest())
        context = ssl.create_default_context(cadata=trusted)
        with socket.create_connection(("127.0.0.1", self._port), timeout=5) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                self.identities.add(hashlib.sha256(connection.getpeercert(binary_form=True)).hexdigest())

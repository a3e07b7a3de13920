"""A small client of the Kubernetes API, with nothing but Python's own library.

For the kubeconfigs that control-plane writes: one cluster, one user, certificates inside. kubectl takes 60 ms
for a request, and a test needs thousands.
"""

import base64
import http.client
import json
import re
import ssl
import tempfile
import time
import urllib.parse

MOST_IDLE = 20  # seconds
NO_ANSWER = (OSError, http.client.HTTPException)


class ApiError(Exception):
    """The API server refused; the text is its message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Client:
    """One connection, which stays open between requests. Not for several threads at a time."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            text = file.read()

        def field(name):
            found = re.search(rf"^\s*{name}: *(\S+)$", text, re.MULTILINE)
            return found.group(1) if found else None

        address = urllib.parse.urlsplit(field("server"))
        self._host, self._port = address.hostname, address.port
        authority = base64.b64decode(field("certificate-authority-data")).decode()
        self._tls = ssl.create_default_context(cadata=authority)
        if field("client-key-data"):
            self._load_pair(field("client-certificate-data"), field("client-key-data"))
        self._token = field("token")
        self._connection = None
        self._used = 0.0

    def _load_pair(self, certificate, key):
        with tempfile.NamedTemporaryFile() as file:  # the library reads pairs from files alone
            file.write(base64.b64decode(certificate) + base64.b64decode(key))
            file.flush()
            self._tls.load_cert_chain(file.name)

    def _send(self, connection, method, path, body, content_type, accept):
        headers = {"Accept": accept, "Content-Type": content_type}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, separators=(",", ":"))
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def request(self, method, path, body=None, content_type="application/json", accept="application/json"):
        """Sends a document, or bytes as they are, and returns the answer as a document.

        Raises ApiError, or one of NO_ANSWER.
        """
        # A server closes connections that nobody used for a while, and a request may cross that.
        if time.monotonic() > self._used + MOST_IDLE:
            self.close()
        self._used = time.monotonic()
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(self._host, self._port, context=self._tls, timeout=60)
        try:
            response = self._send(self._connection, method, path, body, content_type, accept)
            text = response.read()
        except NO_ANSWER:
            self.close()
            raise
        return _document(response, text)

    def patch(self, path, body, kind="merge-patch"):
        return self.request("PATCH", path, body, f"application/{kind}+json")

    def find(self, path):
        """None if it is not there."""
        try:
            return self.request("GET", path)
        except ApiError as refusal:
            if refusal.status != 404:
                raise
            return None

    def ensure(self, path, document):
        """Creates it in the collection at this path; None if it is there already, whatever it says."""
        try:
            return self.request("POST", path, document)
        except ApiError as refusal:
            if refusal.status != 409:
                raise
            return None

    def remove(self, path):
        """With what it owns, some time later; one that is not there is no matter."""
        try:
            self.request("DELETE", path, {"propagationPolicy": "Background"})
        except ApiError as refusal:
            if refusal.status != 404:
                raise

    def watch(self, path, accept="application/json", timeout=None):
        """Yields the events of a watch until the server ends it; on a connection of its own."""
        connection = http.client.HTTPSConnection(self._host, self._port, context=self._tls, timeout=timeout)
        try:
            response = self._send(connection, "GET", path, None, "application/json", accept)
            if response.status >= 400:
                _document(response, response.read())
            for line in response:
                yield json.loads(line)
        finally:
            connection.close()

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def passes(problem):
    """Whether that is a server's which may soon have an answer."""
    return not isinstance(problem, ApiError) or problem.status >= 500 or problem.status == 429


def insist(request, patience, again=passes):
    """What it returns, as soon as it meets no problem that passes; after so many seconds the problem is raised."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return request()
        except (*NO_ANSWER, ApiError) as problem:
            if time.monotonic() > deadline or not again(problem):
                raise
        time.sleep(0.2)


def _document(response, text):
    try:
        document = json.loads(text)
    except ValueError:
        document = {"message": text.decode(errors="replace")}
    if response.status >= 400:
        raise ApiError(response.status, document.get("message", str(response.status)))
    return document

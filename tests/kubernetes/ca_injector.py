"""What cert-manager's injector does: the CA of a Secret is in every definition that an annotation says so of, again and again."""

import threading

import api_client
from cluster_objects import client_configs
from names import CRDS

ANNOTATION = "cert-manager.io/inject-ca-from"


class Injector(threading.Thread):
    def __init__(self, client, certificate, secret):
        """`certificate` is what annotations name, `secret` the path of what it is kept in."""
        super().__init__(daemon=True)
        self._client, self._certificate, self._secret = client, certificate, secret  # a client of its own
        self._over = threading.Event()
        self.start()

    def run(self):
        while not self._over.wait(0.5):
            try:
                self._look()
            except (*api_client.NO_ANSWER, api_client.ApiError):
                pass  # somebody was faster; the next look comes soon

    def _look(self):
        authority = ((self._client.find(self._secret) or {}).get("data") or {}).get("ca.crt")
        for definition in annotated(self._client, self._certificate) if authority else ():
            configs = client_configs(definition)
            if any(config.get("caBundle") != authority for config in configs):
                for config in configs:
                    config["caBundle"] = authority
                self._client.request("PUT", f"{CRDS}/{definition['metadata']['name']}", definition)

    def end(self):
        self._over.set()
        self.join()


def annotate(definition, certificate):
    definition["metadata"].setdefault("annotations", {})[ANNOTATION] = certificate


def annotated(client, certificate):
    """The definitions that get the CA of this certificate: those that somebody is called for."""
    every = client.request("GET", CRDS)["items"]
    called = [each for each in every if "webhook" in each["spec"].get("conversion", {})]
    return [each for each in called if each["metadata"].get("annotations", {}).get(ANNOTATION) == certificate]

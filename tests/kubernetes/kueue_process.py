"""A real Kueue on a control plane: its manifests as they are released, its manager as a process of this machine.

The manager runs with the rights of its own ServiceAccount, as long as its Deployment has a pod (hosted_deployment.py). The
manifests are changed only where a pod without an address makes that necessary: its webhooks are reached by a Service of
type ExternalName, on a port of this machine. Its settings, in the ConfigMap and on the command line of the Deployment, are
those that the process has. Its definitions are annotated as they are where cert-manager makes its certificates.
"""

import base64
import json
import os

import ca_injector
import hosted_deployment
import manager_process
from cluster_objects import client_configs

NAMESPACE = "kueue-system"
SELECTOR = "control-plane=controller-manager"
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/c1f6bfd2.kueue.x-k8s.io"
CERTIFICATE = f"{NAMESPACE}/kueue-serving-cert"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/kueue-webhook-server-cert"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/kueue-controller-manager"
REPLICAS = 2
GATES = "--feature-gates=VisibilityOnDemand=false"  # its port is fixed


class Kueue(hosted_deployment.Program):
    def __init__(self, cluster, settings=None):
        """`settings` are more fields of its configuration."""
        built = manager_process.built("kueue")
        super().__init__(f"{cluster.folder}/kueue.log")
        self.cluster, self.program, self.manifests = cluster, f"{built}/kueue", f"{built}/config"
        self.webhook, self.health = manager_process.free_port(), manager_process.free_port()
        self.certificates = f"{cluster.folder}/kueue-certificates"
        self.kubeconfig = f"{cluster.folder}/kueue.kubeconfig"
        self.configuration = f"{cluster.folder}/kueue-config.json"
        self.settings = settings or {}
        self.client = cluster.client()  # used on the thread of its Deployment alone
        os.makedirs(self.certificates, exist_ok=True)

    def documents(self):
        """Everything that an installation of it has, as its own kustomization puts it together."""
        for document in self.cluster.documents(self.cluster.kubectl("kustomize", f"{self.manifests}/default")):
            self._adapt(document)
            yield document

    def _adapt(self, document):
        if document["kind"] == "Service" and document["metadata"]["name"] == "kueue-webhook-service":
            document["spec"] = {"type": "ExternalName", "externalName": "127.0.0.1"}
        for name in document.get("data", {}) if document["kind"] == "ConfigMap" else ():
            if name == "controller_manager_config.yaml":
                document["data"][name] = json.dumps(self.fields(), indent=1)
        if document["kind"] == "Deployment":
            document["spec"]["replicas"] = REPLICAS
            document["spec"]["template"]["spec"]["containers"][0]["args"].append(GATES)
        if "webhooks" in document or "webhook" in document.get("spec", {}).get("conversion", {}):
            for config in client_configs(document):
                config["service"]["port"] = self.webhook
        if document["kind"] == "CustomResourceDefinition" and "conversion" in document["spec"]:
            ca_injector.annotate(document, CERTIFICATE)

    def fields(self):
        return {
            **self.settings,
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"port": self.webhook, "host": "127.0.0.1", "certDir": self.certificates},
            "leaderElection": {
                "leaderElect": True,
                "resourceName": "c1f6bfd2.kueue.x-k8s.io",
                "resourceNamespace": NAMESPACE,
                "resourceLock": "leases",
            },
            "integrations": {"frameworks": ["batch/job"]},
        }

    def write_configuration(self):
        with open(self.configuration, "w", encoding="utf-8") as file:
            json.dump(self.fields(), file)
        self.cluster.write_kubeconfig(f"{NAMESPACE}/kueue-controller-manager", self.kubeconfig)

    def command(self):
        environment = {**os.environ, "KUBECONFIG": self.kubeconfig, "HOME": self.cluster.folder}
        return [self.program, "--config", self.configuration, "--zap-log-level=2", GATES], environment

    def look(self):
        """The Secret with the certificates is mounted into its folder, as a kubelet would."""
        secret = self.client.find(SECRET) or {}
        for name, content in (secret.get("data") or {}).items():
            path, wanted = f"{self.certificates}/{name}", base64.b64decode(content).decode()
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    if file.read() == wanted:
                        continue
            manager_process.replace_file(path, wanted)

    def ready(self):
        return manager_process.is_ready(self.health)

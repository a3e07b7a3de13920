"""The chart of deploy/helm as `helm` renders it, against what `phalanx install` and kustomize print.

Documents are compared as the API server would see them: YAML is read by kubectl, so that nothing is needed but what
the tests of this folder have.
"""

import json
import os
import re
import subprocess

from manager_process import HERE

ROOT = os.path.normpath(f"{HERE}/../..")
CHART = f"{ROOT}/deploy/helm/phalanx"
NAMESPACE = "phalanx-system"
# What the chart adds to every object, and what other installations do not have.
HELM_LABELS = (
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
)
KEEP = "helm.sh/resource-policy"
DIGEST = "sha256:" + "0123456789abcdef" * 4

# Values that are no values, and what helm says about each.
MISTAKES = (
    (["replcas=1"], "additional properties 'replcas' not allowed"),
    (["replicas=two"], "'/replicas': got string, want integer"),
    (["replicas=0"], "'/replicas': minimum: got 0, want 1"),
    (["drainSeconds=90s"], "'/drainSeconds': got string, want integer"),
    (["extraArgs[0]=--drain-timeout=5s"], "extraArgs: --drain-timeout is said by the value drainSeconds"),
    (["image.tag=a b"], "'/image/tag': 'a b' does not match pattern"),
    (["image.digest=sha256:12"], "'/image/digest': 'sha256:12' does not match pattern"),
    (["image.pullPolicy=Sometimes"], "'/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"),
    (["image.name=x"], "'/image': additional properties 'name' not allowed"),
    (["crds.install=yes"], "'/crds/install': got string, want boolean"),
    (["certManager.enable=true"], "'/certManager': additional properties 'enable' not allowed"),
    (["certManager.issuerRef.kind=Issuer"], "'/certManager/issuerRef'"),
    (["certManager.issuerRef.kind=Isuer,certManager.issuerRef.name=x"], "must be one of 'Issuer', 'ClusterIssuer'"),
    (["certManager.duration=90d"], "'/certManager/duration': '90d' does not match pattern"),
    (["configuration.manageJobsWithoutQueueNam=true"], "'/configuration': additional properties"),
    (["configuration.manageJobsWithoutQueueName=maybe"], "got string, want boolean"),
    (["configuration.webhook.port=1"], "'/configuration': additional properties 'webhook' not allowed"),
    (["configuration.featureGates.TASBalancedPlacement=on"], "got string, want boolean"),
    (["configuration.leaderElection.leaseDuration=15"], "'/configuration/leaderElection/leaseDuration'"),
    (["configuration.leaderElection.leaseDuration=0s"], "'/configuration/leaderElection/leaseDuration'"),
    (["configuration.leaderElection.leaderElect=false"], "'/configuration/leaderElection/leaderElect': value must be true"),
    (["configuration.featureGates.TASBalancedPlacment=true"], "'TASBalancedPlacment'"),
    (["configuration.fairSharing.enable=true"], "'/configuration/fairSharing': additional properties 'enable'"),
    (["configuration.fairSharing.preemptionStrategies[0]=Fairest"], "must be one of 'LessThanOrEqualToFinalShare'"),
    (["configuration.waitForPodsReady.timeuot=5m"], "'/configuration/waitForPodsReady': additional properties"),
    (["configuration.waitForPodsReady.requeuingStrategy.limit=5"], "additional properties 'limit' not allowed"),
    (["configuration.waitForPodsReady.blockAdmissionScope=Cluster"], "missing property 'blockAdmission'"),
    (["configuration.resources.quotaCheckStrategy=Block"], "must be one of 'BlockUndeclared', 'IgnoreUndeclared'"),
    (["configuration.admissionFairSharing.resourceWeights.cpu=-1"], "minimum: got -1, want 0"),
    (["webhook.port=80"], "'/webhook/port': minimum: got 80, want 1,024"),
    (["webhook.port=8443"], "'/webhook/port': 'not' failed"),  # metrics are there
    (["webhook.port=8081"], "'/webhook/port': 'not' failed"),  # health is there
    (["configuration.internalCertManagement.authorityValidity=10y"], "'10y' does not match pattern"),
    (["webhook.timeoutSeconds=11"], "'/webhook/timeoutSeconds': maximum: got 11, want 10"),
    (["configuration.internalCertManagement.enable=false"], "say whom API servers trust by webhook.caBundle"),
    (["webhook.jobsWithoutQueue.failurePolicy=ignore"], "must be one of 'Ignore', 'Fail'"),
    (["webhook.caBundle=MIIB"], "'/webhook/caBundle': 'MIIB' does not match pattern"),
    (["webhook.caBundle=-----BEGIN CERTIFICATE----- PRIVATE KEY"], "'/webhook/caBundle': 'not' failed"),
    (["metrics.port=1"], "'/metrics': additional properties 'port' not allowed"),
    (["metrics.readers[0].name=prometheus"], "'/metrics/readers/0': missing property 'namespace'"),
    (["metrics.enabled=false,metrics.serviceMonitor.enabled=true"], "serviceMonitor.enabled needs metrics.enabled"),
    (["logFormat=xml"], "'/logFormat': value must be one of 'text', 'json'"),
    (["logLevel=loud"], "'/logLevel': value must be one of"),
    (["extraArgs[0]=--journal"], "'/extraArgs/0': '--journal' does not match pattern"),
    (["extraArgs[0]=--log-level=warn"], "extraArgs: --log-level is said by the value logLevel"),
    (["extraArgs[0]=--config=/tmp/other"], "extraArgs: --config is said already"),
    (["extraArgs[0]=--journal=/a,extraArgs[1]=--journal=/b"], "extraArgs: --journal is said already"),
    (["extraVolumes[0].name=config"], "'/extraVolumes/0/name': 'not' failed"),
    (["extraVolumeMounts[0].name=journal"], "'/extraVolumeMounts/0': missing property 'mountPath'"),
    (["resources.limits.memory=4GB"], "'/resources/limits/memory': '4GB' does not match pattern"),
    (["podDisruptionBudget.maxUnavailable=0"], "'/podDisruptionBudget/maxUnavailable'"),
    (["tolerations[0].effect=Never"], "'/tolerations/0/effect': value must be one of"),
    (["affinity.podAntiAfinity.x=1"], "'/affinity': additional properties 'podAntiAfinity' not allowed"),
    (["userRoles.create=1"], "'/userRoles/create': got number, want boolean"),
)

# Sets of values that people choose. Everything that the chart can render is in one of them.
CHOICES = {
    "default": {},
    "one-replica": {
        "replicas": 1,
        "podDisruptionBudget": {"enabled": False},
        "resources": {"requests": {"cpu": 2, "memory": "8Gi"}, "limits": {"memory": "8Gi"}},
        "image": {"repository": "registry.example.com:5000/team/phalanx", "digest": DIGEST,
                  "pullSecrets": [{"name": "registry"}]},
    },
    "placed": {
        "nodeSelector": {"role": "control"},
        "tolerations": [{"key": "role", "operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
        "priorityClassName": "system-cluster-critical",
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "platform", "app.kubernetes.io/name": "somebody-else"},
        "serviceAccount": {"annotations": {"c": "d"}},
        "userRoles": {"aggregate": False},
        "extraArgs": ["--journal=/var/lib/phalanx/journal"],
        "extraVolumes": [{"name": "journal", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "journal", "mountPath": "/var/lib/phalanx"}],
        "logFormat": "json",
        "logLevel": "warn",
        "drainSeconds": 20,
    },
    "cert-manager": {"certManager": {"enabled": True}},
    "issuer": {"certManager": {"enabled": True, "issuerRef": {"kind": "ClusterIssuer", "name": "corporate"}}},
    "monitored": {
        "metrics": {
            "readers": [{"name": "prometheus", "namespace": "monitoring"}],
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        },
        "networkPolicy": {"enabled": True, "metricsFrom": [{"namespaceSelector": {}}]},
    },
    "bare": {
        "metrics": {"enabled": False},
        "userRoles": {"create": False},
        "crds": {"install": False},
        "webhook": {"port": 10250, "servicePort": 9000, "timeoutSeconds": 5, "caBundle": "-----BEGIN CERTIFICATE-----\n",
                    "jobsWithoutQueue": {"failurePolicy": "Fail", "excludedNamespaces": ["batch-system"]}},
        "configuration": {"internalCertManagement": {"enable": False}, "fairSharing": {}},
    },
    "configured": {
        "configuration": {
            "manageJobsWithoutQueueName": True,
            "managedJobsNamespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
            "featureGates": {"TASBalancedPlacement": True, "FlavorFungibility": False},
            "resources": {
                "excludeResourcePrefixes": ["networking.example.com/"],
                "quotaCheckStrategy": "IgnoreUndeclared",
                "transformations": [{"input": "a/b", "strategy": "Replace", "multiplyBy": "cpu", "outputs": {"c/d": 2}}],
            },
            "fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]},
            "admissionFairSharing": {"usageHalfLifeTime": "168h", "resourceWeights": {"cpu": 0.5}},
            "waitForPodsReady": {
                "timeout": "10m", "recoveryTimeout": "3m", "blockAdmission": True, "blockAdmissionScope": "ClusterQueue",
                "requeuingStrategy": {"timestamp": "Creation", "backoffLimitCount": 5, "backoffBaseSeconds": 10},
            },
            "headReservation": {"after": "10m"},
            "leaderElection": {"leaderElect": True, "leaseDuration": "20s"},
            "clientConnection": {"qps": 50, "burst": 100},
            "internalCertManagement": {"certificateValidity": "720h"},
        },
    },
}


def _documented_choice():
    """The values that docs/how-to/install.md shows, as the page has them."""
    with open(f"{ROOT}/docs/how-to/install.md", encoding="utf-8") as file:
        return re.search(r"^```yaml\n(image:\n.*?)^```$", file.read(), re.MULTILINE | re.DOTALL).group(1)


CHOICES["install.md"] = _documented_choice()


class Helm:
    """helm, against one cluster, with everything it keeps in a folder."""

    def __init__(self, cluster):
        self.cluster, self.folder = cluster, cluster.folder
        home = f"{cluster.folder}/helm"
        self._environment = dict(os.environ, KUBECONFIG=cluster.kubeconfig)
        self._environment |= {f"HELM_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("CACHE", "CONFIG", "DATA")}

    def try_helm(self, *words):
        command = [f"{self.cluster.servers}/helm", *words]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)

    def helm(self, *words):
        done = self.try_helm(*words)
        if done.returncode:
            raise RuntimeError(f"helm {' '.join(words)}: {done.stderr}")
        return done.stdout

    def values_file(self, name, values):
        """Of a dictionary, or of a text."""
        path = f"{self.folder}/values-{name}.json"  # which is YAML, too
        with open(path, "w", encoding="utf-8") as file:
            file.write(values if isinstance(values, str) else json.dumps(values))
        return path

    def render(self, name, values, chart=CHART, release="phalanx", namespace=NAMESPACE):
        return self.helm("template", release, chart, "-n", namespace, "-f", self.values_file(name, values))

    def definitions(self, name, values, namespace):
        """The documents that docs/how-to/install.md has somebody apply who does not want them in the release."""
        alone = ("--set", "crds.install=true", "--show-only", "templates/crds.yaml")
        file = self.values_file(name, values)
        return self.documents(self.helm("template", "phalanx", CHART, "-n", namespace, "-f", file, *alone))

    def is_understood(self, phalanx, name, documents):
        """Whether a manager would start with the options and the configuration of these documents; what it says."""
        found = {kind: document for (kind, _, _), document in documents.items()}
        configuration = f"{self.folder}/config-{name}.yaml"
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(found["ConfigMap"]["data"]["config.yaml"])
        words = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
        words = [word for word in words if not word.startswith("--config=")]
        command = [phalanx, *words, "--config", configuration, "--check-config"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode == 0, f"values {name}: {done.stderr}"

    def documents(self, text):
        """By kind, namespace and name."""
        found = {}
        for document in self.cluster.documents(text):
            key = (document["kind"], document["metadata"].get("namespace", ""), document["metadata"]["name"])
            assert key not in found, f"{key} is there twice"
            found[key] = document
        return found


def plain(document):
    """Without what Helm adds."""
    document = json.loads(json.dumps(document))
    metadata = document["metadata"]
    for label in HELM_LABELS:
        metadata["labels"].pop(label, None)
    metadata.get("annotations", {}).pop(KEEP, None)
    if not metadata.get("annotations"):
        metadata.pop("annotations", None)
    return document


def difference(ours, theirs, path=""):
    """Where two documents differ first; \"\" if they do not."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            if key not in ours or key not in theirs:
                return f"{path}.{key}: only one has it"
            found = difference(ours[key], theirs[key], f"{path}.{key}")
            if found:
                return found
        return ""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        found = (difference(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(ours, theirs)))
        return next((each for each in found if each), "")
    return "" if ours == theirs else f"{path}: {json.dumps(ours)[:200]} or {json.dumps(theirs)[:200]}"


def differences(ours, theirs):
    """Of two sets of documents, in words."""
    found = [f"{key} is in one of them alone" for key in sorted(ours.keys() ^ theirs.keys())]
    for key in sorted(ours.keys() & theirs.keys()):
        one = difference(ours[key], theirs[key])
        if one:
            found.append(f"{' '.join(key)}: {one}")
    return found


def versions():
    """Of the program, and as the chart names it."""
    with open(f"{ROOT}/CMakeLists.txt", encoding="utf-8") as file:
        program = re.search(r"project\(phalanx VERSION ([0-9.]+)", file.read()).group(1)
    with open(f"{CHART}/Chart.yaml", encoding="utf-8") as file:
        named = re.findall(r"^(?:version|appVersion): (\S+)$", file.read(), re.MULTILINE)
    return program, named


def schema_values(schema=None, path=""):
    """The values that there are, by the schema; what people fill in as they like is one."""
    if schema is None:
        with open(f"{CHART}/values.schema.json", encoding="utf-8") as file:
            schema = json.load(file)
    whole = ("configuration", "resources", "affinity", "certManager.issuerRef", "global")
    if path in whole or "properties" not in schema:
        return [path]
    found = []
    for name, value in schema["properties"].items():
        found += schema_values(value, f"{path}.{name}".lstrip("."))
    return found


def documented_values():
    with open(f"{ROOT}/docs/reference/helm.md", encoding="utf-8") as file:
        return re.findall(r"^\| `([A-Za-z.]+)` \|", file.read(), re.MULTILINE)


def stub_definition(group, version, plural, kind):
    """A kind of somebody else's, with any fields."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind},
            "scope": "Namespaced",
            "versions": [
                {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
            ],
        },
    }


OTHERS_KINDS = (
    stub_definition("cert-manager.io", "v1", "issuers", "Issuer"),
    stub_definition("cert-manager.io", "v1", "certificates", "Certificate"),
    stub_definition("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor"),
)

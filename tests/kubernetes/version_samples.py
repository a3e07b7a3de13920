"""The objects of `versions`: one of each kind as v1beta1 has it, and what is written to it in either version."""

from names import BLOCK, GPU, HOST, RACK

GROUP = "kueue.x-k8s.io"
OLD, NEW = "v1beta1", "v1beta2"
SPACE = "versions"
TIME = "2026-01-01T00:00:00Z"

CONDITION = {"type": "Mine", "status": "True", "reason": "Test", "message": "m", "lastTransitionTime": TIME}
FAIR_SHARING = {
    "weightedShare": 3,
    "admissionFairSharingStatus": {"consumedResources": {"cpu": "2"}, "lastUpdate": TIME},
}
GROUPS = [
    {"coveredResources": ["cpu"], "flavors": [{"name": "none", "resources": [{"name": "cpu", "nominalQuota": "5"}]}]}
]
TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
POD_SETS = [
    {"name": "leader", "count": 1, "template": TEMPLATE},
    {"name": "worker", "count": 4, "template": TEMPLATE, "topologyRequest": {"required": BLOCK}},
]
NEWER_POD_SETS = [
    POD_SETS[0],
    {
        **POD_SETS[1],
        "topologyRequest": {
            "required": BLOCK,
            "podsetSliceRequiredTopologyConstraints": [{"topology": RACK, "size": 2}],
        },
    },
]
GATE = {"name": "gate", "position": "Closed", "lastTransitionTime": TIME}


class Sample:
    """An object of one kind, and what is written to it in either version; None: nothing of that."""

    def __init__(self, kind, resource, old, **more):
        self.kind, self.resource, self.old = kind, resource, old
        self.namespaced = more.get("namespaced", False)
        self.stored = more.get("stored", {})  # what v1beta2 says of the manifest
        self.new_edit = more.get("new_edit", {"metadata": {"labels": {"new": "edit"}}})
        self.old_edit = more.get("old_edit", {"metadata": {"labels": {"old": "edit"}}})
        self.old_status, self.new_status = more.get("old_status"), more.get("new_status")

    def collection(self, version):
        space = f"/namespaces/{SPACE}" if self.namespaced else ""
        return f"/apis/{GROUP}/{version}{space}/{self.resource}"

    def path(self, version):
        return f"{self.collection(version)}/sample"

    def manifest(self):
        return {"apiVersion": f"{GROUP}/{OLD}", "kind": self.kind, "metadata": {"name": "sample"}, **self.old}


SAMPLES = [
    Sample("Topology", "topologies", {"spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "host"}]}}),
    Sample("ResourceFlavor", "resourceflavors", {"spec": {"nodeLabels": {"pool": "none"}}}),
    Sample("WorkloadPriorityClass", "workloadpriorityclasses", {"value": 7, "description": "A text."}),
    Sample(
        "ProvisioningRequestConfig",
        "provisioningrequestconfigs",
        {"spec": {"provisioningClassName": "none.example.com", "managedResources": [GPU]}},
    ),
    Sample(
        "AdmissionCheck",
        "admissionchecks",
        {"spec": {"controllerName": "example.com/none", "retryDelayMinutes": 20}},
        stored={"spec": {"controllerName": "example.com/none"}},
        old_edit={"spec": {"retryDelayMinutes": 30}},
        old_status={"conditions": [CONDITION]},
    ),
    Sample(
        "Cohort",
        "cohorts",
        {"spec": {"parentName": "root", "resourceGroups": GROUPS}},
        stored={"spec": {"parentName": "root"}},
        old_status={"fairSharing": FAIR_SHARING},
    ),
    Sample(
        "ClusterQueue",
        "clusterqueues",
        {
            "spec": {
                "cohort": "none",
                "namespaceSelector": {},
                "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
                "admissionChecks": ["sample"],
                "resourceGroups": GROUPS,
            }
        },
        stored={
            "spec": {
                "cohortName": "none",
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
                "admissionChecksStrategy": {"admissionChecks": [{"name": "sample"}]},
            }
        },
        new_edit={
            "spec": {
                "concurrentAdmissionPolicy": {"migration": {"mode": "RetainFirstAdmission"}},
                "flavorFungibility": {"whenCanPreempt": "TryNextFlavor"},
            }
        },
        old_edit={"spec": {"stopPolicy": "Hold"}},
        old_status={
            "pendingWorkloadsStatus": {
                "lastChangeTime": TIME,
                "clusterQueuePendingWorkload": [{"name": "a", "namespace": "b"}],
            },
            "fairSharing": FAIR_SHARING,
        },
    ),
    Sample(
        "LocalQueue",
        "localqueues",
        {"spec": {"clusterQueue": "sample"}},
        namespaced=True,
        old_edit={"spec": {"stopPolicy": "Hold"}},
        old_status={"flavors": [{"name": "none", "nodeLabels": {"pool": "none"}, "resources": ["cpu"]}]},
    ),
    Sample(
        "Workload",
        "workloads",
        {"spec": {"queueName": "nowhere", "priority": 5, "priorityClassName": "class", "podSets": POD_SETS}},
        namespaced=True,
        stored={"spec": {"queueName": "nowhere", "priority": 5}},
        new_edit={"spec": {"podSets": NEWER_POD_SETS, "preemptionGates": [{"name": "gate"}]}},
        old_edit={"spec": {"queueName": "elsewhere"}},
        old_status={"accumulatedPastExexcutionTimeSeconds": 12},
        new_status={"preemptionGates": [GATE]},
    ),
]

OLD_MANIFEST = f"""
apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata: {{name: default}}
spec: {{levels: [{{nodeLabel: {BLOCK}}}, {{nodeLabel: {RACK}}}, {{nodeLabel: {HOST}}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {{name: tas}}
spec: {{topologyName: default, nodeLabels: {{cloud.provider.com/node-group: tas}}}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: all}}
spec:
  cohort: old
  namespaceSelector: {{}}
  flavorFungibility: {{whenCanBorrow: Borrow, whenCanPreempt: Preempt}}
  resourceGroups:
  - coveredResources: [cpu, memory, {GPU}]
    flavors:
    - name: tas
      resources:
      - {{name: cpu, nominalQuota: 1000}}
      - {{name: memory, nominalQuota: 1000Gi}}
      - {{name: {GPU}, nominalQuota: 128}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{name: main, namespace: {SPACE}}}
spec: {{clusterQueue: all}}
"""

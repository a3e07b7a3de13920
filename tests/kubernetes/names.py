"""Names of the API that the tests of this folder write and look for."""

# Paths.
BATCH = "/apis/batch/v1"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
WEBHOOKS = [f"{REGISTRATION}/{kind}webhookconfigurations/phalanx" for kind in ("mutating", "validating")]
LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/phalanx-system/leases/phalanx-manager"

# Labels, annotations and the like.
BLOCK = "cloud.provider.com/topology-block"
RACK = "cloud.provider.com/topology-rack"
HOST = "kubernetes.io/hostname"
GROUP = {"cloud.provider.com/node-group": "tas"}
GPU = "nvidia.com/gpu"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
GATE = "kueue.x-k8s.io/topology"
JOB_NAME = "batch.kubernetes.io/job-name"
INDEX = "batch.kubernetes.io/job-completion-index"

# Objects.
CERTIFICATES = "phalanx-webhook-certificates"  # the Secret that a manager may read
AMOUNTS = {"cpu": "1k", "memory": "10Ti", GPU: "1k"}  # of a queue: more than there is

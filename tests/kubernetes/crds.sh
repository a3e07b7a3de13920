#!/usr/bin/env bash
# The CRDs of deploy/crds do what they say on a real API server: crds.sh DIR [--webhooks] [--phalanx PROGRAM]
#
# DIR is the folder of a control plane that is up (control-plane up DIR). Installs the CRDs, looks at the tables that
# kubectl shows by their short names, and tries the good and bad objects of crds/*.yaml; crd-cases says how,
# and what the options do. Only v1beta2: v1beta1 needs the conversion webhook. The objects are removed again,
# the CRDs stay.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if (($# < 1)); then
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
home=$1
shift
servers=$("$here/build-servers")
kubectl() { "$servers/kubectl" --kubeconfig "$home/admin.kubeconfig" --cache-dir "$home/kubectl-cache" "$@"; }

# With --webhooks they are there already, with an address of their webhook that ours would replace.
if [[ " $* " != *" --webhooks "* ]]; then
  kubectl apply --server-side --force-conflicts -f "$here/../../deploy/crds" >/dev/null
fi
mapfile -t crds < <(kubectl get crd -o name | grep '\.kueue\.x-k8s\.io$')
kubectl wait --for=condition=Established --timeout=30s "${crds[@]}" >/dev/null
template='{range .items[*]}{.metadata.name}: '
template+='{.status.conditions[?(@.type=="NonStructuralSchema")].message}{"\n"}{end}'
problems=$(kubectl get "${crds[@]}" -o jsonpath="$template" | grep -v ': $' || true)
if [[ -n $problems ]]; then
  echo "FAIL $problems"
  exit 1
fi

shown() {
  local name
  kubectl apply -f "$here/crds/shown.yaml" >/dev/null
  kubectl patch clusterqueue shown --subresource=status --type=merge \
    -p '{"status": {"pendingWorkloads": 3, "admittedWorkloads": 1}}' >/dev/null
  for name in ac co cq flavor flavors kueueworkload kueueworkloads kwl lq prc queue queues rf topo wpc; do
    echo "\$ kubectl get $name -o wide"
    kubectl get "$name" shown -o wide | sed -E 's/ +[0-9]+s$/ AGE/; s/ +/ /g; s/ +$//'
  done
  kubectl delete -f "$here/crds/shown.yaml" >/dev/null
}
if ! shown | diff "$here/crds/shown.txt" - >&2; then
  echo "FAIL kubectl shows other tables than crds/shown.txt"
  exit 1
fi

"$here/crd-cases" "$home/admin.kubeconfig" "$@" "$here"/crds/{topologies,flavors,queues,workloads,provisioning}.yaml

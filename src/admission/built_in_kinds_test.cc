#include "admission/built_in_kinds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "admission/testing.h"

namespace phalanx::admission {
namespace {

std::string problems_of(const BuiltInKinds& kinds, api::Kind kind, std::string_view document,
                        bool strict_fields) {
  std::string text;
  for (const Problem& problem : kinds.check(kind, testing::yaml(document), strict_fields)) {
    text += (text.empty() ? "" : "\n") + problem.text();
  }
  return text;
}

std::string strict(api::Kind kind, std::string_view document) {
  return problems_of(built_in_kinds(), kind, document, true);
}

std::string lenient(api::Kind kind, std::string_view document) {
  return problems_of(built_in_kinds(), kind, document, false);
}

// The rarer corners of a pod: what is refused wrongly here hurts more than what is let through.
constexpr std::string_view kPodSpec = R"(
  activeDeadlineSeconds: 60
  affinity:
    nodeAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, preference: {matchExpressions: [{key: a, operator: In, values: [b]}]}}
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n]}]}]
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, podAffinityTerm: {topologyKey: z, matchLabelKeys: [a], mismatchLabelKeys: [b]}}
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: z, labelSelector: {matchLabels: {a: b}}, namespaceSelector: {}}
  containers:
  - name: main
    env:
    - {name: A, value: "1"}
    - {name: B, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
    - {name: C, valueFrom: {fileKeyRef: {path: p, volumeName: v, key: k, optional: true}}}
    envFrom: [{prefix: P_, configMapRef: {name: c, optional: true}}]
    lifecycle: {preStop: {sleep: {seconds: 5}}, stopSignal: SIGUSR1}
    livenessProbe: {httpGet: {port: http, httpHeaders: [{name: a, value: b}]}, periodSeconds: 5}
    readinessProbe: {grpc: {port: 80, service: s}, terminationGracePeriodSeconds: 3}
    startupProbe: {tcpSocket: {port: 80}}
    ports: [{containerPort: 80, hostPort: 80, hostIP: 1.2.3.4, protocol: TCP}]
    resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
    resources: {claims: [{name: gpu, request: r}], limits: {cpu: 0.5}, requests: {cpu: 1, memory: 1Gi}}
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
    securityContext: {capabilities: {add: [SYS_PTRACE]}, seccompProfile: {type: RuntimeDefault}}
    volumeDevices: [{name: v, devicePath: /dev/x}]
    volumeMounts: [{name: v, mountPath: /v, recursiveReadOnly: Disabled, subPathExpr: $(A)}]
  dnsConfig: {nameservers: [1.1.1.1], options: [{name: ndots, value: "2"}], searches: [a]}
  ephemeralContainers: [{name: debug, image: i, targetContainerName: main}]
  hostAliases: [{ip: 1.1.1.1, hostnames: [a]}]
  hostUsers: false
  hostnameOverride: h
  initContainers: [{name: sidecar, restartPolicy: Always}]
  os: {name: linux}
  overhead: {cpu: 10m}
  readinessGates: [{conditionType: a}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]
  resources: {requests: {cpu: 2}}
  schedulingGates: [{name: g}]
  securityContext: {supplementalGroups: [1], sysctls: [{name: a, value: b}], seLinuxChangePolicy: a}
  setHostnameAsFQDN: true
  tolerations: [{key: a, operator: Exists, tolerationSeconds: 5}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: b, minDomains: 2}]
  volumes:
  - {name: a, csi: {driver: d, volumeAttributes: {a: b}, nodePublishSecretRef: {name: n}}}
  - {name: b, emptyDir: {sizeLimit: 1Gi}}
  - {name: c, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Gi}}}}}}
  - {name: d, image: {reference: r, pullPolicy: Always}}
  - name: e
    projected:
      sources:
      - {clusterTrustBundle: {signerName: s, labelSelector: {}, path: p}}
      - {podCertificate: {signerName: s, keyType: ED25519, keyPath: k}}
      - {serviceAccountToken: {audience: a, expirationSeconds: 600, path: p}}
)";

TEST(BuiltInKinds, EveryCornerOfAPodIsKnown) {
  const std::string pod =
      fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {}", kPodSpec);
  EXPECT_EQ(strict(api::Kind::kPod, pod), "");
}

TEST(BuiltInKinds, UnknownFieldsAreNamedWithWhatWasMeant) {
  struct Case {
    api::Kind kind;
    std::string_view document;
    std::string_view problem;
  };
  for (const auto& [kind, document, problem] : {
           Case{api::Kind::kJob, "spec: {paralelism: 3}",
                "spec.paralelism: unknown field; did you mean `parallelism`?"},
           Case{api::Kind::kJob, "metadata: {lables: {a: b}}",
                "metadata.lables: unknown field; did you mean `labels`?"},
           Case{api::Kind::kJob, "spec: {template: {spec: {restartPolicyy: Never}}}",
                "spec.template.spec.restartPolicyy: unknown field; did you mean `restartPolicy`?"},
           Case{api::Kind::kJob, "spec: {template: {spec: {containers: [{resource: {}}]}}}",
                "spec.template.spec.containers[0].resource: unknown field; did you mean "
                "`resources`?"},
           Case{api::Kind::kPod, "spec: {volumes: [{emptyDir: {}}, {configMap: {nam: x}}]}",
                "spec.volumes[1].configMap.nam: unknown field; did you mean `name`?"},
           Case{api::Kind::kNode, "spec: {taint: []}",
                "spec.taint: unknown field; did you mean `taints`?"},
           Case{api::Kind::kNamespace, "Spec: {}", "Spec: unknown field; did you mean `spec`?"},
           Case{api::Kind::kLimitRange, "spec: {limits: [{defaultRequests: {}}]}",
                "spec.limits[0].defaultRequests: unknown field; did you mean `defaultRequest`?"},
           Case{api::Kind::kPriorityClass, "{spec: {value: 5}}", "spec: unknown field; remove it"},
           Case{api::Kind::kLocalQueue, "{metadata: {label: {}}, spec: {anything: 1}}",
                "metadata.label: unknown field; did you mean `labels`?"},
       }) {
    EXPECT_EQ(strict(kind, document), problem);
    EXPECT_EQ(lenient(kind, document), "");
  }
}

TEST(BuiltInKinds, TypesAreCheckedAlways) {
  struct Case {
    api::Kind kind;
    std::string_view document;
    std::string_view problem;
  };
  for (const auto& [kind, document, problem] : {
           Case{api::Kind::kJob, "spec: []", "spec: must be an object, but is a list"},
           Case{api::Kind::kJob, "spec: {parallelism: '3'}",
                "spec.parallelism: must be a whole number, but is the text \"3\"; remove the "
                "quotes"},
           Case{api::Kind::kJob, "spec: {parallelism: 3000000000}",
                "spec.parallelism: is 3000000000, but must be between -2147483648 and 2147483647"},
           Case{api::Kind::kJob, "spec: {suspend: 'yes'}",
                "spec.suspend: must be true or false, but is the text \"yes\""},
           Case{api::Kind::kPod, "spec: {containers: {name: a}}",
                "spec.containers: must be a list, but is an object"},
           Case{api::Kind::kPod, "spec: {containers: [null]}",
                "spec.containers[0]: must be an object, but is null"},
           Case{api::Kind::kPod, "spec: {containers: [{resources: {limits: {cpu: [1]}}}]}",
                "spec.containers[0].resources.limits[cpu]: must be a quantity, such as 2, 500m or "
                "16Gi, but is a list"},
           Case{api::Kind::kNode, "metadata: {labels: {a: 1}}",
                "metadata.labels[a]: must be a string, but is 1; put it in quotes"},
           Case{api::Kind::kNode, "status: {capacity: 5}",
                "status.capacity: must be an object, but is 5"},
       }) {
    EXPECT_EQ(lenient(kind, document), problem);
    EXPECT_EQ(strict(kind, document), problem);
  }
  EXPECT_EQ(lenient(api::Kind::kPod, "spec: {overhead: {cpu: 0.5, memory: 1e30, gpu: '1'}}"), "");
}

TEST(BuiltInKinds, StatusOfNewerClustersIsLetThrough) {
  EXPECT_EQ(strict(api::Kind::kNode, "status: {tomorrow: 1, conditions: [{type: A, since: b}]}"),
            "");
}

TEST(BuiltInKinds, TablesThatMakeNoSenseAreRefused) {
  const auto problem = [](std::string_view types) {
    const auto loaded = BuiltInKinds::load(types);
    return loaded ? std::string() : loaded.error().message;
  };
  EXPECT_EQ(problem("  a string"), "fields stand before the first type");
  EXPECT_EQ(problem("A\n  a string\nA\n"), "A: is described twice");
  EXPECT_EQ(problem("A\n  a string,\n  a bool\n"), "a: stands twice in a type");
  EXPECT_EQ(problem("A\n  a\n"), "a: has no type");
  EXPECT_EQ(problem("Namespace\n  a text\n"), "text: is no type");
  EXPECT_EQ(problem("Namespace\n  a [Namespace]\n"), "[Namespace]: contains itself");
}

}  // namespace
}  // namespace phalanx::admission

#include "admission/kueue_presence.h"

#include <gtest/gtest.h>

#include "admission/deploy_files.h"
#include "admission/installation.h"
#include "admission/testing.h"

namespace phalanx::admission {
namespace {

using testing::yaml;

constexpr std::string_view kHeldLease = R"(
metadata: {name: c1f6bfd2.kueue.x-k8s.io, namespace: kueue-system}
spec: {holderIdentity: pod-a, leaseDurationSeconds: 15, renewTime: "2026-01-31T08:00:00.000000Z"}
)";

Time at(std::string_view text) {
  const auto time = parse_time(text);
  EXPECT_TRUE(time.has_value());
  return time.value_or(Time());
}

std::vector<std::string> objects_of(const std::vector<KueuePresence>& found) {
  std::vector<std::string> objects;
  for (const KueuePresence& each : found) objects.push_back(each.object);
  return objects;
}

using Objects = std::vector<std::string>;
const Objects kLeaseOnly{"Lease kueue-system/c1f6bfd2.kueue.x-k8s.io"};

TEST(KueuePresenceTest, NothingIsNothing) {
  EXPECT_EQ(find_kueue({}), std::vector<KueuePresence>());
}

TEST(KueuePresenceTest, ALeaseThatMovesIsHeldByAManager) {
  KueueDocuments documents;
  documents.leases = {yaml(kHeldLease)};
  documents.leases_later = documents.leases;
  EXPECT_FALSE(has_moved(documents.leases, documents.leases_later));
  EXPECT_EQ(objects_of(find_kueue(documents)), Objects());
  documents.leases_later[0].at("spec").as_object()["renewTime"] = "2026-01-31T08:00:02.000000Z";
  EXPECT_TRUE(has_moved(documents.leases, documents.leases_later));
  const auto found = find_kueue(documents);
  EXPECT_EQ(objects_of(found), kLeaseOnly);
  EXPECT_NE(found[0].text.find("pod-a holds and renews it"), std::string::npos);
  // Given up at this moment.
  documents.leases_later[0].at("spec").as_object()["holderIdentity"] = "";
  EXPECT_FALSE(has_moved(documents.leases, documents.leases_later));
}

TEST(KueuePresenceTest, ALeaseIsWatchedAsLongAsSomebodyCouldRenewIt) {
  std::vector<json::value> leases{yaml(kHeldLease)};
  EXPECT_EQ(time_to_watch({}, at("2026-01-31T08:00:00Z")), Duration(0));
  EXPECT_EQ(time_to_watch(leases, at("2026-01-31T08:00:14Z")), std::chrono::seconds(15));
  // A clock that is ahead takes it for one that has run out; it is looked at all the same.
  EXPECT_EQ(time_to_watch(leases, at("2026-01-31T09:00:00Z")), std::chrono::seconds(3));
  leases[0].at("spec").as_object()["holderIdentity"] = "";
  EXPECT_EQ(time_to_watch(leases, at("2026-01-31T08:00:00Z")), Duration(0));
}

TEST(KueuePresenceTest, DeploymentsCountByWhatTheyWantAndPodsUntilTheyAreGone) {
  KueueDocuments documents;
  documents.deployments = {
      yaml("{metadata: {name: kueue-controller-manager, namespace: kueue-system}, spec: {replicas: "
           "2}}"),
      yaml("{metadata: {name: stopped, namespace: kueue-system}, spec: {replicas: 0}}")};
  documents.pods = {
      yaml("{metadata: {name: ends, namespace: kueue-system, deletionTimestamp: now}, status: "
           "{phase: Running}}"),
      yaml("{metadata: {name: done, namespace: kueue-system}, status: {phase: Succeeded}}")};
  const auto found = find_kueue(documents);
  EXPECT_EQ(objects_of(found),
            (Objects{"Deployment kueue-system/kueue-controller-manager", "Pod kueue-system/ends"}));
  EXPECT_EQ(found[0].text,
            "has 2 replicas; stop it: kubectl scale --replicas=0 --namespace kueue-system "
            "deployment/kueue-controller-manager");
  EXPECT_EQ(found[1].text, "is being ended; wait until it is gone");
}

TEST(KueuePresenceTest, WebhooksAreKnownByThePathsAtWhichTheyAreAsked) {
  KueueDocuments documents;
  documents.webhook_configurations = {yaml(R"(
kind: MutatingWebhookConfiguration
metadata: {name: kueue-mutating-webhook-configuration}
webhooks:
- {name: mjob.kb.io, clientConfig: {service: {path: /mutate-batch-v1-job}}}
- {name: mclusterqueue.kb.io, clientConfig: {service: {path: /mutate-kueue-x-k8s-io-v1beta2-clusterqueue}}}
- {name: mworkload.kb.io, clientConfig: {service: {path: /mutate-kueue-x-k8s-io-v1beta2-workload}}}
)"),
                                      yaml(R"(
kind: ValidatingWebhookConfiguration
metadata: {name: policies-of-somebody}
webhooks:
- name: all.example.com
  clientConfig: {service: {path: /validate}}
  rules: [{apiGroups: [kueue.x-k8s.io], resources: [workloads, clusterqueues]}]
- name: queues.example.com
  clientConfig: {service: {path: /validate-kueue-x-k8s-io-v1beta2-localqueue}}
)")};
  // Our own are asked about the same kinds.
  const auto ours = render_installation({});
  ASSERT_TRUE(ours.has_value());
  for (const json::value& document : *ours) {
    if (!document.as_object().contains("webhooks")) continue;
    documents.webhook_configurations.push_back(document);
  }
  ASSERT_EQ(documents.webhook_configurations.size(), 4U);
  const auto found = find_active_kueue(documents);
  EXPECT_EQ(objects_of(found),
            Objects{"MutatingWebhookConfiguration kueue-mutating-webhook-configuration"});
  EXPECT_NE(found[0].text.find("kubectl delete mutatingwebhookconfiguration "
                               "kueue-mutating-webhook-configuration"),
            std::string::npos);
}

TEST(KueuePresenceTest, ApiServicesAreAStepButNobodyWhoDecides) {
  KueueDocuments documents;
  documents.api_services = {
      yaml("{metadata: {name: v1beta1.visibility.kueue.x-k8s.io}, "
           "spec: {group: visibility.kueue.x-k8s.io, service: {name: visibility-server}}}"),
      yaml("{metadata: {name: v1beta1.kueue.x-k8s.io}, spec: {group: kueue.x-k8s.io}}"),
      yaml("{metadata: {name: v1.example.com}, spec: {group: example.com, service: {name: s}}}")};
  EXPECT_EQ(objects_of(find_kueue(documents)),
            Objects{"APIService v1beta1.visibility.kueue.x-k8s.io"});
  EXPECT_EQ(objects_of(find_active_kueue(documents)), Objects());
}

}  // namespace
}  // namespace phalanx::admission

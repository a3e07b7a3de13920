#include "core/configuration_queueing.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr std::string_view kOurs = "config.phalanx.dev/v1";
constexpr std::string_view kKueue = "config.kueue.x-k8s.io/v1beta2";
constexpr std::string_view kOlderKueue = "config.kueue.x-k8s.io/v1beta1";

Result<ConfigurationFile> parse(std::string_view fields, std::string_view version = kOurs) {
  return parse_configuration(
      "apiVersion: " + std::string(version) + "\nkind: Configuration\n" + std::string(fields),
      "c.yaml");
}

Configuration read(std::string_view fields, std::string_view version = kOurs) {
  const auto file = parse(fields, version);
  EXPECT_TRUE(file) << file.error().message;
  return file ? file->configuration : Configuration();
}

std::string problem(std::string_view fields, std::string_view version = kOurs) {
  const auto file = parse(fields, version);
  return file ? "" : file.error().message;
}

TEST(QueueingConfigurationTest, NothingIsOnByItself) {
  const Configuration configuration = read("");
  EXPECT_EQ(configuration.resources, QuotaResources());
  EXPECT_FALSE(configuration.fair_sharing);
  EXPECT_FALSE(configuration.admission_fair_sharing);
  EXPECT_FALSE(configuration.head_reservation_after);
  EXPECT_FALSE(configuration.priority_boost);
}

TEST(QueueingConfigurationTest, ReadsWhatQuotaCounts) {
  constexpr std::string_view kFields = R"(
resources:
  excludeResourcePrefixes: [networking.example.com/]
  quotaCheckStrategy: IgnoreUndeclared
  transformations:
  - {input: nvidia.com/mig-1g.5gb, strategy: Replace, outputs: {example.com/gpu-memory: 5Gi, cpu: 1}}
  - {input: example.com/rate, multiplyBy: cpu, outputs: {example.com/credits: 2}}
)";
  for (const std::string_view version : {kOurs, kKueue}) {
    const QuotaResources resources = read(kFields, version).resources;
    EXPECT_EQ(resources.excluded_prefixes, std::vector<std::string>{"networking.example.com/"});
    EXPECT_TRUE(resources.ignore_undeclared);
    ASSERT_EQ(resources.transformations.size(), 2U);
    const api::ResourceAmounts outputs{{"example.com/gpu-memory", int64_t{5} << 30}, {"cpu", 1000}};
    EXPECT_EQ(resources.transformations[0],
              (ResourceTransformation{"nvidia.com/mig-1g.5gb", false, "", outputs}));
    EXPECT_EQ(
        resources.transformations[1],
        (ResourceTransformation{"example.com/rate", true, "cpu", {{"example.com/credits", 2}}}));
  }
}

TEST(QueueingConfigurationTest, NamesWhatIsWrongWithResources) {
  EXPECT_EQ(problem("resources: {quotaCheckStrategy: Block}"),
            "c.yaml: resources.quotaCheckStrategy: \"Block\" is not BlockUndeclared or "
            "IgnoreUndeclared");
  EXPECT_EQ(problem("resources: {transformations: [{input: a, strategy: Drop}]}"),
            "c.yaml: resources.transformations[0].strategy: \"Drop\" is not Retain or Replace");
  EXPECT_TRUE(problem("resources: {transformations: [{outputs: {a: 1}}]}")
                  .starts_with("c.yaml: resources.transformations[0].input: "));
  EXPECT_TRUE(problem("resources: {transformations: [{input: a, outputs: {b: much}}]}")
                  .starts_with("c.yaml: resources.transformations[0].outputs[b]: "));
  EXPECT_TRUE(problem("resources: {transformations: [{input: a}, {input: a}]}")
                  .starts_with("c.yaml: resources.transformations[1].input: there is another"));
  EXPECT_TRUE(problem("resources: {excludeResourcePrefixes: ['']}")
                  .starts_with("c.yaml: resources.excludeResourcePrefixes: holds an empty text"));
  EXPECT_EQ(problem("resources: {transformations: [{input: a, output: {}}]}"),
            "c.yaml: resources.transformations[0].output: is no field of this configuration; did "
            "you mean `outputs`?");
}

TEST(QueueingConfigurationTest, FairSharingIsOnByBeingThere) {
  using enum FairPreemptionStrategy;
  EXPECT_EQ(read("fairSharing: {}").fair_sharing, FairSharing());
  EXPECT_EQ(read("fairSharing: {}", kKueue).fair_sharing, FairSharing());
  EXPECT_EQ(
      read("fairSharing: {preemptionStrategies: [LessThanInitialShare]}").fair_sharing->strategies,
      std::vector{kLessThanInitialShare});
  EXPECT_FALSE(read("fairSharing: {enable: false}", kOlderKueue).fair_sharing);
  EXPECT_FALSE(read("fairSharing: {}", kOlderKueue).fair_sharing);
  EXPECT_TRUE(read("fairSharing: {enable: true}", kOlderKueue).fair_sharing);
  EXPECT_TRUE(problem("fairSharing: {enable: true}").starts_with("c.yaml: fairSharing.enable: "));
  EXPECT_EQ(problem("fairSharing: {preemptionStrategies: [Fairest]}"),
            "c.yaml: fairSharing.preemptionStrategies: \"Fairest\" is not "
            "LessThanOrEqualToFinalShare or LessThanInitialShare");
  EXPECT_TRUE(problem("fairSharing: {preemptionStrategies: [LessThanInitialShare, "
                      "LessThanInitialShare]}")
                  .ends_with("LessThanInitialShare stands twice; remove one"));
}

TEST(QueueingConfigurationTest, ReadsAdmissionFairSharing) {
  const auto sharing = read(R"(
admissionFairSharing:
  usageHalfLifeTime: 168h
  usageSamplingInterval: 1m
  resourceWeights: {nvidia.com/gpu: 2, cpu: 0.01}
)")
                           .admission_fair_sharing;
  ASSERT_TRUE(sharing);
  EXPECT_EQ(sharing->half_life, hours(168));
  EXPECT_EQ(sharing->sampling_interval, minutes(1));
  EXPECT_EQ(sharing->resource_weights,
            (std::map<std::string, double>{{"cpu", 0.01}, {"nvidia.com/gpu", 2}}));
  EXPECT_EQ(read("admissionFairSharing: {}").admission_fair_sharing, AdmissionFairSharing());
  EXPECT_TRUE(problem("admissionFairSharing: {usageHalfLifeTime: long}")
                  .starts_with("c.yaml: admissionFairSharing.usageHalfLifeTime: "));
  EXPECT_TRUE(
      problem("admissionFairSharing: {usageSamplingInterval: 999ms}")
          .starts_with("c.yaml: admissionFairSharing.usageSamplingInterval: must be at least "
                       "1s"));
  EXPECT_TRUE(problem("admissionFairSharing: {usageSamplingInterval: 0s}")
                  .starts_with("c.yaml: admissionFairSharing.usageSamplingInterval: must be more"));
  EXPECT_EQ(problem("admissionFairSharing: {resourceWeights: {cpu: -1}}"),
            "c.yaml: admissionFairSharing.resourceWeights[cpu]: -1 is no number from 0 on");
}

TEST(QueueingConfigurationTest, APlaceIsHeldOnlyWhereItIsAskedFor) {
  EXPECT_EQ(read("headReservation: {after: 10m}").head_reservation_after, minutes(10));
  EXPECT_FALSE(read("headReservation: {after: 10m}", kKueue).head_reservation_after);
  EXPECT_EQ(problem("headReservation: {}"),
            "c.yaml: headReservation.after: is required; write how long, such as 10m");
  EXPECT_EQ(problem("headReservation: {after: 0s}"),
            "c.yaml: headReservation.after: must be more than 0; write how long, such as 10m");
  EXPECT_TRUE(problem("headReservations: {after: 1m}").contains("did you mean `headReservation`?"));
}

TEST(QueueingConfigurationTest, TheGateOfBoostsApplies) {
  EXPECT_TRUE(read("featureGates: {PriorityBoost: true}").priority_boost);
}

TEST(QueueingConfigurationTest, ReadsHowLongPodsMayTake) {
  constexpr std::string_view kFields = R"(
waitForPodsReady:
  timeout: 10m
  recoveryTimeout: 3m
  blockAdmission: true
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 5, backoffBaseSeconds: 10, backoffMaxSeconds: 100}
)";
  WaitForPodsReady wait;
  wait.timeout = minutes(10);
  wait.recovery_timeout = minutes(3);
  wait.blocks = BlockScope::kCluster;
  wait.back_by_creation = true;
  wait.limit = 5;
  wait.backoff = std::chrono::seconds(10);
  wait.longest_backoff = std::chrono::seconds(100);
  for (const std::string_view version : {kOurs, kKueue}) {
    EXPECT_EQ(read(kFields, version).wait_for_pods_ready, wait);
  }
  const auto at_once =
      read("waitForPodsReady: {requeuingStrategy: {backoffBaseSeconds: 0}}").wait_for_pods_ready;
  EXPECT_EQ(at_once->backoff, Duration{});
  EXPECT_FALSE(read("").wait_for_pods_ready);
  EXPECT_FALSE(read("waitForPodsReady: {enable: false, timeout: 1m}").wait_for_pods_ready);
}

TEST(QueueingConfigurationTest, DefaultsOfReadinessAreThoseOfTheVersion) {
  const auto now = read("waitForPodsReady: {}", kKueue).wait_for_pods_ready;
  ASSERT_TRUE(now);
  EXPECT_EQ(now->timeout, minutes(30));
  EXPECT_EQ(now->blocks, BlockScope::kNobody);
  EXPECT_EQ(now->recovery_timeout, std::nullopt);
  EXPECT_EQ(now->limit, std::nullopt);
  // In v1beta1 it was off unless asked for, and blocked.
  EXPECT_FALSE(read("waitForPodsReady: {}", kOlderKueue).wait_for_pods_ready);
  const auto then = read("waitForPodsReady: {enable: true}", kOlderKueue).wait_for_pods_ready;
  ASSERT_TRUE(then);
  EXPECT_EQ(then->timeout, minutes(5));
  EXPECT_EQ(then->blocks, BlockScope::kCluster);
}

TEST(QueueingConfigurationTest, BlockingHasAScopeOfOurs) {
  const auto scope = [](const std::string& text) {
    return read("waitForPodsReady: {blockAdmission: true, blockAdmissionScope: " + text + "}")
        .wait_for_pods_ready->blocks;
  };
  EXPECT_EQ(scope("Cluster"), BlockScope::kCluster);
  EXPECT_EQ(scope("ClusterQueue"), BlockScope::kClusterQueue);
  EXPECT_EQ(scope("ResourceFlavor"), BlockScope::kFlavor);
  EXPECT_EQ(
      problem("waitForPodsReady: {blockAdmission: true, blockAdmissionScope: Rack}"),
      "c.yaml: waitForPodsReady.blockAdmissionScope: \"Rack\" is not Cluster, ClusterQueue or "
      "ResourceFlavor");
  EXPECT_EQ(problem("waitForPodsReady: {blockAdmissionScope: Cluster}"),
            "c.yaml: waitForPodsReady.blockAdmissionScope: says nothing unless blockAdmission is "
            "true; set it");
  const auto kueue =
      parse("waitForPodsReady: {blockAdmission: true, blockAdmissionScope: ClusterQueue}", kKueue);
  ASSERT_TRUE(kueue);
  EXPECT_EQ(kueue->warnings,
            std::vector<std::string>{"c.yaml: waitForPodsReady.blockAdmissionScope: "
                                     "is not used here"});
}

TEST(QueueingConfigurationTest, BadReadinessIsSaid) {
  EXPECT_EQ(problem("waitForPodsReady: {timeout: 0s}"),
            "c.yaml: waitForPodsReady.timeout: must be more than 0; write how long, such as 10m");
  EXPECT_EQ(problem("waitForPodsReady: {timeuot: 5m}"),
            "c.yaml: waitForPodsReady.timeuot: is no field of this configuration; did you mean "
            "`timeout`?");
  EXPECT_NE(problem("waitForPodsReady: {requeuingStrategy: {timestamp: Never}}"), "");
  EXPECT_NE(problem("waitForPodsReady: {requeuingStrategy: {backoffLimitCount: -1}}"), "");
}

}  // namespace
}  // namespace phalanx::core

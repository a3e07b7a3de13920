#include "core/configuration.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

TEST(ConfigurationTest, ReadsOurs) {
  const auto file = parse_configuration(R"(
apiVersion: config.phalanx.dev/v1
kind: Configuration
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {managed: "yes"}}
featureGates: {TASBalancedPlacement: true, ReclaimablePods: false}
)",
                                        "c.yaml");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->configuration.manage_jobs_without_queue_name);
  EXPECT_TRUE(file->configuration.managed_jobs_namespace_selector->matches({{"managed", "yes"}}));
  EXPECT_TRUE(file->configuration.placement.balanced);
  EXPECT_FALSE(file->configuration.reclaimable_pods);
  EXPECT_TRUE(file->warnings.empty());
}

TEST(ConfigurationTest, UnderstandsKueuesAndSaysWhatItDoesNotUse) {
  const auto file = parse_configuration(
      "{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, "
      "manageJobsWithoutQueueName: true, multiKueue: {}, health: {}, "
      "headReservation: {after: 10m}, resources: {deviceClassMappings: []}}",
      "c.yaml");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->configuration.manage_jobs_without_queue_name);
  EXPECT_EQ(file->warnings,
            (std::vector<std::string>{"c.yaml: multiKueue: is not used here",
                                      "c.yaml: headReservation: is not used here",
                                      "c.yaml: resources.deviceClassMappings: is not used here"}));
  EXPECT_FALSE(file->configuration.head_reservation_after);
  EXPECT_FALSE(file->configuration.fair_sharing);
}

TEST(ConfigurationTest, RefusesWhatItDoesNotKnow) {
  const auto message = [](std::string_view text) {
    const auto file = parse_configuration(text, "c.yaml");
    return file ? "" : file.error().message;
  };
  EXPECT_NE(message("{apiVersion: config.phalanx.dev/v1, kind: Configuration, healthh: 1}")
                .find("c.yaml: healthh: is no field"),
            std::string::npos);
  EXPECT_NE(message("{apiVersion: v1, kind: ConfigMap}").find("config.phalanx.dev/v1"),
            std::string::npos);
  EXPECT_NE(message("").find("must hold one Configuration"), std::string::npos);
  EXPECT_NE(message("{apiVersion: config.phalanx.dev/v1, kind: Configuration, "
                    "manageJobsWithoutQueueName: 3}")
                .find("manageJobsWithoutQueueName"),
            std::string::npos);
  EXPECT_NE(message("{apiVersion: config.phalanx.dev/v1, kind: Configuration, "
                    "featureGates: {TASProfileMixd: true}}")
                .find("did you mean `TASProfileMixed`?"),
            std::string::npos);
  EXPECT_NE(message("{apiVersion: config.phalanx.dev/v1, kind: Configuration, "
                    "managedJobsNamespaceSelector: {matchLabel: {a: b}}}")
                .find("managedJobsNamespaceSelector.matchLabel"),
            std::string::npos);
}

// Every version of Kueue has other ones, and a file of its own is taken over as it is.
TEST(ConfigurationTest, UnknownGatesOfKueueAreWarnings) {
  const auto file = parse_configuration(
      "{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, "
      "featureGates: {SanitizePodSets: true, TASProfileMixed: false}}",
      "c.yaml");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->configuration.placement.profile, placement::Profile::kBestFit);
  EXPECT_EQ(file->warnings,
            (std::vector<std::string>{
                "feature gate SanitizePodSets is not known here, and changes nothing"}));
}

TEST(ConfigurationTest, GatesOfTheCommandLine) {
  Configuration configuration;
  const auto warnings =
      apply_feature_gates("TASProfileMixed=false,ConcurrentAdmission=true", configuration);
  ASSERT_TRUE(warnings);
  EXPECT_EQ(configuration.placement.profile, placement::Profile::kBestFit);
  EXPECT_EQ(warnings->size(), 1U);
  EXPECT_FALSE(apply_feature_gates("TASProfileMixed", configuration));
  EXPECT_FALSE(apply_feature_gates("TASProfileMixed=maybe", configuration));
  EXPECT_FALSE(apply_feature_gates("Nonsense=true", configuration));
}

}  // namespace
}  // namespace phalanx::core

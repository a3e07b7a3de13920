#include "api/kind.h"

#include <gtest/gtest.h>

namespace phalanx::api {
namespace {

TEST(Kind, IsFoundByBothVersionsOfKueue) {
  EXPECT_EQ(find_kind("kueue.x-k8s.io/v1beta2", "ClusterQueue"), Kind::kClusterQueue);
  EXPECT_EQ(find_kind("kueue.x-k8s.io/v1beta1", "ClusterQueue"), Kind::kClusterQueue);
  EXPECT_EQ(find_kind("kueue.x-k8s.io/v1beta1", "Cohort"), Kind::kCohort);
  EXPECT_EQ(find_kind("kueue.x-k8s.io/v1beta2", "AdmissionCheck"), Kind::kAdmissionCheck);
  EXPECT_EQ(find_kind("node.k8s.io/v1", "RuntimeClass"), Kind::kRuntimeClass);
  EXPECT_EQ(find_kind("kueue.x-k8s.io/v1beta1", "ProvisioningRequestConfig"),
            Kind::kProvisioningRequestConfig);
  EXPECT_EQ(find_kind("autoscaling.x-k8s.io/v1", "ProvisioningRequest"),
            Kind::kProvisioningRequest);
  EXPECT_EQ(find_kind("v1", "PodTemplate"), Kind::kPodTemplate);
  EXPECT_EQ(find_kind("v1", "Pod"), Kind::kPod);
  EXPECT_EQ(find_kind("batch/v1", "Job"), Kind::kJob);
}

TEST(Kind, IsNotFoundUnderAnotherGroupOrVersion) {
  EXPECT_FALSE(find_kind("v1", "Job"));
  EXPECT_FALSE(find_kind("batch/v1beta1", "Job"));
  EXPECT_FALSE(find_kind("kueue.x-k8s.io/v1alpha1", "Topology"));
  EXPECT_FALSE(find_kind("", ""));
}

// Ours are installed with us; those of Kubernetes are always there.
TEST(Kind, OnlyTheAutoscalersMayBeMissing) {
  for (const KindInfo& about : all_kinds()) {
    EXPECT_EQ(about.optional, about.kind == Kind::kProvisioningRequest) << about.name;
  }
}

TEST(Kind, NamesObjects) {
  EXPECT_EQ((ObjectKey{Kind::kJob, "ml", "train"}.text()), "Job ml/train");
  EXPECT_EQ((ObjectKey{Kind::kNode, "", "n1"}.text()), "Node n1");
  EXPECT_EQ(api_version(Kind::kNode), "v1");
  EXPECT_EQ(api_version(Kind::kWorkload), "kueue.x-k8s.io/v1beta2");
}

}  // namespace
}  // namespace phalanx::api

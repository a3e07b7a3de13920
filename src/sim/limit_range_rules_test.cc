#include "sim/limit_range_rules.h"

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

class LimitRangeTest : public ApiServerTest {
 protected:
  void limit(std::string_view limits) {
    make("{apiVersion: v1, kind: LimitRange, metadata: {name: limits}, spec: {limits: [" +
         std::string(limits) + "]}}");
  }
  static std::string pod(std::string_view resources) {
    return "{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {containers: [{name: "
           "main, resources: " +
           std::string(resources) +
           "}, {name: side, resources: {requests: {cpu: 100m}, limits: "
           "{cpu: 100m}}}]}}";
  }
  static const json::value& main_container(const Stored& pod) {
    return array_at(*pod, {"spec", "containers"})->front();
  }
};

TEST_F(LimitRangeTest, GivesDefaults) {
  limit("{type: Container, default: {cpu: 1}, defaultRequest: {cpu: 500m}}");
  const Stored none = make(pod("{}"));
  EXPECT_EQ(integer_at(main_container(none), {"resources", "limits", "cpu"}), 1);
  EXPECT_EQ(string_at(main_container(none), {"resources", "requests", "cpu"}), "500m");
  const Stored own = make(pod("{requests: {cpu: 200m}}"));
  EXPECT_EQ(string_at(main_container(own), {"resources", "requests", "cpu"}), "200m");
}

TEST_F(LimitRangeTest, DefaultsFollowFromTheOtherAmounts) {
  limit("{type: Container, max: {cpu: 2}, min: {memory: 1Gi}}");
  const Stored range = server_.get({api::Kind::kLimitRange, "default", "limits"});
  const json::value& limit = array_at(*range, {"spec", "limits"})->front();
  EXPECT_EQ(integer_at(limit, {"default", "cpu"}), 2);
  EXPECT_EQ(integer_at(limit, {"defaultRequest", "cpu"}), 2);
  EXPECT_EQ(string_at(limit, {"defaultRequest", "memory"}), "1Gi");
}

TEST_F(LimitRangeTest, HoldsContainersWithinMinimumAndMaximum) {
  limit("{type: Container, max: {cpu: 2}, min: {cpu: 100m}}");
  EXPECT_EQ(create_refusal(pod("{limits: {cpu: 2}}")), "");
  EXPECT_TRUE(contains(create_refusal(pod("{limits: {cpu: 3}}")),
                       "spec.containers[0].resources: limits 3 of cpu, but LimitRange limits "
                       "allows at most 2"));
  EXPECT_TRUE(
      contains(create_refusal(pod("{requests: {cpu: 50m}}")), "403 Forbidden: Pod default/"));
}

TEST_F(LimitRangeTest, HoldsTheWholePodWithinItsMaximum) {
  limit("{type: Pod, max: {cpu: 2}, min: {cpu: 1}}");
  EXPECT_EQ(create_refusal(pod("{limits: {cpu: 1900m}}")), "");
  EXPECT_TRUE(contains(create_refusal(pod("{limits: {cpu: 1950m}}")),
                       "spec: limits 2050m of cpu, but LimitRange limits allows at most 2"));
  EXPECT_TRUE(contains(create_refusal(pod("{limits: {cpu: 500m}}")), "allows at least 1"));
}

TEST_F(LimitRangeTest, IsForItsNamespaceAndNewPodsOnly) {
  const Stored before = make(pod("{}"));
  limit("{type: Container, max: {cpu: 1}}");
  const std::string name(string_at(*before, {"metadata", "name"}));
  EXPECT_EQ(refusal(merge(pod_key(name), "metadata: {labels: {a: b}}")), "");
  make("{apiVersion: v1, kind: Namespace, metadata: {name: other}}");
  EXPECT_EQ(create_refusal("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: other}, "
                           "spec: {containers: [{name: main, resources: {limits: {cpu: 5}}}]}}"),
            "");
}

TEST_F(LimitRangeTest, IsCheckedItself) {
  const auto create = [&](std::string_view limits) {
    return create_refusal(
        "{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: " +
        std::string(limits) + "}}");
  };
  EXPECT_TRUE(contains(create("null"), "spec.limits: is required"));
  EXPECT_TRUE(contains(create("[{type: Node}]"), "spec.limits[0].type: \"Node\""));
  EXPECT_TRUE(contains(create("[{type: Container, min: {cpu: 2}, max: {cpu: 1}}]"),
                       "spec.limits[0].min[cpu]: is 2, more than max of 1"));
  EXPECT_TRUE(contains(create("[{type: Pod, default: {cpu: 2}}]"), "defaults are for"));
}

}  // namespace
}  // namespace phalanx::sim

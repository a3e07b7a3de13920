#include "api/pod.h"

#include <gtest/gtest.h>

#include <limits>

namespace phalanx::api {
namespace {

class PodTest : public ::testing::Test {
 protected:
  JsonReader reader(const std::string& text) {
    auto document = parse_json(text);
    EXPECT_TRUE(document.has_value()) << text;
    document_ = *std::move(document);
    return JsonReader(&document_, "", status_);
  }
  ResourceAmounts requests(const std::string& spec) { return read_pod_spec(reader(spec)).requests; }
  std::string problem() { return status_.error() ? status_.error()->message : ""; }

  json::value document_;
  DecodeStatus status_;
};

std::string container(const std::string& cpu, const std::string& more = "") {
  return R"({"resources":{"requests":{"cpu":")" + cpu + "\"}}" + more + "}";
}

TEST_F(PodTest, ContainersAddUp) {
  EXPECT_EQ(requests(R"({"containers":[
      {"resources":{"requests":{"cpu":"500m","memory":"1Gi"}}},
      {"resources":{"requests":{"cpu":1,"nvidia.com/gpu":"2"}}},
      {"name":"nothing"}]})"),
            (ResourceAmounts{{"cpu", 1500}, {"memory", 1LL << 30}, {"nvidia.com/gpu", 2}}));
  EXPECT_EQ(problem(), "");
}

TEST_F(PodTest, ALimitStandsInForARequest) {
  EXPECT_EQ(requests(R"({"containers":[
      {"resources":{"limits":{"cpu":"2","nvidia.com/gpu":"1"},"requests":{"cpu":"1"}}}]})"),
            (ResourceAmounts{{"cpu", 1000}, {"nvidia.com/gpu", 1}}));
}

TEST_F(PodTest, InitContainersCountWithTheirPeak) {
  EXPECT_EQ(requests(R"({"containers":[)" + container("2") + R"(],"initContainers":[)" +
                     container("1") + "," + container("3") + "]}"),
            (ResourceAmounts{{"cpu", 3000}}));
  EXPECT_EQ(requests(R"({"containers":[)" + container("2") + R"(],"initContainers":[)" +
                     container("1") + "]}"),
            (ResourceAmounts{{"cpu", 2000}}));
}

TEST_F(PodTest, SidecarsRunBesideEverythingAfterThem) {
  const std::string always = R"(,"restartPolicy":"Always")";
  // Running: 2 + 1. Before: the first init container alone (3), then 1 + 1 beside the sidecar.
  EXPECT_EQ(requests(R"({"containers":[)" + container("2") + R"(],"initContainers":[)" +
                     container("3") + "," + container("1", always) + "," + container("1") + "]}"),
            (ResourceAmounts{{"cpu", 3000}}));
  // The init container that follows the sidecar needs 4 beside its 1.
  EXPECT_EQ(requests(R"({"containers":[)" + container("2") + R"(],"initContainers":[)" +
                     container("1", always) + "," + container("4") + "]}"),
            (ResourceAmounts{{"cpu", 5000}}));
}

TEST_F(PodTest, PodLevelResourcesReplaceTheSumAndOverheadComesOnTop) {
  EXPECT_EQ(requests(R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"1"}}}],
                         "resources":{"requests":{"cpu":"5"}},"overhead":{"cpu":"250m"}})"),
            (ResourceAmounts{{"cpu", 5250}, {"memory", 1}}));
}

TEST_F(PodTest, HugeRequestsSaturate) {
  const std::string huge = R"({"resources":{"requests":{"memory":"8E"}}})";
  EXPECT_EQ(requests(R"({"containers":[)" + huge + "," + huge + "]}").at("memory"),
            std::numeric_limits<int64_t>::max());
}

TEST_F(PodTest, TheSpecSaysWhereItMayRun) {
  const PodSpec spec = read_pod_spec(reader(
      R"({"nodeSelector":{"disk":"ssd"},"tolerations":[{"operator":"Exists"}],
          "affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
            {"weight":1,"preference":{}}]},"podAntiAffinity":{}}})"));
  EXPECT_EQ(spec.node_selector, (std::map<std::string, std::string>{{"disk", "ssd"}}));
  EXPECT_EQ(spec.tolerations.size(), 1U);
  EXPECT_EQ(spec.affinity.preferred.size(), 1U);
  EXPECT_EQ(problem(), "");
}

TEST_F(PodTest, APodOccupiesItsNodeUntilItIsDone) {
  const auto pod = [&](const std::string& node, const std::string& phase) {
    return read_pod(reader(R"({"metadata":{"name":"p"},"spec":{"nodeName":")" + node +
                           R"("},"status":{"phase":")" + phase + "\"}}"));
  };
  EXPECT_TRUE(pod("n1", "Running").occupies_node());
  EXPECT_TRUE(pod("n1", "Pending").occupies_node());
  EXPECT_TRUE(pod("n1", "").occupies_node());
  EXPECT_FALSE(pod("", "Pending").occupies_node());
  EXPECT_FALSE(pod("n1", "Succeeded").occupies_node());
  EXPECT_FALSE(pod("n1", "Failed").occupies_node());
  EXPECT_EQ(pod("n1", "").namespace_, "default");
}

TEST_F(PodTest, ProblemsNameTheField) {
  (void)requests(R"({"containers":[{},{"resources":{"requests":{"cpu":"lots"}}}]})");
  EXPECT_TRUE(problem().starts_with("containers[1].resources.requests[")) << problem();
  status_ = DecodeStatus();
  (void)read_pod(reader(R"({"metadata":{}})"));
  EXPECT_EQ(problem(), "metadata.name: is required");
}

}  // namespace
}  // namespace phalanx::api

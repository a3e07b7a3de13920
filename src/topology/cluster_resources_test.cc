// Requests and usage by name of resource: which names a Cluster keeps, and what it counts of them.
#include <gtest/gtest.h>

#include <limits>

#include "topology/cluster.h"

namespace phalanx::topology {
namespace {

const std::string kHost{api::kHostnameLabel};
constexpr size_t kMost = 128 + 2;  // names, with that of pods and that of all others

class ClusterResourcesTest : public ::testing::Test {
 protected:
  void put_node(const std::string& name, const api::ResourceAmounts& allocatable) {
    api::Node node;
    node.name = name;
    node.labels = {{kHost, name}};
    node.allocatable = allocatable;
    EXPECT_TRUE(cluster_.put_node(node).has_value());
  }

  int64_t free(const std::string& host, const std::string& resource) {
    const auto leaf = cluster_.find_leaf(hosts_, std::vector{host});
    const auto column = cluster_.tree(hosts_).free(cluster_.find_resource(resource));
    return !leaf || column.empty() ? 0 : column[*leaf];
  }

  Cluster cluster_;
  TreeId hosts_ = cluster_.add_tree({"hosts", {kHost}, {}, {}});
};

// As whoever may write a pod template can make them up.
api::ResourceAmounts made_up(int names, int64_t amount) {
  api::ResourceAmounts amounts;
  for (int i = 0; i < names; ++i) amounts["a.b/r" + std::to_string(i)] = amount;
  return amounts;
}

TEST_F(ClusterResourcesTest, ARequestCountsItsPodAndIsSortedByName) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const RequestVector request = cluster_.make_request({{"zinc", 1}, {"cpu", 500}});
  ASSERT_EQ(request.size(), 3U);
  EXPECT_EQ(cluster_.resource_name(request[0].resource), "cpu");
  EXPECT_EQ(cluster_.resource_name(request[1].resource), "pods");
  EXPECT_EQ(request[1].amount, 1);
  EXPECT_EQ(cluster_.make_request({{"pods", kMax}})[0].amount, kMax);
}

TEST_F(ClusterResourcesTest, NothingOfAResourceLeavesNoTrace) {
  put_node("n1", {{"cpu", 8000}, {"pods", 10}});
  api::ResourceAmounts per_pod = made_up(1000, 0);
  per_pod["cpu"] = 1000;
  EXPECT_EQ(cluster_.make_request(per_pod), cluster_.make_request({{"cpu", 1000}}));
  cluster_.add_usage("a", hosts_, cluster_.make_usage(per_pod), {{{"n1"}, 2}});
  cluster_.put_pod("p", "n1", per_pod);
  EXPECT_EQ(cluster_.resource_count(), 2U);
  EXPECT_EQ(free("n1", "cpu"), 5000);
}

TEST_F(ClusterResourcesTest, ColumnsAreForWhatIsTaken) {
  put_node("n1", {{"cpu", 8000}, {"pods", 10}});
  cluster_.tree(hosts_);
  const RequestVector request = cluster_.make_request({{"a.b/r", 1}});
  const Attempt attempt(cluster_);
  cluster_.charge(hosts_, 0, request, 0);
  EXPECT_TRUE(cluster_.tree(hosts_).free(cluster_.find_resource("a.b/r")).empty());
}

TEST_F(ClusterResourcesTest, NamesThatNoNodeOffersAreToldApartUpToANumber) {
  put_node("n1", {{"cpu", 8000}, {"pods", 10}});
  const RequestVector request = cluster_.make_request(made_up(1000, 1));
  EXPECT_LE(cluster_.resource_count(), kMost);
  EXPECT_LE(request.size(), kMost);
  EXPECT_EQ(cluster_.resource_name(request.back().resource), "(resources that no node offers)");
  for (const Request& need : request) {
    if (need.resource == cluster_.find_resource("pods")) continue;
    EXPECT_TRUE(cluster_.tree(hosts_).free(need.resource).empty());
  }
  // What a node has is known by its name, whatever came before.
  put_node("n2", {{"cpu", 8000}, {"pods", 10}, {"a.b/r999", 4}});
  const RequestVector offered = cluster_.make_request({{"a.b/r999", 1}});
  EXPECT_EQ(cluster_.resource_name(offered[0].resource), "a.b/r999");
  EXPECT_EQ(free("n2", "a.b/r999"), 4);
}

// After a start workloads may be seen before the nodes that they run on.
TEST_F(ClusterResourcesTest, UsageCountsAlsoBeforeItsResourceIsOffered) {
  EXPECT_LE(cluster_.make_request(made_up(1000, 1)).size(), kMost);
  cluster_.add_usage("a", hosts_, cluster_.make_usage({{"c.d/gpu", 3}}), {{{"n1"}, 1}});
  put_node("n1", {{"cpu", 8000}, {"pods", 10}, {"c.d/gpu", 4}});
  EXPECT_EQ(free("n1", "c.d/gpu"), 1);
}

}  // namespace
}  // namespace phalanx::topology

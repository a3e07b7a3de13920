// The quick slicing of assignment_encoding.h.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "topology/assignment_encoding.h"
#include "topology/naming_schemes.h"

namespace phalanx::topology {
namespace {

json::value encoded(const api::TopologyAssignment& assignment, Slicing slicing) {
  return encode_v1beta2(assignment, slicing).value();
}

size_t size_of(const json::value& value) {
  return json::serialize(value).size();
}

// Domains of which no two are alike.
api::TopologyAssignment unlike(size_t domains, size_t levels) {
  api::TopologyAssignment assignment{std::vector<std::string>(levels, "level"), {}};
  std::mt19937_64 random(5);
  for (size_t i = 0; i < domains; ++i) {
    api::DomainAssignment domain{{}, 1};
    for (size_t level = 0; level < levels; ++level) {
      domain.values.push_back("name-" + std::to_string(random()) + "-of-a-domain");
    }
    assignment.domains.push_back(std::move(domain));
  }
  return assignment;
}

TEST(QuickSlicing, IsTheSmallestWhereThatIsCheap) {
  for (const size_t nodes : {1, 64, 1000, 1500, 20'000}) {
    for (const NamingScheme& scheme : naming_schemes()) {
      const api::TopologyAssignment assignment = one_pod_per_node(scheme, nodes);
      EXPECT_EQ(encoded(assignment, Slicing::kQuick), encoded(assignment, Slicing::kSmallest));
    }
  }
  for (const size_t levels : {2, 16}) {
    const api::TopologyAssignment assignment = unlike(64, levels);
    EXPECT_EQ(encoded(assignment, Slicing::kQuick), encoded(assignment, Slicing::kSmallest));
  }
}

TEST(QuickSlicing, CostsLittleWhereTheSmallestCostsMuch) {
  const api::TopologyAssignment assignment = unlike(1000, 16);
  const auto cost = [&](Slicing slicing) {  // in processor time: others may keep it waiting
    const std::clock_t start = std::clock();
    EXPECT_EQ(decode_assignment(encoded(assignment, slicing), ""), assignment);
    return std::clock() - start;
  };
  EXPECT_LT(cost(Slicing::kQuick) * 3, cost(Slicing::kSmallest));
  const size_t quick = size_of(encoded(assignment, Slicing::kQuick));
  EXPECT_LE(quick, size_of(encoded(assignment, Slicing::kFewest)));
  EXPECT_LE(quick, size_of(encoded(assignment, Slicing::kSmallest)) * 11 / 10);
}

}  // namespace
}  // namespace phalanx::topology

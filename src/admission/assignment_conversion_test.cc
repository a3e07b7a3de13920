// Topology assignments in the other version: however much they claim, what comes of them is
// bounded; and those of the largest clusters are converted all the same.
#include <fmt/format.h>

#include <ctime>

#include "admission/conversion.h"
#include "admission/lossless_conversion.h"
#include "admission/random_documents.h"

namespace phalanx::admission {
namespace {

using testing::admission;
using testing::good_with;
using testing::yaml;

#if __has_feature(address_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// A million domains take up to a minute with the sanitizers; the same lines run there with fewer.
#define SKIP_IF_SANITIZED() \
  if (kSanitized) GTEST_SKIP() << "takes too long with the sanitizers"

json::value up(json::value document) {
  return testing::up("Workload", std::move(document));
}

json::value down(json::value document) {
  return testing::down("Workload", std::move(document));
}

json::array& pod_set_assignments(json::value& document) {
  return *array_at(document, {"status", "admission", "podSetAssignments"});
}

json::value with_assignments(const json::array& assignments) {
  json::value workload =
      good_with("Workload", "status: {admission: {clusterQueue: q, podSetAssignments: []}}");
  for (size_t i = 0; i < assignments.size(); ++i) {
    pod_set_assignments(workload).push_back(
        json::object{{"name", fmt::format("p{}", i)}, {"topologyAssignment", assignments[i]}});
  }
  return workload;
}

// A few hundred bytes that say 100 000 domains each.
json::value many_domains(size_t slices) {
  const json::value slice =
      yaml("{domainCount: 100000, valuesPerLevel: [{universal: a}], podCounts: {universal: 1}}");
  return json::object{{"levels", {"host"}}, {"slices", json::array(slices, slice)}};
}

json::value one_domain() {
  return yaml(
      "{levels: [host], slices: [{domainCount: 1, valuesPerLevel: [{universal: b}], podCounts: "
      "{universal: 4}}]}");
}

// How many domains each assignment has in v1beta1; 0: it was left out.
std::vector<size_t> domains_of(json::value older) {
  std::vector<size_t> counts;
  for (json::value& element : pod_set_assignments(older)) {
    const json::array* domains = array_at(element, {"topologyAssignment", "domains"});
    counts.push_back(domains == nullptr ? 0 : domains->size());
  }
  return counts;
}

// Both are the same, but for the slicing of assignments.
void expect_same(json::value a, json::value b) {
  ASSERT_EQ(pod_set_assignments(a).size(), pod_set_assignments(b).size());
  for (size_t i = 0; i < pod_set_assignments(a).size(); ++i) {
    const json::value* one = find_at(pod_set_assignments(a)[i], {"topologyAssignment"});
    json::value* other = find_at(pod_set_assignments(b)[i], {"topologyAssignment"});
    if (one == nullptr || other == nullptr || *one == *other) continue;
    const auto meant = topology::decode_assignment(*one, "");
    ASSERT_TRUE(meant.has_value());
    const auto also_meant = topology::decode_assignment(*other, "");
    EXPECT_TRUE(also_meant.has_value() && *also_meant == *meant) << i;
    *other = *one;
  }
  EXPECT_EQ(a, b);
}

TEST(AssignmentConversion, PodSetsAreAsManyAsTheCrdAllows) {
  for (const std::string version : {"v1beta1", "v1beta2"}) {
    const json::value& schema = testing::open_api_schemas().at({"Workload", version});
    EXPECT_EQ(integer_at(schema, {"properties", "status", "properties", "admission", "properties",
                                  "podSetAssignments", "maxItems"}),
              kMostPodSets);
  }
}

TEST(AssignmentConversion, TheyShareTheRoomOfTheirDocument) {
  SKIP_IF_SANITIZED();
  json::array assignments(20, many_domains(10));
  assignments[1] = one_domain();
  assignments[4] = one_domain();
  const json::value workload = with_assignments(assignments);
  const json::value older = down(workload);
  // The first leaves no room for another domain.
  std::vector<size_t> expected(20, 0);
  expected[0] = topology::kMaxDomains;
  EXPECT_EQ(domains_of(older), expected);
  // What is left out is noted.
  expect_same(up(older), workload);
}

TEST(AssignmentConversion, OneThatDoesNotFitIsLeftOutAlone) {
  SKIP_IF_SANITIZED();
  const json::value workload =
      with_assignments({many_domains(6), many_domains(5), one_domain(), many_domains(3)});
  const json::value older = down(workload);
  EXPECT_EQ(domains_of(older), (std::vector<size_t>{600'000, 0, 1, 300'000}));
  expect_same(up(older), workload);
  // Where the first goes there is room for the second, which nobody wrote in v1beta1: its note is
  // dropped.
  json::value edited = older;
  pod_set_assignments(edited)[0].get_object().erase("topologyAssignment");
  EXPECT_EQ(domains_of(down(up(edited))), (std::vector<size_t>{0, 0, 1, 300'000}));
}

TEST(AssignmentConversion, ThoseOfMorePodSetsThanThereAreAreLeftOut) {
  const json::value workload = with_assignments(json::array(kMostPodSets + 2, one_domain()));
  std::vector<size_t> expected(kMostPodSets, 1);
  expected.resize(kMostPodSets + 2, 0);
  EXPECT_EQ(domains_of(down(workload)), expected);
  EXPECT_EQ(domains_of(convert_plainly("Workload", workload, "v1beta1")), expected);
  EXPECT_EQ(up(down(workload)), workload);
}

TEST(AssignmentConversion, WhatDoesNotFitIsNotWritten) {
  json::value workload = with_assignments({many_domains(6), many_domains(5)});
  EXPECT_NE(texts_of(problems_of_assignments(workload))
                .find("podSetAssignments[1].topologyAssignment.slices[4].domainCount"),
            std::string::npos);
  const auto refused = admission().admit("Workload", nullptr, workload);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(texts_of(refused.error()).find("at most 400000 domains"), std::string::npos)
      << texts_of(refused.error());
}

// Every note could be tried, and each says 300 000 domains.
TEST(AssignmentConversion, NotesWithAssignmentsThatCouldBeConvertedCostLittle) {
  json::value workload = with_assignments({one_domain()});
  pod_set_assignments(workload)[0].get_object().erase("topologyAssignment");
  const auto cost = [&](size_t notes) {  // in processor time: others may keep it waiting
    const json::value note =
        json::object{{"at", "/status/admission/podSetAssignments/p0"},
                     {"was", json::object{{"topologyAssignment", many_domains(3)}}}};
    const std::string text =
        json::serialize(json::object{{"of", "v1beta2"}, {"lost", json::array(notes, note)}});
    json::value older = down(workload);
    ensure_object(older, {"status"})["conditions"] =
        json::array{{{"type", kConversionCondition},
                     {"status", "Unknown"},
                     {"reason", "KeptForOtherVersion"},
                     {"message", text},
                     {"lastTransitionTime", "1970-01-01T00:00:00Z"}}};
    const std::clock_t start = std::clock();
    EXPECT_EQ(up(older), workload);
    return std::clock() - start;
  };
  EXPECT_LT(cost(32), cost(1) * 8);
}

// The smallest slicing of one of them takes a second, and a request has room for hundreds.
TEST(AssignmentConversion, ManyLevelsAreSlicedQuickly) {
  api::TopologyAssignment assignment{std::vector<std::string>(topology::kMaxLevels, "level"), {}};
  for (size_t i = 0; i < 1000; ++i) {
    api::DomainAssignment domain{{}, 1};
    for (size_t level = 0; level < topology::kMaxLevels; ++level) {
      domain.values.push_back(fmt::format("{:x}", (i + 1) * (level + 7) * 2654435761));
    }
    assignment.domains.push_back(std::move(domain));
  }
  json::value older = down(with_assignments({one_domain()}));
  pod_set_assignments(older)[0].get_object()["topologyAssignment"] =
      topology::encode_v1beta1(assignment);
  json::value stored = up(older);
  EXPECT_EQ(pod_set_assignments(stored)[0].at("topologyAssignment"),
            topology::encode_v1beta2(assignment, topology::Slicing::kQuick));
  EXPECT_EQ(down(stored), older);
}

// 100 000 nodes, as many levels as there may be, and names as long as labels may be.
TEST(AssignmentConversion, TheLargestClusterIsConverted) {
  SKIP_IF_SANITIZED();
  constexpr size_t kNodes = 100'000;
  api::TopologyAssignment assignment;
  std::vector<std::string> values;
  for (size_t level = 0; level < topology::kMaxLevels; ++level) {
    assignment.levels.push_back(fmt::format("example.com/level-{}", level));
    values.push_back(fmt::format("{:x>63}", level));
  }
  for (size_t node = 0; node < kNodes; ++node) {
    values.back() = fmt::format("{:x>63}", node);
    assignment.domains.push_back({values, 1});
  }
  const json::value stored =
      topology::encode_v1beta2(assignment, topology::Slicing::kFewest).value();
  EXPECT_LT(json::serialize(stored).size(), 1'500'000);  // what etcd holds
  const json::value workload = with_assignments({stored, one_domain()});
  const json::value older = down(workload);
  EXPECT_EQ(domains_of(older), (std::vector<size_t>{kNodes, 1}));
  json::value back = up(older);
  EXPECT_EQ(topology::decode_assignment(pod_set_assignments(back)[0].at("topologyAssignment"), ""),
            assignment);
}

}  // namespace
}  // namespace phalanx::admission

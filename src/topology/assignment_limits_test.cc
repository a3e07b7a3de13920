#include "topology/assignment_limits.h"

#include <gtest/gtest.h>

namespace phalanx::topology {
namespace {

api::TopologyAssignment two_racks() {
  return {{"block", "rack"}, {{{"block-1", "rack-1"}, 4}, {{"block-1", "rack-2"}, 2}}};
}

TEST(AssignmentLimits, NoMoreIsTakenThanIsLeft) {
  const json::value slices = encode_v1beta2(two_racks()).value();
  const AssignmentSize size = measure_assignment(slices, "at").value();
  EXPECT_EQ(size.domains, 2);
  EXPECT_EQ(size.values, 4);
  EXPECT_EQ(size.text_bytes, 2 * std::string_view("block-1rack-1").size());
  for (const json::value& form : {slices, encode_v1beta1(two_racks())}) {
    EXPECT_TRUE(decode_assignment(form, "at", size).has_value());
    EXPECT_FALSE(decode_assignment(form, "at", {1, 4, 26}).has_value());
    EXPECT_FALSE(decode_assignment(form, "at", {2, 3, 26}).has_value());
    EXPECT_FALSE(measure_assignment(form, "at", {2, 4, 25}).has_value());
  }
  EXPECT_EQ(
      decode_assignment(slices, "at", {2, 4, 25}).error().message,
      "at.slices[0].valuesPerLevel: makes it 26 bytes of values, but an assignment has at most 25");
}

// Escapes count: they are what becomes of it in a text.
TEST(AssignmentLimits, SizesAreThoseOfTheText) {
  api::TopologyAssignment assignment{{"block", "host"}, {}};
  for (int i = 0; i < 50; ++i) {
    assignment.domains.push_back(
        {{"\"block\\", "host\n-\x01-ä-" + std::to_string(i) + "\t\x1f"}, 1 + i % 2});
  }
  size_t text_bytes = 0;
  for (const api::DomainAssignment& domain : assignment.domains) {
    for (const std::string& value : domain.values) {
      text_bytes += json::serialize(json::value(value)).size() - 2;
    }
  }
  EXPECT_EQ(size_of(assignment).text_bytes, text_bytes);
  for (const Slicing slicing : {Slicing::kSmallest, Slicing::kFewest}) {
    const json::value slices = encode_v1beta2(assignment, slicing).value();
    const AssignmentSize measured = measure_assignment(slices, "").value();
    EXPECT_EQ(measured.domains, 50);
    EXPECT_EQ(measured.values, 100);
    EXPECT_EQ(measured.text_bytes, text_bytes);
  }
}

}  // namespace
}  // namespace phalanx::topology

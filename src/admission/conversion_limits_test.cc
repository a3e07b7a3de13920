// What a conversion may cost, whatever is sent: anybody who reaches the port may send it.
#include <algorithm>
#include <string>

#include "admission/conversion_notes.h"
#include "admission/webhook_testing.h"
#include "base/json_path.h"

namespace phalanx::admission {
namespace {

using testing::down;
using testing::good_with;
using testing::up;

// A stranger chooses how many elements lose something. What each costs must not depend on that: the
// square of their number would be hours.
TEST(ConversionLimits, LossesOfManyElements) {
  constexpr size_t kElements = 300'000;
  json::value workload = good_with("Workload", "status: {admission: {clusterQueue: q}}");
  const auto assignments_of = [](const json::value& document) -> const json::array& {
    return *array_at(document, {"status", "admission", "podSetAssignments"});
  };
  const auto kept = [&](const json::value& document) {
    return std::ranges::count_if(assignments_of(document), [](const json::value& element) {
      return element.as_object().contains("topologyAssignment");
    });
  };
  json::object* admission = object_at(workload, {"status", "admission"});
  (*admission)["podSetAssignments"] =
      json::array(kElements, json::object{{"topologyAssignment", json::object()}});
  json::value there = down("Workload", workload);
  EXPECT_EQ(assignments_of(there).size(), kElements);
  EXPECT_EQ(kept(there), 0);
  const json::value back = up("Workload", there);
  EXPECT_EQ(assignments_of(back).size(), kElements);
  EXPECT_GT(kept(back), 0) << "those that there was time for";
  EXPECT_LE(kept(back), kMostConversionNotes);
  // With names of their own.
  for (size_t i = 0; i < kElements; ++i) {
    (*admission)["podSetAssignments"].as_array()[i].as_object()["name"] = std::to_string(i);
  }
  there = down("Workload", workload);
  EXPECT_EQ(assignments_of(there).size(), kElements);
  // Of a smaller document all are kept for which there is room.
  (*admission)["podSetAssignments"].as_array().resize(1000);
  EXPECT_EQ(kept(up("Workload", down("Workload", workload))), kMostConversionNotes);
}

}  // namespace
}  // namespace phalanx::admission

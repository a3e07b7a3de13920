#include "core/preemption.h"

#include <gtest/gtest.h>

#include "core/names.h"

namespace phalanx::core {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

Time at(int64_t second) {
  return Time(seconds(second));
}

// Preempted at 100, so many times by now.
WorkloadState preempted(int32_t times) {
  WorkloadState workload;
  api::set_condition(workload.object.conditions,
                     {std::string(names::kPreempted), true, "InClusterQueue", "", 1, at(100)});
  workload.object.evictions[{"Preempted", ""}] = times;
  workload.object.evictions[{"Deactivated", ""}] = 50;
  return workload;
}

TEST(RestraintTest, DoublesWithEachTimeUpToAnHour) {
  const std::map<int32_t, seconds> lengths{{0, seconds(10)}, {1, seconds(10)},     {2, seconds(20)},
                                           {3, seconds(40)}, {9, seconds(2560)},   {10, hours(1)},
                                           {500, hours(1)},  {INT32_MAX, hours(1)}};
  for (const auto& [times, length] : lengths) {
    SCOPED_TRACE(times);
    const auto restraint = restraint_of(preempted(times), at(100));
    ASSERT_TRUE(restraint);
    EXPECT_EQ(restraint->since, at(100));
    EXPECT_EQ(restraint->until, at(100) + length);
    EXPECT_TRUE(restraint_of(preempted(times), at(99) + length));
    EXPECT_FALSE(restraint_of(preempted(times), at(100) + length));
  }
}

TEST(RestraintTest, EndsWhenTheWorkloadIsAdmitted) {
  WorkloadState workload = preempted(3);
  api::set_condition(workload.object.conditions,
                     {std::string(names::kPreempted), false, "QuotaReserved", "", 1, at(101)});
  EXPECT_FALSE(restraint_of(workload, at(101)));
  EXPECT_FALSE(restraint_of(WorkloadState(), at(101)));
}

}  // namespace
}  // namespace phalanx::core

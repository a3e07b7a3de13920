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

TEST(PreemptionMessageTest, NamesStayWithinTheirNamespace) {
  const auto workload = [](const std::string& space, const std::string& name) {
    WorkloadState state;
    state.object.namespace_ = space;
    state.object.meta.uid = "uid-of-" + name;
    state.request.name = space + "/" + name;
    return state;
  };
  const WorkloadState winner = workload("ml", "w");
  const quota::VictimReason reason = quota::VictimReason::kReclamation;
  const std::string named =
      "Makes room for workload ml/w (UID: uid-of-w, JobUID: ): its "
      "ClusterQueue takes back what it has lent";
  EXPECT_EQ(preemption_message(workload("ml", "v"), winner, reason), named);
  EXPECT_EQ(preemption_message(workload("web", "v"), winner, reason),
            "Makes room for a workload of another namespace (UID: uid-of-w, JobUID: ): its "
            "ClusterQueue takes back what it has lent");
  EXPECT_EQ(preemption_record(winner, reason), named);
}

}  // namespace
}  // namespace phalanx::core

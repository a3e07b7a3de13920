#include "core/recent_usage.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

using std::chrono::seconds;

// LocalQueues ml/a and ml/b of one ClusterQueue. Usage halves in 100 s and is sampled every 10 s.
class RecentUsageTest : public ::testing::Test {
 protected:
  RecentUsageTest() {
    state_.now = Time(seconds(1000));
    state_.configuration.admission_fair_sharing =
        AdmissionFairSharing{seconds(100), seconds(10), {{"gpu", 2}, {"memory", 0}}};
    state_.cluster_queues["team"].usage_based_admission = true;
    for (const std::string name : {"ml/a", "ml/b"}) {
      state_.local_queues[name].cluster_queue = "team";
      state_.local_queues[name].weight_milli = 1000;
    }
  }

  // A workload of the LocalQueue holds this from now on.
  void use(const std::string& local_queue, const quota::Usage& usage) {
    Holding holding;
    holding.reservation.cluster_queue = "team";
    holding.reservation.local_queue = local_queue;
    holding.reservation.usage = usage;
    state_.hold(local_queue + "-workload", holding);
  }

  State state_;
  RecentUsages usages_{state_};
};

TEST_F(RecentUsageTest, WhatIsUsedComesInAsWhatWasUsedFades) {
  EXPECT_EQ(usages_.sample(), (std::set<std::string>{"ml/a", "ml/b"}));
  EXPECT_EQ(usages_.value("ml/a"), 0);
  use("ml/a", {{{"h100", "gpu"}, 8}});
  state_.now += seconds(100);
  EXPECT_EQ(usages_.sample(), (std::set<std::string>{"ml/a", "ml/b"}));
  EXPECT_DOUBLE_EQ(usages_.value("ml/a"), 8);  // half of 8, times its weight
  state_.now += seconds(100);
  usages_.sample();
  EXPECT_DOUBLE_EQ(usages_.value("ml/a"), 12);
  state_.hold("ml/a-workload", std::nullopt);
  state_.now += seconds(100);
  usages_.sample();
  EXPECT_DOUBLE_EQ(usages_.value("ml/a"), 6);
  EXPECT_EQ(usages_.value("ml/b"), 0);
}

TEST_F(RecentUsageTest, NothingChangesBetweenSamples) {
  usages_.sample();
  use("ml/a", {{{"h100", "gpu"}, 8}});
  EXPECT_EQ(usages_.wake_at(), Time(seconds(1010)));
  state_.now += seconds(9);
  EXPECT_TRUE(usages_.sample().empty());
  EXPECT_EQ(usages_.value("ml/a"), 0);
  state_.now += seconds(1);
  EXPECT_FALSE(usages_.sample().empty());
  EXPECT_GT(usages_.value("ml/a"), 0);
}

// Or a queue could admit everything it has between two samples.
TEST_F(RecentUsageTest, AnAdmissionCountsAtOnce) {
  usages_.sample();
  usages_.admitted("ml/a", {{{"h100", "gpu"}, 8}});
  const double at_once = usages_.value("ml/a");
  EXPECT_NEAR(at_once, 16 * (1 - std::exp2(-0.1)), 1e-9);
  usages_.admitted("ml/elsewhere", {{{"h100", "gpu"}, 8}});
  EXPECT_EQ(usages_.value("ml/elsewhere"), 0);
}

TEST_F(RecentUsageTest, ResourcesAndQueuesHaveWeights) {
  state_.local_queues["ml/b"].weight_milli = 4000;
  usages_.sample();
  for (const std::string name : {"ml/a", "ml/b"}) {
    // Thousandths of a cpu; memory counts for nothing.
    use(name, {{{"h100", "cpu"}, 6000}, {{"h100", "gpu"}, 1}, {{"h100", "memory"}, 1 << 30}});
  }
  state_.now += seconds(100);
  usages_.sample();
  EXPECT_DOUBLE_EQ(usages_.value("ml/a"), 4);
  EXPECT_DOUBLE_EQ(usages_.value("ml/b"), 1);
  state_.local_queues["ml/b"].weight_milli = 0;
  EXPECT_EQ(usages_.value("ml/b"), std::numeric_limits<double>::infinity());
}

TEST_F(RecentUsageTest, GoesOnFromTheStatusAfterARestart) {
  state_.local_queues["ml/a"].status.recent_usage =
      api::RecentUsage{{{"gpu", 16}}, Time(seconds(900))};
  usages_.sample();
  EXPECT_DOUBLE_EQ(usages_.value("ml/a"), 16);  // 16 have become 8
  EXPECT_EQ(usages_.status("ml/a")->consumed.at("gpu"), 8);
  EXPECT_EQ(usages_.status("ml/a")->at, Time(seconds(1000)));
  EXPECT_FALSE(usages_.status("ml/elsewhere"));
}

TEST_F(RecentUsageTest, AQueueThatIsNoLongerOrderedByUsageIsForgotten) {
  usages_.sample();
  usages_.admitted("ml/a", {{{"h100", "gpu"}, 8}});
  state_.cluster_queues["team"].usage_based_admission = false;
  EXPECT_TRUE(usages_.sample().empty());
  EXPECT_EQ(usages_.value("ml/a"), 0);
  EXPECT_FALSE(usages_.wake_at());
}

}  // namespace
}  // namespace phalanx::core

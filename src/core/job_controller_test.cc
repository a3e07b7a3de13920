#include "core/job_controller.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

class ManagedTest : public testing::Test {
 protected:
  api::ObjectKey add(const std::string& name, const std::string& queue, const std::string& owner) {
    const api::ObjectKey key{api::Kind::kJob, "ml", name};
    Job job;
    job.meta.name = name;
    job.meta.namespace_ = "ml";
    job.meta.uid = name;
    if (!queue.empty()) job.meta.labels["kueue.x-k8s.io/queue-name"] = queue;
    if (!owner.empty()) job.meta.owners.push_back({"batch/v1", "Job", owner, owner, true});
    state_.job_of_uid[name] = key;
    state_.jobs[key] = job;
    return key;
  }
  bool managed(const api::ObjectKey& key) { return is_managed(state_, key, state_.jobs.at(key)); }

  State state_;
};

TEST_F(ManagedTest, AQueueNameMakesAJobOurs) {
  EXPECT_TRUE(managed(add("a", "main", "")));
  EXPECT_FALSE(managed(add("b", "", "")));
}

TEST_F(ManagedTest, WhatBelongsToAManagedJobIsItsOwnersToManage) {
  add("parent", "main", "");
  add("child", "", "parent");
  EXPECT_FALSE(managed(add("grandchild", "main", "child")));
  EXPECT_TRUE(managed(add("of-nobody-we-know", "main", "gone")));
}

TEST_F(ManagedTest, ARingOfOwnersIsWalkedOnlySoFar) {
  EXPECT_TRUE(managed(add("itself", "main", "itself")));
  add("one", "", "two");
  const api::ObjectKey two = add("two", "", "one");
  EXPECT_FALSE(managed(two));
  EXPECT_TRUE(managed(add("three", "main", "one")));
}

}  // namespace
}  // namespace phalanx::core

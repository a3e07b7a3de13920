#include "core/job_controller.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

// Of a kind that makes jobs and has one Workload for all their pods, as a JobSet does.
class ParentAdapter : public JobAdapter {
 public:
  [[nodiscard]] api::Kind kind() const override { return api::Kind::kJob; }
  [[nodiscard]] bool counts_jobs_of_its_own() const override { return true; }
  [[nodiscard]] Job read(const JsonReader& /*object*/) const override { return {}; }
  [[nodiscard]] json::object start_patch(const Job& /*job*/,
                                         std::span<const Injection> /*all*/) const override {
    return {};
  }
  [[nodiscard]] json::object suspend_patch() const override { return {}; }
  [[nodiscard]] json::object reset_patch() const override { return {}; }
  [[nodiscard]] std::optional<json::object> restore_patch(
      const Job& /*job*/, std::span<const Original> /*originals*/) const override {
    return std::nullopt;
  }
};

class ManagedTest : public testing::Test {
 protected:
  ManagedTest() { parents_.add(std::make_unique<ParentAdapter>()); }

  api::ObjectKey add(const std::string& name, const std::string& queue, const std::string& owner) {
    const api::ObjectKey key{api::Kind::kJob, "ml", name};
    Job job;
    job.meta.name = name;
    job.meta.namespace_ = "ml";
    job.meta.uid = name;
    if (!queue.empty()) job.meta.labels["kueue.x-k8s.io/queue-name"] = queue;
    if (!owner.empty()) job.meta.owners.push_back({"batch/v1", "Job", owner, owner, true});
    state_.job_of_id[job_id("ml", name)] = key;
    state_.jobs[key] = job;
    return key;
  }
  bool managed(const api::ObjectKey& key) { return is_managed(state_, key, state_.jobs.at(key)); }

  Adapters parents_;
  State state_;
};

TEST_F(ManagedTest, AQueueNameMakesAJobOurs) {
  EXPECT_TRUE(managed(add("a", "main", "")));
  EXPECT_FALSE(managed(add("b", "", "")));
}

TEST_F(ManagedTest, WhatBelongsToAManagedJobIsItsOwnersToManage) {
  state_.adapters = &parents_;
  add("parent", "main", "");
  add("child", "", "parent");
  EXPECT_FALSE(managed(add("grandchild", "main", "child")));
  EXPECT_TRUE(managed(add("of-nobody-we-know", "main", "gone")));
}

// Its Workload counts its own pods only, and owners are easily written.
TEST_F(ManagedTest, AJobOfAJobNeedsQuotaOfItsOwn) {
  add("parent", "main", "");
  state_.configuration.manage_jobs_without_queue_name = true;
  EXPECT_TRUE(managed(add("child", "", "parent")));
}

TEST_F(ManagedTest, AnOwnerInAnotherNamespaceIsNone) {
  state_.adapters = &parents_;
  const api::ObjectKey elsewhere{api::Kind::kJob, "other", "parent"};
  state_.jobs[elsewhere].meta.uid = "parent";
  state_.jobs[elsewhere].meta.labels["kueue.x-k8s.io/queue-name"] = "main";
  state_.job_of_id[job_id("other", "parent")] = elsewhere;
  EXPECT_TRUE(managed(add("child", "main", "parent")));
}

TEST_F(ManagedTest, ARingOfOwnersIsWalkedOnlySoFar) {
  EXPECT_TRUE(managed(add("itself", "main", "itself")));
  add("one", "", "two");
  const api::ObjectKey two = add("two", "", "one");
  EXPECT_FALSE(managed(two));
  EXPECT_TRUE(managed(add("three", "main", "one")));
}

// The name of a Job may have a dot anywhere but at its ends, and no name may have one before a '-'.
TEST(WorkloadNameTest, WhatIsCutCanStandBeforeAHash) {
  const auto name_of = [](const std::string& name) {
    return workload_name({api::Kind::kJob, "ml", name}, Job());
  };
  EXPECT_EQ(name_of("a").size(), 11U);
  EXPECT_TRUE(name_of("a").starts_with("job-a-"));
  const std::string word(52, 'a');
  EXPECT_TRUE(name_of(word + "bc").starts_with("job-" + word + "b-"));
  for (const char* rest : {".bc", "-bc", "-.bc"}) {
    const std::string name = name_of(word + rest);
    EXPECT_TRUE(name.starts_with("job-" + word + "-")) << name;
    EXPECT_EQ(name.size(), 62U) << name;
    EXPECT_TRUE(api::is_object_name(name)) << name;
  }
  EXPECT_NE(name_of(word + ".bc"), name_of(word + "-bc"));
}

}  // namespace
}  // namespace phalanx::core

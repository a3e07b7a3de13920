// The core and an API server that carries out what it writes: the whole way of a check, and what
// becomes of writes that are refused.
#include "core/provisioning_testing.h"

namespace phalanx::core {
namespace {

class CoreProvisioningTest : public ProvisioningFixture {
 protected:
  // Answers every write about provisioning with `outcome` until there are none; "" if all is done.
  std::string carry_out(Output output, WriteOutcome outcome = WriteOutcome::kDone) {
    std::string log;
    for (int i = 0; i < 20; ++i) {
      std::vector<Event> events;
      for (Write& write : output.writes) {
        if (!is_looked_at(write.key.kind)) continue;
        log += text_of(write) + "\n";
        const bool done = write.key.kind == api::Kind::kWorkload || outcome == WriteOutcome::kDone;
        if (done) events.push_back(applied(write));
        events.emplace_back(
            WriteFinished{write.id, done ? WriteOutcome::kDone : outcome, "because"});
      }
      if (events.empty()) return log;
      output = core_.step(now_, std::move(events));
    }
    return log + "and so on\n";
  }
  static bool is_looked_at(api::Kind kind) {
    return kind == api::Kind::kWorkload || kind == api::Kind::kPodTemplate ||
           kind == api::Kind::kProvisioningRequest;
  }
  static std::string text_of(const Write& write) {
    if (write.verb == Verb::kCreate) return "create " + write.key.text();
    if (write.verb == Verb::kDelete) return "delete " + write.key.text();
    const json::value* checks = write.body.at("status").as_object().if_contains("admissionChecks");
    if (checks == nullptr) return "patch " + write.key.text();
    return fmt::format("{}: {}", std::string_view(checks->at(0).at("state").as_string()),
                       std::string_view(checks->at(0).at("message").as_string()));
  }
  Event applied(const Write& write) {
    if (write.verb == Verb::kDelete) return ObjectDeleted{write.key};
    if (write.verb == Verb::kCreate) {
      made_.push_back(write.body);
      return changed(made_.back());
    }
    apply_merge_patch(workload_, write.body);
    return changed(workload_, write.status);
  }
  Output synced() {
    std::vector<Event> events;
    events.emplace_back(Synced{});
    return core_.step(now_, std::move(events));
  }
  Output listed() {
    std::vector<Event> events;
    events.emplace_back(Listed{api::Kind::kProvisioningRequest, 0, {}});
    return core_.step(now_, std::move(events));
  }
};

TEST_F(CoreProvisioningTest, FromThePodTemplateToReady) {
  EXPECT_EQ(carry_out(synced()),
            "create PodTemplate ml/ppt-train-check-1-main\n"
            "create ProvisioningRequest ml/train-check-1\n"
            "Pending: Waits for ProvisioningRequest train-check-1\n");
  json::value& request = made_.back();
  request.as_object()["status"] =
      parse_documents(
          "{conditions: [{type: Provisioned, status: 'True', reason: R, message: done}]}")
          .value()
          .front()
          .value;
  // With its check ready it is admitted.
  EXPECT_EQ(carry_out(tell_document(request)), "Ready: done\npatch Workload ml/train\n");
}

TEST_F(CoreProvisioningTest, TheCheckSaysWhetherItIsActive) {
  const Output output = synced();
  size_t writes = 0;
  for (const Write& write : output.writes) {
    if (write.key.kind != api::Kind::kAdmissionCheck) continue;
    ++writes;
    EXPECT_TRUE(write.status);
    EXPECT_EQ(write.body.at("status").at("conditions").at(0).at("status"), "True");
  }
  EXPECT_EQ(writes, 1U);
}

// The check says why; its word is no reason to try again, a change of the Workload is.
TEST_F(CoreProvisioningTest, ARefusalIsSaidAndTriedAgainWithTheNextChange) {
  EXPECT_EQ(carry_out(synced(), WriteOutcome::kRefused),
            "create PodTemplate ml/ppt-train-check-1-main\n"
            "Pending: PodTemplate ml/ppt-train-check-1-main cannot be created: because\n");
  EXPECT_EQ(carry_out(core_.step(now_, {})), "");
  EXPECT_EQ(carry_out(tell_document(workload_), WriteOutcome::kRefused),
            "create PodTemplate ml/ppt-train-check-1-main\n");
  EXPECT_EQ(carry_out(tell_config("parameters: {a: b}")),
            "create PodTemplate ml/ppt-train-check-1-main\n"
            "create ProvisioningRequest ml/train-check-1\n"
            "Pending: Waits for ProvisioningRequest train-check-1\n");
}

TEST_F(CoreProvisioningTest, AnotherDocumentThanTheRefusedOneIsTriedAtOnce) {
  carry_out(synced(), WriteOutcome::kRefused);
  const auto tell_default = [&](std::string_view memory) {
    return tell(fmt::format(
        "{{apiVersion: v1, kind: LimitRange, metadata: {{name: defaults, namespace: ml}}, spec: "
        "{{limits: [{{type: Container, defaultRequest: {{memory: {}}}}}]}}}}",
        memory));
  };
  EXPECT_EQ(carry_out(tell_default("1Gi"), WriteOutcome::kRefused),
            "create PodTemplate ml/ppt-train-check-1-main\n");
  EXPECT_EQ(carry_out(tell_default("1Gi")), "");
  EXPECT_TRUE(
      carry_out(tell_default("2Gi")).starts_with("create PodTemplate ml/ppt-train-check-1-main\n"));
}

// Nobody tells that a quota of objects has room again, or that a policy was changed.
TEST_F(CoreProvisioningTest, ARefusalIsTriedAgainLaterAndLater) {
  Output output = synced();
  std::vector<int64_t> minutes;
  Time last = now_;
  for (int i = 0; i < 9; ++i) {
    carry_out(std::move(output), WriteOutcome::kRefused);
    const Time next = core_.step(now_, {}).wake_at.value();
    now_ = next - std::chrono::seconds(1);
    EXPECT_EQ(carry_out(core_.step(now_, {}), WriteOutcome::kRefused), "");
    now_ = next;
    output = core_.step(now_, {});
    minutes.push_back((next - last) / std::chrono::minutes(1));
    last = next;
  }
  EXPECT_EQ(minutes, (std::vector<int64_t>{1, 2, 4, 8, 16, 32, 60, 60, 60}));
  EXPECT_EQ(carry_out(std::move(output)),
            "create PodTemplate ml/ppt-train-check-1-main\n"
            "create ProvisioningRequest ml/train-check-1\n"
            "Pending: Waits for ProvisioningRequest train-check-1\n");
  EXPECT_TRUE(core_.state().provisioning_refusals.empty());
}

TEST_F(CoreProvisioningTest, WithoutTheKindItIsTriedWhenTheKindIsThere) {
  made_.push_back(step().write->body);
  tell_document(made_.back());
  const std::string log = carry_out(synced(), WriteOutcome::kNotFound);
  EXPECT_TRUE(
      log.contains("Pending: ProvisioningRequest ml/train-check-1 cannot be created: the "
                   "cluster does not know the kind; install an autoscaler that does\n"))
      << log;
  EXPECT_EQ(carry_out(core_.step(now_, {})), "");
  EXPECT_EQ(carry_out(listed()),
            "create ProvisioningRequest ml/train-check-1\n"
            "Pending: Waits for ProvisioningRequest train-check-1\n");
}

TEST_F(CoreProvisioningTest, ANameThatIsTakenIsGivenUpWhenTheOtherIsSeen) {
  const std::string log = carry_out(synced(), WriteOutcome::kAlreadyExists);
  EXPECT_TRUE(log.contains("ml/ppt-train-check-1-main is there already")) << log;
  EXPECT_FALSE(log.contains("and so on")) << log;
  EXPECT_TRUE(carry_out(tell("{apiVersion: v1, kind: PodTemplate, metadata: {name: "
                             "ppt-train-check-1-main, namespace: ml}}"))
                  .starts_with("create PodTemplate ml/ppt-train-check-1-main-"));
}

// "a" with the check "b-1" and "a-b" with the check "1".
TEST_F(CoreProvisioningTest, TwoWorkloadsThatComeToOneNameAtOnce) {
  json::value other = workload_;
  other.at("metadata").as_object()["name"] = "train-check";
  other.at("metadata").as_object()["uid"] = "w2";
  other.at("status").at("admissionChecks").at(0).as_object()["name"] = "1";
  tell(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: '1'}, spec: "
      "{controllerName: kueue.x-k8s.io/provisioning-request, parameters: {apiGroup: "
      "kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: config}}}");
  json::value first = workload_;
  first.at("status").at("admissionChecks").at(0).as_object()["name"] = "check-1";
  tell(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: check-1}, spec: "
      "{controllerName: kueue.x-k8s.io/provisioning-request, parameters: {apiGroup: "
      "kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: config}}}");
  tell_document(first);
  tell_document(other);
  Output output = synced();
  std::set<std::string> requests;
  for (int i = 0; i < 20 && !output.writes.empty(); ++i) {
    std::vector<Event> events;
    for (const Write& write : output.writes) {
      if (write.verb == Verb::kDelete) events.emplace_back(ObjectDeleted{write.key});
      if (write.verb == Verb::kCreate) {
        made_.push_back(write.body);
        events.push_back(changed(made_.back()));
        if (write.key.kind == api::Kind::kProvisioningRequest) requests.insert(write.key.name);
      }
      events.emplace_back(WriteFinished{write.id, WriteOutcome::kDone, ""});
    }
    output = core_.step(now_, std::move(events));
  }
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(*requests.begin(), "train-check-1-1");
  EXPECT_TRUE(requests.rbegin()->starts_with("train-check-1-1-")) << *requests.rbegin();
}

// A watch may be faster than the answer to a write.
TEST_F(CoreProvisioningTest, TheEndOfAnObjectMayBeSeenBeforeItsDeletionIsAnswered) {
  carry_out(synced());
  Output output = tell_config("parameters: {a: b}");
  const auto deletion = std::ranges::find(output.writes, Verb::kDelete, &Write::verb);
  ASSERT_NE(deletion, output.writes.end());
  EXPECT_EQ(carry_out(tell_deleted(deletion->key)), "");
  std::vector<Event> events;
  events.emplace_back(WriteFinished{deletion->id, WriteOutcome::kDone, ""});
  EXPECT_TRUE(carry_out(core_.step(now_, std::move(events)))
                  .starts_with("create ProvisioningRequest ml/train-check-1\n"));
}

TEST_F(CoreProvisioningTest, AfterACrashItGoesOnWhereItWas) {
  made_.push_back(step().write->body);
  tell_document(made_.back());
  EXPECT_EQ(carry_out(synced()),
            "create ProvisioningRequest ml/train-check-1\n"
            "Pending: Waits for ProvisioningRequest train-check-1\n");
}

}  // namespace
}  // namespace phalanx::core

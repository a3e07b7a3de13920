#include "sim/job_rules.h"

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

class JobRulesTest : public ApiServerTest {
 protected:
  static std::string job(std::string_view fields, std::string_view pod_fields = "") {
    return "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {" + std::string(fields) +
           " template: {metadata: {labels: {app: train}}, spec: {restartPolicy: Never, "
           "containers: [{name: main}], " +
           std::string(pod_fields) + "}}}}";
  }
  std::string change(std::string_view text) { return refusal(merge(job_key("j"), text)); }
  std::string status(std::string_view text) {
    return refusal(merge(job_key("j"), text, {.status = true}));
  }
};

TEST_F(JobRulesTest, Defaults) {
  const Stored created = make(job(""));
  EXPECT_EQ(integer_at(*created, {"spec", "parallelism"}), 1);
  EXPECT_EQ(integer_at(*created, {"spec", "completions"}), 1);
  EXPECT_EQ(integer_at(*created, {"spec", "backoffLimit"}), 6);
  EXPECT_EQ(string_at(*created, {"spec", "completionMode"}), "NonIndexed");
  EXPECT_EQ(string_at(*created, {"spec", "podReplacementPolicy"}), "TerminatingOrFailed");
  ASSERT_NE(find_at(*created, {"spec", "suspend"}), nullptr);
  EXPECT_FALSE(true_at(*created, {"spec", "suspend"}));
}

TEST_F(JobRulesTest, AWorkQueueHasNoCompletions) {
  const Stored created = make(job("parallelism: 3,"));
  EXPECT_EQ(find_at(*created, {"spec", "completions"}), nullptr);
}

TEST_F(JobRulesTest, LabelsAndSelectorAreGenerated) {
  const Stored created = make(job(""));
  const std::string uid(uid_of(*created));
  const json::object& labels = *object_at(*created, {"spec", "template", "metadata", "labels"});
  EXPECT_EQ(string_field(labels, "batch.kubernetes.io/controller-uid"), uid);
  EXPECT_EQ(string_field(labels, "controller-uid"), uid);
  EXPECT_EQ(string_field(labels, "batch.kubernetes.io/job-name"), "j");
  EXPECT_EQ(string_field(labels, "job-name"), "j");
  EXPECT_EQ(string_field(labels, "app"), "train");
  EXPECT_EQ(
      *find_at(*created, {"spec", "selector"}),
      (json::object{{"matchLabels", json::object{{"batch.kubernetes.io/controller-uid", uid}}}}));
  // The Job itself takes the labels that its author wrote, and no others.
  EXPECT_EQ(*find_at(*created, {"metadata", "labels"}), (json::object{{"app", "train"}}));
}

TEST_F(JobRulesTest, ASelectorNeedsManualSelector) {
  EXPECT_TRUE(contains(create_refusal(job("selector: {matchLabels: {app: train}},")),
                       "spec.selector: is generated; leave it out"));
  EXPECT_TRUE(contains(create_refusal(job("manualSelector: true,")), "spec.selector: is required"));
  EXPECT_TRUE(
      contains(create_refusal(job("manualSelector: true, selector: {matchLabels: {app: other}},")),
               "spec.template.metadata.labels: must have app: \"other\""));
  const Stored created = make(job("manualSelector: true, selector: {matchLabels: {app: train}},"));
  EXPECT_EQ(find_at(*created, {"spec", "template", "metadata", "labels", "job-name"}), nullptr);
}

TEST_F(JobRulesTest, TheTemplateIsChecked) {
  EXPECT_TRUE(contains(create_refusal("{apiVersion: batch/v1, kind: Job, metadata: {name: j}}"),
                       "spec: is required"));
  EXPECT_TRUE(
      contains(create_refusal("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {}}"),
               "spec.template: is required"));
  EXPECT_TRUE(
      contains(create_refusal("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: "
                              "{template: {spec: {containers: [{name: main}]}}}}"),
               "spec.template.spec.restartPolicy: \"Always\""));
  EXPECT_TRUE(contains(create_refusal(job("", "nodeSelector: {a: -}")),
                       "spec.template.spec.nodeSelector[a]"));
}

TEST_F(JobRulesTest, NumbersAndModesAreChecked) {
  EXPECT_TRUE(contains(create_refusal(job("parallelism: -1,")), "spec.parallelism"));
  EXPECT_TRUE(contains(create_refusal(job("completions: x,")), "spec.completions"));
  EXPECT_TRUE(
      contains(create_refusal(job("completionMode: Odd,")), "spec.completionMode: \"Odd\""));
  EXPECT_TRUE(contains(create_refusal(job("completionMode: Indexed, parallelism: 2,")),
                       "spec.completions: is required"));
  EXPECT_TRUE(
      contains(create_refusal(job("completionMode: Indexed, completions: 5, parallelism: 100001,")),
               "spec.parallelism: must be at most 100000"));
  EXPECT_TRUE(contains(create_refusal(job("managedBy: me,")), "spec.managedBy"));
  json::value long_name = from_yaml(job(""));
  ensure_object(long_name, {"metadata"})["name"] = std::string(64, 'a');
  EXPECT_TRUE(contains(refusal(server_.create(long_name)), "metadata.name: is too long for a Job"));
}

TEST_F(JobRulesTest, SomeFieldsNeverChange) {
  make(job("completions: 3,"));
  EXPECT_TRUE(contains(change("spec: {completions: 4}"), "spec.completions: cannot be changed"));
  EXPECT_TRUE(contains(change("spec: {completionMode: Indexed}"), "spec.completionMode"));
  EXPECT_TRUE(contains(change("spec: {managedBy: a.example/b}"), "spec.managedBy"));
  EXPECT_TRUE(contains(change("spec: {selector: {matchLabels: {a: b}}}"), "spec.selector"));
  EXPECT_EQ(change("spec: {parallelism: 5, backoffLimit: 2, suspend: true}"), "");
}

TEST_F(JobRulesTest, IndexedJobsScaleBothNumbersTogether) {
  make(job("completionMode: Indexed, completions: 3, parallelism: 3,"));
  EXPECT_EQ(change("spec: {completions: 5, parallelism: 5}"), "");
  EXPECT_EQ(change("spec: {completions: 2, parallelism: 2}"), "");
  EXPECT_TRUE(contains(change("spec: {completions: 6}"), "spec.completions"));
  EXPECT_EQ(change("spec: {parallelism: 1}"), "");
  EXPECT_TRUE(contains(change("spec: {completions: 6, parallelism: 6}"), "spec.completions"));
}

TEST_F(JobRulesTest, WherePodsRunMayChangeWhileSuspended) {
  make(job("suspend: true,"));
  EXPECT_EQ(change(R"(
spec:
  template:
    metadata: {labels: {more: x}, annotations: {a: b}}
    spec:
      nodeSelector: {zone: a}
      tolerations: [{key: a, operator: Exists}]
      schedulingGates: [{name: a.example/gate}]
      affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}
)"),
            "");
  EXPECT_EQ(change("spec: {template: {spec: {nodeSelector: null, affinity: null}}}"), "");
  EXPECT_TRUE(contains(change("spec: {template: {spec: {restartPolicy: OnFailure}}}"),
                       "spec.template.spec.restartPolicy: cannot be changed; of the template"));
  EXPECT_TRUE(contains(change("spec: {template: {metadata: {labels: {"
                              "batch.kubernetes.io/controller-uid: x}}}}"),
                       "spec.template.metadata.labels: must have"));
  // Starting and the choice of nodes in one write, as admission does.
  EXPECT_EQ(change("spec: {suspend: false, template: {spec: {nodeSelector: {zone: b}}}}"), "");
  EXPECT_TRUE(contains(change("spec: {template: {spec: {nodeSelector: {zone: c}}}}"),
                       "spec.template.spec.nodeSelector.zone: cannot be changed once the Job may"));
}

TEST_F(JobRulesTest, AStartedJobMustLoseItsStartTimeBeforeItsTemplateChanges) {
  make(job("suspend: true,"));
  ASSERT_EQ(status("status: {startTime: '2026-01-31T08:00:00Z'}"), "");
  constexpr std::string_view kMove = "spec: {template: {spec: {nodeSelector: {zone: c}}}}";
  EXPECT_TRUE(contains(change(kMove), "clear status.startTime"));
  ASSERT_EQ(status("status: {startTime: null}"), "");
  EXPECT_EQ(change(kMove), "");
}

TEST_F(JobRulesTest, TheStartTimeOfARunningJobStays) {
  make(job(""));
  EXPECT_EQ(status("status: {startTime: '2026-01-31T08:00:00Z'}"), "");
  EXPECT_TRUE(contains(status("status: {startTime: '2026-01-31T09:00:00Z'}"), "status.startTime"));
  EXPECT_TRUE(contains(status("status: {startTime: null}"), "status.startTime"));
  ASSERT_EQ(change("spec: {suspend: true}"), "");
  EXPECT_EQ(status("status: {conditions: [{type: Suspended, status: 'True'}]}"), "");
  ASSERT_EQ(change("spec: {suspend: false}"), "");
  EXPECT_EQ(status("status: {startTime: '2026-01-31T10:00:00Z', "
                   "conditions: [{type: Suspended, status: 'False'}]}"),
            "");
}

TEST_F(JobRulesTest, StatusIsChecked) {
  make(job(""));
  EXPECT_TRUE(contains(status("status: {active: -1}"), "status.active"));
  EXPECT_TRUE(contains(status("status: {completionTime: '2026-01-31T08:00:00Z'}"),
                       "status.completionTime"));
  EXPECT_TRUE(contains(status("status: {conditions: [{type: Complete, status: 'True'}, "
                              "{type: Failed, status: 'True'}]}"),
                       "cannot be both Complete and Failed"));
  EXPECT_EQ(status("status: {succeeded: 1, completionTime: '2026-01-31T08:00:00Z', "
                   "conditions: [{type: Complete, status: 'True'}]}"),
            "");
  EXPECT_TRUE(contains(status("status: {completionTime: null, conditions: []}"),
                       "a Job that is Complete stays so"));
}

}  // namespace
}  // namespace phalanx::sim

#include "admission/lossless_conversion.h"

#include "admission/conversion.h"
#include "admission/testing.h"
#include "base/json_path.h"

namespace phalanx::admission {
namespace {

using testing::down;
using testing::good_with;
using testing::merge;
using testing::up;
using testing::yaml;

// A document of v1beta1, of these fields.
json::value older(std::string_view kind, std::string_view rest) {
  json::value document = json::object{{"apiVersion", "kueue.x-k8s.io/v1beta1"},
                                      {"kind", kind},
                                      {"metadata", json::object{{"name", "sample"}}}};
  merge(document, yaml(rest));
  return document;
}

json::value with(json::value document, std::string_view patch) {
  merge(document, yaml(patch));
  return document;
}

json::value with_note(json::value document, const std::string& text) {
  ensure_object(document, {"metadata", "annotations"})[kConversionAnnotation] = text;
  return document;
}

// A condition as the conversion makes it, with this text.
json::value with_condition(json::value document, const std::string& text) {
  ensure_object(document, {"status"})["conditions"] =
      json::array{{{"type", kConversionCondition},
                   {"status", "Unknown"},
                   {"reason", "KeptForOtherVersion"},
                   {"message", text},
                   {"lastTransitionTime", "1970-01-01T00:00:00Z"}}};
  return document;
}

std::string note_of(const json::value& document) {
  const json::object* annotations = object_at(document, {"metadata", "annotations"});
  return annotations == nullptr ? ""
                                : std::string(string_field(*annotations, kConversionAnnotation));
}

std::string lost(std::string_view version, std::string_view notes) {
  return R"({"of":")" + std::string(version) + R"(","lost":[)" + std::string(notes) + "]}";
}

void expect_no_loss_up(std::string_view kind, const json::value& document) {
  const json::value there = up(kind, document);
  EXPECT_EQ(down(kind, there), document) << to_yaml(there) << "\n" << to_yaml(down(kind, there));
}

void expect_no_loss_down(std::string_view kind, const json::value& document) {
  const json::value there = down(kind, document);
  EXPECT_EQ(up(kind, there), document) << to_yaml(there) << "\n" << to_yaml(up(kind, there));
}

TEST(LosslessConversion, NothingIsNotedThatIsNotLost) {
  for (const std::string_view kind :
       {"Topology", "ResourceFlavor", "ClusterQueue", "Cohort", "LocalQueue",
        "WorkloadPriorityClass", "AdmissionCheck", "ProvisioningRequestConfig", "Workload"}) {
    const json::value stored = good_with(kind, "");
    EXPECT_EQ(note_of(down(kind, stored)), "") << kind;
    expect_no_loss_down(kind, stored);
    EXPECT_EQ(note_of(up(kind, down(kind, stored))), "") << kind;
  }
}

TEST(LosslessConversion, SpellingsOfV1beta1) {
  const json::value queue = older(
      "ClusterQueue",
      "spec: {cohort: all, flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: Preempt}}");
  const json::value stored = up("ClusterQueue", queue);
  EXPECT_EQ(string_at(stored, {"spec", "flavorFungibility", "whenCanBorrow"}), "MayStopSearch");
  EXPECT_EQ(
      note_of(stored),
      lost("v1beta1", R"({"at":"/spec/flavorFungibility","was":{"whenCanBorrow":"Borrow"}},)"
                      R"({"at":"/spec/flavorFungibility","was":{"whenCanPreempt":"Preempt"}})"));
  expect_no_loss_up("ClusterQueue", queue);
  // An edit of one of them, and the other is as it was.
  const json::value edited =
      with(stored, "spec: {flavorFungibility: {whenCanBorrow: TryNextFlavor}}");
  const json::value seen = down("ClusterQueue", edited);
  EXPECT_EQ(string_at(seen, {"spec", "flavorFungibility", "whenCanBorrow"}), "TryNextFlavor");
  EXPECT_EQ(string_at(seen, {"spec", "flavorFungibility", "whenCanPreempt"}), "Preempt");
  EXPECT_EQ(note_of(seen), "");
}

TEST(LosslessConversion, ListOfAdmissionChecks) {
  const json::value queue = older("ClusterQueue", "spec: {admissionChecks: [a, b]}");
  const json::value stored = up("ClusterQueue", queue);
  EXPECT_EQ(*find_at(stored, {"spec", "admissionChecksStrategy"}),
            yaml("admissionChecks: [{name: a}, {name: b}]"));
  expect_no_loss_up("ClusterQueue", queue);
  // Another strategy is not contradicted by the list, nor shown beside it.
  const json::value seen =
      down("ClusterQueue",
           with(stored,
                "spec: {admissionChecksStrategy: {admissionChecks: [{name: a, onFlavors: [f]}]}}"));
  EXPECT_EQ(*find_at(seen, {"spec"}),
            yaml("{admissionChecksStrategy: {admissionChecks: [{name: a, onFlavors: [f]}]}}"));
  // None at all.
  const json::value none =
      down("ClusterQueue", with(stored, "spec: {admissionChecksStrategy: null}"));
  EXPECT_EQ(*find_at(none, {"spec"}), yaml("{}"));
}

TEST(LosslessConversion, EmptyAndDoubleAdmissionChecks) {
  expect_no_loss_up("ClusterQueue", older("ClusterQueue", "spec: {admissionChecks: []}"));
  expect_no_loss_up(
      "ClusterQueue",
      older("ClusterQueue", "spec: {admissionChecksStrategy: {admissionChecks: []}}"));
  expect_no_loss_up("ClusterQueue", older("ClusterQueue", "spec: {admissionChecksStrategy: {}}"));
  // As Kueue may have stored it: the names count, and both are kept.
  const json::value both = older(
      "ClusterQueue",
      "spec: {admissionChecks: [a], admissionChecksStrategy: {admissionChecks: [{name: b}]}}");
  EXPECT_EQ(*find_at(up("ClusterQueue", both), {"spec", "admissionChecksStrategy"}),
            yaml("admissionChecks: [{name: a}]"));
  expect_no_loss_up("ClusterQueue", both);
}

TEST(LosslessConversion, DeprecatedStatus) {
  expect_no_loss_up("ClusterQueue", older("ClusterQueue", R"(
spec: {}
status:
  pendingWorkloads: 1
  pendingWorkloadsStatus:
    lastChangeTime: "2026-01-01T00:00:00Z"
    clusterQueuePendingWorkload: [{name: a, namespace: b}]
  fairSharing:
    weightedShare: 1
    admissionFairSharingStatus: {consumedResources: {cpu: 1}, lastUpdate: "2026-01-01T00:00:00Z"}
)"));
  expect_no_loss_up("Cohort", older("Cohort", R"(
status:
  fairSharing:
    weightedShare: 1
    admissionFairSharingStatus: {consumedResources: {cpu: 1}, lastUpdate: "2026-01-01T00:00:00Z"}
)"));
  expect_no_loss_up("LocalQueue", older("LocalQueue", R"(
spec: {clusterQueue: a}
status:
  flavorUsage: [{name: f, resources: []}]
  flavors: [{name: f, nodeLabels: {a: b}, topology: {name: t, levels: [rack]}}]
)"));
}

TEST(LosslessConversion, DefaultsOfV1beta1AreNotNoted) {
  const json::value check =
      older("AdmissionCheck", "spec: {controllerName: c, retryDelayMinutes: 15}");
  EXPECT_EQ(note_of(up("AdmissionCheck", check)), "");
  expect_no_loss_up("AdmissionCheck", check);
  expect_no_loss_up("AdmissionCheck",
                    older("AdmissionCheck", "spec: {controllerName: c, retryDelayMinutes: 20}"));
  // As somebody applies it, who has taken his 20 minutes away.
  EXPECT_EQ(note_of(up("AdmissionCheck", older("AdmissionCheck", "spec: {controllerName: c}"))),
            "");
  EXPECT_EQ(note_of(up("Workload", older("Workload", "spec: {priority: 1}"))), "");
  EXPECT_EQ(note_of(up("Workload", older("Workload", "spec: {priorityClassSource: ''}"))), "");
}

TEST(LosslessConversion, PriorityClassesWithoutASource) {
  const json::value workload =
      older("Workload", "spec: {priority: 5, priorityClassName: a, priorityClassSource: ''}");
  expect_no_loss_up("Workload", workload);
  expect_no_loss_up("Workload", older("Workload", "spec: {priority: 5, priorityClassName: a}"));
  expect_no_loss_up(
      "Workload",
      older("Workload", "spec: {priorityClassSource: kueue.x-k8s.io/workloadpriorityclass}"));
  // Another class that somebody gives it in v1beta2.
  const json::value seen =
      down("Workload", with(up("Workload", workload),
                            "spec: {priorityClassRef: {group: scheduling.k8s.io, kind: "
                            "PriorityClass, name: b}}"));
  EXPECT_EQ(*find_at(seen, {"spec"}),
            yaml("{priority: 5, priorityClassName: b, "
                 "priorityClassSource: scheduling.k8s.io/priorityclass}"));
}

constexpr std::string_view kNewerWorkload = R"(
spec:
  queueName: main
  podSets:
  - {name: leader, count: 1, template: {}}
  - name: worker
    count: 4
    template: {}
    topologyRequest:
      required: block
      podsetSliceRequiredTopologyConstraints: [{topology: rack, size: 2}]
  preemptionGates: [{name: g}]
status:
  conditions:
  - {type: A, status: "True", reason: R, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}
  preemptionGates: [{name: g, position: Closed, lastTransitionTime: "2026-01-01T00:00:00Z"}]
)";

TEST(LosslessConversion, FieldsOfV1beta2) {
  expect_no_loss_down(
      "ClusterQueue",
      good_with("ClusterQueue",
                "spec: {concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}}"));
  const json::value workload = good_with("Workload", kNewerWorkload);
  expect_no_loss_down("Workload", workload);
  const json::value seen = down("Workload", workload);
  EXPECT_EQ(*find_at(seen, {"status", "conditions"}), yaml(R"(
- {type: A, status: "True", reason: R, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}
- type: phalanx.dev/Conversion
  status: Unknown
  reason: KeptForOtherVersion
  message: '{"of":"v1beta2","lost":[{"at":"/status","was":{"preemptionGates":[{"name":"g","position":"Closed","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}]}'
  lastTransitionTime: "1970-01-01T00:00:00Z"
)"));
  expect_no_loss_down("Workload", with(workload, "status: {conditions: null}"));
  expect_no_loss_down("Workload", with(workload,
                                       "spec: {priority: 1, priorityClassRef: {group: "
                                       "kueue.x-k8s.io, kind: PriorityClass, name: a}}"));
}

// No API server stores conditions that share a type, but anybody may send them.
TEST(LosslessConversion, ConditionsThatShareATypeAreTakenTogether) {
  const json::value older = down("Workload", good_with("Workload", kNewerWorkload));
  json::value repeated = older;
  json::array& conditions = *array_at(repeated, {"status", "conditions"});
  const json::value note = conditions.back();
  for (int i = 0; i < 3; ++i) conditions.insert(conditions.begin(), note);
  EXPECT_EQ(up("Workload", repeated), up("Workload", older));
}

TEST(LosslessConversion, EditsInV1beta1KeepWhatItCannotSee) {
  const json::value workload = good_with("Workload", kNewerWorkload);
  json::value seen = down("Workload", workload);
  merge(seen, yaml("{spec: {queueName: other}, metadata: {labels: {a: b}}}"));
  // Pod sets come, go and move.
  auto& pod_sets = *array_at(seen, {"spec", "podSets"});
  pod_sets[0] = pod_sets[1];
  pod_sets[1] = yaml("{name: new, count: 1, template: {}}");
  const json::value stored = up("Workload", seen);
  EXPECT_EQ(*find_at(stored, {"spec"}), yaml(R"(
queueName: other
podSets:
- name: worker
  count: 4
  template: {}
  topologyRequest:
    required: block
    podsetSliceRequiredTopologyConstraints: [{topology: rack, size: 2}]
- {name: new, count: 1, template: {}}
preemptionGates: [{name: g}]
)"));
  EXPECT_EQ(*find_at(stored, {"status"}), *find_at(workload, {"status"}));
  EXPECT_EQ(note_of(stored), "");
}

TEST(LosslessConversion, AnotherTopologyRequestReplacesTheWholeOne) {
  json::value seen = down("Workload", good_with("Workload", kNewerWorkload));
  (*array_at(seen, {"spec", "podSets"}))[1].get_object()["topologyRequest"] =
      yaml("{required: rack}");
  const json::value stored = up("Workload", seen);
  EXPECT_EQ((*array_at(stored, {"spec", "podSets"}))[1].at("topologyRequest"),
            yaml("{required: rack}"));
  EXPECT_NE(find_at(stored, {"spec", "preemptionGates"}), nullptr);
}

TEST(LosslessConversion, MalformedAssignmentsAreKept) {
  // To the schema it is good, but it has two domains and one root.
  const std::string_view malformed =
      "{levels: [host], slices: [{domainCount: 2, valuesPerLevel: [{individual: {roots: [a]}}], "
      "podCounts: {universal: 1}}]}";
  const json::value workload =
      good_with("Workload",
                "status: {admission: {clusterQueue: q, podSetAssignments: [{name: leader, "
                "topologyAssignment: " +
                    std::string(malformed) +
                    "}, {name: worker, topologyAssignment: {levels: [host], slices: "
                    "[{domainCount: 1, valuesPerLevel: [{universal: b}], podCounts: "
                    "{universal: 4}}]}}]}}");
  expect_no_loss_down("Workload", workload);
  json::value seen = down("Workload", workload);
  EXPECT_EQ(
      *find_at(seen, {"status", "admission", "podSetAssignments"}),
      yaml("---\n[{name: leader}, {name: worker, topologyAssignment: {levels: [host], domains: "
           "[{values: [b], count: 4}]}}]"));
  // Who writes a good one in its place has the last word.
  auto& assignments = *array_at(seen, {"status", "admission", "podSetAssignments"});
  assignments[0].get_object()["topologyAssignment"] =
      yaml("{levels: [host], domains: [{values: [c], count: 1}]}");
  const json::value stored = up("Workload", seen);
  EXPECT_EQ(
      (*array_at(stored, {"status", "admission", "podSetAssignments"}))[0].at("topologyAssignment"),
      yaml("{levels: [host], slices: [{domainCount: 1, valuesPerLevel: [{universal: c}], "
           "podCounts: {universal: 1}}]}"));

  const json::value from_before =
      older("Workload",
            "status: {admission: {clusterQueue: q, podSetAssignments: [{name: main, "
            "topologyAssignment: {levels: [a, b], domains: [{values: [x], count: 1}]}}]}}");
  expect_no_loss_up("Workload", from_before);
  EXPECT_EQ(*find_at(up("Workload", from_before), {"status", "admission", "podSetAssignments"}),
            yaml("- name: main"));
}

TEST(LosslessConversion, NotesOfBothVersionsAtOnce) {
  // Written in v1beta1, then edited in v1beta2, then read and written in v1beta1 again.
  const json::value first = older(
      "ClusterQueue", "spec: {admissionChecks: [a], flavorFungibility: {whenCanBorrow: Borrow}}");
  const json::value edited =
      with(up("ClusterQueue", first),
           "spec: {concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}}");
  const json::value seen = down("ClusterQueue", edited);
  EXPECT_EQ(*find_at(seen, {"spec"}), *find_at(first, {"spec"}));
  EXPECT_EQ(note_of(seen), lost("v1beta2", R"({"at":"/spec","was":{"concurrentAdmissionPolicy":)"
                                           R"({"migration":{"mode":"RetainFirstAdmission"}}}})"));
  EXPECT_EQ(up("ClusterQueue", seen), edited);
  const json::value changed = up("ClusterQueue", with(seen, "spec: {stopPolicy: Hold}"));
  EXPECT_EQ(changed, with(edited, "spec: {stopPolicy: Hold}"));
}

TEST(LosslessConversion, MetadataStaysAsItIs) {
  json::value queue = good_with("ClusterQueue", R"(
metadata: {uid: u, labels: {a: b}, annotations: {c: d}, managedFields: [{manager: m}]}
spec: {concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}}
)");
  json::value seen = down("ClusterQueue", queue);
  EXPECT_NE(note_of(seen), "");
  object_at(seen, {"metadata", "annotations"})->erase(kConversionAnnotation);
  EXPECT_EQ(*find_at(seen, {"metadata"}), *find_at(queue, {"metadata"}));
  expect_no_loss_down("ClusterQueue", queue);
  merge(queue, yaml("metadata: {annotations: null}"));
  expect_no_loss_down("ClusterQueue", queue);
}

// Notes that somebody made up.

// No API server has such a document. It is at rest after one round all the same: what a note could
// not bring back is not noted.
TEST(LosslessConversion, ValuesOfAnotherTypeAreGoneAfterARound) {
  const json::value queue = good_with(
      "ClusterQueue", "spec: {admissionChecksStrategy: {admissionChecks: {universal: 1}}}");
  const json::value there = down("ClusterQueue", queue);
  EXPECT_EQ(note_of(there), "");
  const json::value back = up("ClusterQueue", there);
  EXPECT_EQ(back, good_with("ClusterQueue", ""));
  EXPECT_EQ(up("ClusterQueue", down("ClusterQueue", back)), back);
}

// Each would cost as much as the document is large, so only some are looked at.
TEST(LosslessConversion, NotesThatContradictALargeDocumentAreDropped) {
  constexpr int kElements = 600'000;
  json::value workload = good_with("Workload", "");
  json::array numbers(kElements, 0);
  workload.at("spec").as_object()["podSets"] = std::move(numbers);
  const std::string contradiction = R"({"at":"/spec","was":{"queueName":"other"}})";
  const std::string possible =
      R"({"at":"/spec","was":{"priorityClassName":"a","priorityClassSource":""}})";
  const auto seen = [&](const json::value& document) {
    return down("Workload", with_note(document, lost("v1beta1", contradiction + "," + possible)));
  };
  const json::value small = seen(good_with("Workload", ""));
  EXPECT_EQ(string_at(small, {"spec", "priorityClassName"}), "a");
  EXPECT_EQ(string_at(seen(workload), {"spec", "priorityClassName"}), "");
}

TEST(LosslessConversion, NonsenseIsNoNote) {
  const json::value queue = older("ClusterQueue", "spec: {cohort: all}");
  for (const std::string& text : std::initializer_list<std::string>{
           "", "nonsense", std::string(200'000, '['), std::string(300'000, 'x'),
           lost("v1beta1", R"({"at":"/spec","was":{"preemption":{}}})"),  // of its own version
           lost("v1beta2", R"({"at":"/metadata","was":{"namespace":"kube-system"}})"),
           lost("v1beta2", R"({"at":"","was":{"kind":"Cohort"}})"),
           lost("v1beta2", R"({"at":"/spec","was":{"unknown":{"a":1}}})"),
           lost("v1beta2", R"({"at":"/spec","was":{"concurrentAdmissionPolicy":7}})"),
           lost("v1beta2", R"({"at":"/spec","was":{"concurrentAdmissionPolicy":{}}})"),
           lost("v1beta2", R"({"at":"/spec/x/y","was":{"a":1}})"),
           // Longer than annotations may be.
           lost("v1beta2", R"({"at":"/spec","was":{"concurrentAdmissionPolicy":{"migration":)"
                           R"({"mode":"RetainFirstAdmission"}}}})") +
               std::string(kMostAnnotationBytes, ' ')}) {
    EXPECT_EQ(up("ClusterQueue", with_note(queue, text)), up("ClusterQueue", queue))
        << text.substr(0, 200);
  }
  json::value odd = queue;
  odd.at("metadata").get_object()["annotations"] = json::object{{kConversionAnnotation, 5}};
  EXPECT_EQ(up("ClusterQueue", odd), up("ClusterQueue", queue));
}

TEST(LosslessConversion, NotesDoNotContradictTheDocument) {
  const json::value queue = older("ClusterQueue", "spec: {cohort: all, stopPolicy: Hold}");
  for (const std::string_view note :
       {R"({"at":"/spec","was":{"cohortName":"other"}})",
        R"({"at":"/spec","was":{"cohortName":null}})",
        R"({"at":"/spec","was":{"stopPolicy":"None"}})",
        R"({"at":"/spec","was":{"admissionChecksStrategy":{"admissionChecks":[{"name":"a"}]}}})",
        R"({"at":"/spec","was":{"resourceGroups":[]}})"}) {
    EXPECT_EQ(up("ClusterQueue", with_note(queue, lost("v1beta2", note))),
              up("ClusterQueue", queue))
        << note;
  }
}

TEST(LosslessConversion, AnAnnotationSaysNothingOfTheStatusOnTheWayUp) {
  const json::value workload = older("Workload", R"(
spec: {podSets: [{name: main, count: 1, template: {}}]}
status: {admission: {clusterQueue: q, podSetAssignments: [{name: main}]}}
)");
  for (const std::string_view note :
       {R"({"at":"/status","was":{"preemptionGates":[{"name":"g","position":"Open",)"
        R"("lastTransitionTime":"2026-01-01T00:00:00Z"}]}})",
        R"({"at":"/status","was":{"admission":null}})",
        R"({"at":"/status/admission","was":{"clusterQueue":"other"}})",
        R"({"at":"/status/admission/podSetAssignments/main","was":{"topologyAssignment":)"
        R"({"levels":["host"],"slices":[{"domainCount":1,"valuesPerLevel":[{"universal":"a"}],)"
        R"("podCounts":{"universal":1}}]}}})",
        R"({"at":"/status/admission/podSetAssignments/main","was":{"topologyAssignment":)"
        R"({"levels":["host"],"slices":[]}}})"}) {
    EXPECT_EQ(up("Workload", with_note(workload, lost("v1beta2", note))), up("Workload", workload))
        << note;
  }
  // Nor does the condition of the spec, or of anything that the document denies.
  for (const std::string_view note :
       {R"({"at":"/spec","was":{"preemptionGates":[{"name":"g"}]}})",
        R"({"at":"/status/admission","was":{"clusterQueue":"other"}})"}) {
    EXPECT_EQ(up("Workload", with_condition(workload, lost("v1beta2", note))),
              up("Workload", workload))
        << note;
  }
}

TEST(LosslessConversion, NotesCannotSpoilWhatOthersRead) {
  // A list of v1beta1 objects with one whose fields have other types is lost to typed clients.
  const json::value workload = good_with("Workload", "");
  for (const std::string_view note :
       {R"({"at":"/spec","was":{"priorityClassName":{"a":1}}})",
        R"({"at":"/spec","was":{"priorityClassSource":"nonsense"}})",
        R"({"at":"/spec","was":{"priorityClassName":"Not A Name"}})"}) {
    EXPECT_EQ(down("Workload", with_note(workload, lost("v1beta1", note))),
              down("Workload", workload))
        << note;
  }
}

TEST(LosslessConversion, ForeignConditionsOfTheTypeGo) {
  const json::value workload = good_with("Workload", "status: {schedulingStats: {}}");
  EXPECT_EQ(down("Workload", with_condition(workload, "anything")), down("Workload", workload));
}

TEST(LosslessConversion, WhatIsTooLargeIsLeftOut) {
  // Of the annotation: little room is left.
  json::value queue =
      good_with("ClusterQueue",
                "spec: {concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}}");
  ensure_object(queue, {"metadata", "annotations"})["other"] =
      std::string(kMostAnnotationBytes - 100, 'x');
  const json::value seen = down("ClusterQueue", queue);
  EXPECT_EQ(*find_at(seen, {"metadata"}), *find_at(queue, {"metadata"}));
  object_at(queue, {"metadata", "annotations"})->at("other") =
      std::string(kMostAnnotationBytes + 100, 'x');
  EXPECT_EQ(*find_at(down("ClusterQueue", queue), {"metadata"}), *find_at(queue, {"metadata"}));

  // A note that is too large by itself, and a small one beside it.
  std::string text =
      "{spec: {flavorFungibility: {whenCanBorrow: Borrow}}, status: "
      "{pendingWorkloadsStatus: {lastChangeTime: '2026-01-01T00:00:00Z', "
      "clusterQueuePendingWorkload: [";
  for (int i = 0; i < 6000; ++i) {
    text += "{name: a-workload-with-a-name-" + std::to_string(i) + ", namespace: team},";
  }
  const json::value stored = up("ClusterQueue", older("ClusterQueue", text + "]}}}"));
  EXPECT_EQ(
      note_of(stored),
      lost("v1beta1", R"({"at":"/spec/flavorFungibility","was":{"whenCanBorrow":"Borrow"}})"));
}

}  // namespace
}  // namespace phalanx::admission

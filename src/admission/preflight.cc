#include "admission/preflight.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/conversion.h"
#include "admission/deploy_files.h"
#include "admission/document.h"
#include "admission/kueue_admission.h"
#include "admission/preflight_settings.h"
#include "admission/problem.h"
#include "base/check.h"
#include "base/yaml.h"
#include "core/names.h"

namespace phalanx::admission {
namespace {

constexpr size_t kShown = 3;
constexpr std::string_view kElasticJob = "kueue.x-k8s.io/elastic-job";
constexpr std::string_view kPrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name";

// "ml/train", "team-a".
std::string name_of(const json::value& document) {
  const Place metadata = Place(&document)["metadata"];
  const std::string_view space = metadata["namespace"].text();
  return fmt::format("{}{}{}", space, space.empty() ? "" : "/", metadata["name"].text());
}

// The same remark about many objects, told once.
class Remarks {
 public:
  void add(FindingKind kind, std::string subject, std::string text, const json::value& document) {
    auto& names = names_[{kind, std::move(subject), std::move(text)}];
    names.push_back(name_of(document));
  }

  void tell(std::vector<Finding>& findings) const {
    for (const auto& [key, names] : names_) {
      const auto& [kind, subject, text] = key;
      const std::vector<std::string> first(
          names.begin(), names.begin() + static_cast<ptrdiff_t>(std::min(kShown, names.size())));
      findings.push_back({kind, counted(names.size(), subject),
                          fmt::format("{} ({}{})", text, fmt::join(first, ", "),
                                      names.size() > kShown ? ", ..." : "")});
    }
  }

 private:
  std::map<std::tuple<FindingKind, std::string, std::string>, std::vector<std::string>> names_;
};

const std::vector<json::value>& objects_of(const PreflightDocuments& documents,
                                           const std::string& kind) {
  static const std::vector<json::value> kNone;
  const auto found = documents.objects.find(kind);
  return found == documents.objects.end() ? kNone : found->second;
}

// "Job" of batch/v1 is ours to manage. "" if nobody owns it.
std::string owner_of(const json::value& workload) {
  for (const Place& owner : Place(&workload)["metadata"]["ownerReferences"].elements()) {
    const std::string_view version = owner["apiVersion"].text();
    const std::string_view kind = owner["kind"].text();
    if (version == "batch/v1" && kind == "Job") return std::string(kind);
    return fmt::format("{} {}", version, kind);
  }
  return "";
}

void judge_workloads(const PreflightDocuments& documents, Remarks& remarks) {
  for (const json::value& workload : objects_of(documents, "Workload")) {
    const Place place(&workload);
    if (has_condition(place, core::names::kFinished)) continue;
    const std::string owner = owner_of(workload);
    if (owner.empty()) {
      remarks.add(FindingKind::kObstacle, "Workload",
                  "owned by no job: nobody would start or end what is behind it", workload);
    } else if (owner != "Job") {
      remarks.add(
          FindingKind::kObstacle, "Workload",
          fmt::format("owned by a {}, and Phalanx manages batch/v1 Jobs only: let it end and "
                      "submit no more of its kind, or stay with Kueue",
                      owner),
          workload);
    }
    if (place["status"]["clusterName"].present()) {
      remarks.add(FindingKind::kObstacle, "Workload",
                  "sent to another cluster by MultiKueue, which Phalanx does not have", workload);
    }
  }
}

void judge_jobs(const PreflightDocuments& documents, Remarks& remarks) {
  for (const json::value& job : objects_of(documents, "Job")) {
    const Place place(&job);
    if (has_condition(place, "Complete") || has_condition(place, "Failed")) continue;
    const Place metadata = place["metadata"];
    if (metadata["annotations"][kElasticJob].text() == "true") {
      remarks.add(FindingKind::kObstacle, "Job",
                  fmt::format("elastic ({}), which Phalanx does not have", kElasticJob), job);
    }
    if (metadata["labels"][kPrebuiltWorkload].present()) {
      remarks.add(FindingKind::kObstacle, "Job",
                  fmt::format("with a Workload made elsewhere ({}), which Phalanx does not have",
                              kPrebuiltWorkload),
                  job);
    }
  }
  for (const json::value& pod : documents.managed_pods) {
    const std::string_view phase = Place(&pod)["status"]["phase"].text();
    if (phase == "Succeeded" || phase == "Failed") continue;
    remarks.add(FindingKind::kObstacle, "Pod",
                "queued by itself or with its group, which Phalanx does not have", pod);
  }
}

void judge_queues(const PreflightDocuments& documents, Remarks& remarks) {
  for (const json::value& check : objects_of(documents, "AdmissionCheck")) {
    if (Place(&check)["spec"]["controllerName"].text() == core::names::kMultiKueueController) {
      remarks.add(FindingKind::kObstacle, "AdmissionCheck",
                  "of MultiKueue, which Phalanx does not have: queues with it would admit nothing",
                  check);
    }
  }
  for (const json::value& queue : objects_of(documents, "ClusterQueue")) {
    if (Place(&queue)["spec"]["concurrentAdmissionPolicy"].present()) {
      remarks.add(FindingKind::kNote, "ClusterQueue",
                  "with a concurrentAdmissionPolicy, which is not used here", queue);
    }
  }
}

// What our schemas do not have would be dropped with the next write, and what they refuse could not
// be written any more.
void judge_fields(const PreflightDocuments& documents, Remarks& remarks) {
  const KueueAdmission admission;
  for (const auto& [kind, objects] : documents.objects) {
    if (!admission.covers(kind)) continue;
    for (const json::value& object : objects) {
      const auto admitted = admission.upgrade(kind, object, /*strict_fields=*/true);
      if (admitted) continue;
      for (const Problem& problem : admitted.error()) {
        remarks.add(
            FindingKind::kObstacle, kind,
            fmt::format("would lose a field, or could not be written any more: {}", problem.text()),
            object);
      }
    }
  }
}

// The CRDs of ours, by name.
std::map<std::string, json::value> our_crds() {
  std::map<std::string, json::value> ours;
  for (const EmbeddedFile& file : crds()) {
    auto parsed = parse_documents(file.text());
    CHECK(parsed.has_value() && parsed->size() == 1);
    json::value& document = parsed->front().value;
    std::string name(Place(&document)["metadata"]["name"].text());
    ours.emplace(std::move(name), std::move(document));
  }
  return ours;
}

bool has_version(const json::value& crd, std::string_view name) {
  const auto versions = Place(&crd)["spec"]["versions"].elements();
  return std::ranges::any_of(versions,
                             [&](const Place& version) { return version["name"].text() == name; });
}

void judge_crds(const PreflightDocuments& documents, std::vector<Finding>& findings) {
  const auto ours = our_crds();
  for (const json::value& crd : documents.crds) {
    const Place place(&crd);
    const std::string name(place["metadata"]["name"].text());
    const std::string subject = "CustomResourceDefinition " + name;
    const auto known = ours.find(name);
    if (known == ours.end()) {
      const auto count =
          documents.other_objects.find(std::string(place["spec"]["names"]["plural"].text()));
      const size_t objects = count == documents.other_objects.end() ? 0 : count->second;
      findings.push_back(
          {objects > 0 ? FindingKind::kObstacle : FindingKind::kNote, subject,
           fmt::format("Phalanx does not have this kind; there {} of it, which "
                       "nobody would read",
                       objects == 1 ? "is 1 object" : fmt::format("are {} objects", objects))});
      continue;
    }
    for (const Place& stored : place["status"]["storedVersions"].elements()) {
      if (has_version(known->second, stored.text())) continue;
      findings.push_back(
          {FindingKind::kObstacle, subject,
           fmt::format("objects may be stored as {}, which Phalanx's definition does not have, and "
                       "the API server would refuse it; write all of them anew with a version of "
                       "Kueue that has {}, and remove {} from status.storedVersions",
                       stored.text(), kStoredVersion, stored.text())});
    }
  }
}

}  // namespace

std::string_view word_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kObstacle:
      return "obstacle";
    case FindingKind::kStep:
      return "step";
    case FindingKind::kNote:
      break;
  }
  return "note";
}

std::map<std::string, std::string> files_to_keep(const PreflightDocuments& documents) {
  std::vector<json::value> definitions;
  for (const json::value& crd : documents.crds) {
    definitions.push_back(as_written(crd, "apiextensions.k8s.io/v1", "CustomResourceDefinition"));
  }
  const std::vector<json::value> callers = callers_of_kueue(documents.kueue);
  std::map<std::string, std::string> files = settings_to_keep(documents);
  // What is not there any more was kept when it was.
  if (!definitions.empty()) files["crds.yaml"] = to_yaml_stream(definitions);
  if (!callers.empty()) files["callers.yaml"] = to_yaml_stream(callers);
  return files;
}

std::vector<Finding> preflight(const PreflightDocuments& documents, const ReadConfiguration& read) {
  Remarks remarks;
  judge_workloads(documents, remarks);
  judge_jobs(documents, remarks);
  judge_queues(documents, remarks);
  judge_fields(documents, remarks);
  std::vector<Finding> findings;
  remarks.tell(findings);
  judge_crds(documents, findings);
  judge_settings(documents, read, findings);
  for (const KueuePresence& presence : find_kueue(documents.kueue)) {
    findings.push_back({FindingKind::kStep, presence.object, presence.text});
  }
  std::vector<Finding> ordered;
  for (const FindingKind kind : {FindingKind::kObstacle, FindingKind::kStep, FindingKind::kNote}) {
    std::ranges::copy_if(findings, std::back_inserter(ordered),
                         [&](const Finding& finding) { return finding.kind == kind; });
  }
  return ordered;
}

}  // namespace phalanx::admission

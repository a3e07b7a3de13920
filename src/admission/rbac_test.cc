// The rights of the manager, against what the program does: too few and it stands still, too many
// and a mistake of ours is everybody's.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "admission/deploy_files.h"
#include "admission/document.h"
#include "admission/installation.h"
#include "api/kind.h"
#include "base/file.h"
#include "base/yaml.h"

namespace phalanx::admission {
namespace {

// "group/resource", or "group/resource/name" where the right is for one object: its verbs.
using Rights = std::map<std::string, std::set<std::string>>;

Rights rights_of(std::string_view kind, std::string_view name) {
  Rights rights;
  const auto documents = render_installation({});
  for (const json::value& document : documents.value()) {
    const Place role(&document);
    if (role["kind"].text() != kind || role["metadata"]["name"].text() != name) continue;
    for (const Place& rule : role["rules"].elements()) {
      for (const Place& url : rule["nonResourceURLs"].elements()) {
        for (const Place& verb : rule["verbs"].elements()) {
          rights["/" + std::string(url.text())].emplace(verb.text());
        }
      }
      for (const Place& group : rule["apiGroups"].elements()) {
        for (const Place& resource : rule["resources"].elements()) {
          const std::string key = std::string(group.text()) + "/" + std::string(resource.text());
          std::vector<std::string> keys;
          for (const Place& object : rule["resourceNames"].elements()) {
            keys.push_back(key + "/" + std::string(object.text()));
          }
          if (keys.empty()) keys.push_back(key);
          for (const std::string& each : keys) {
            for (const Place& verb : rule["verbs"].elements()) rights[each].emplace(verb.text());
          }
        }
      }
    }
  }
  return rights;
}

std::string key_of(api::Kind kind, std::string_view suffix = "") {
  const api::KindInfo& about = api::info(kind);
  return std::string(about.group) + "/" + std::string(about.plural) + std::string(suffix);
}

TEST(RbacTest, TheManagerMayDoWhatItDoesAndNothingElse) {
  using api::Kind;
  Rights wanted;
  // It watches every kind it knows but Events, which it only writes.
  for (const api::KindInfo& about : api::all_kinds()) {
    if (about.kind != Kind::kEvent) wanted[key_of(about.kind)] = {"list", "watch"};
  }
  // Every core::Write that there is.
  wanted[key_of(Kind::kEvent)] = {"create", "patch"};
  for (const Kind kind : {Kind::kPod, Kind::kJob, Kind::kWorkload, Kind::kClusterQueue,
                          Kind::kResourceFlavor, Kind::kTopology}) {
    wanted[key_of(kind)].insert("patch");
  }
  for (const Kind kind : {Kind::kWorkload, Kind::kProvisioningRequest, Kind::kPodTemplate}) {
    wanted[key_of(kind)].insert({"create", "delete"});
  }
  wanted[key_of(Kind::kPod)].insert("delete");
  for (const Kind kind : {Kind::kPod, Kind::kJob, Kind::kWorkload, Kind::kClusterQueue,
                          Kind::kCohort, Kind::kLocalQueue, Kind::kAdmissionCheck}) {
    wanted[key_of(kind, "/status")] = {"patch"};
  }
  wanted[key_of(Kind::kJob, "/finalizers")] = {"update"};
  // The certificate is written where API servers look for it.
  const std::string registration = "admissionregistration.k8s.io/";
  for (const char* resource :
       {"mutatingwebhookconfigurations/", "validatingwebhookconfigurations/"}) {
    wanted[registration + resource + std::string(kWebhookConfiguration)] = {"get", "patch"};
  }
  for (const std::string& name : converted_crds()) {
    wanted["apiextensions.k8s.io/customresourcedefinitions/" + name] = {"get", "patch"};
  }
  // Who shows a token to read the metrics is looked up.
  wanted["authentication.k8s.io/tokenreviews"] = {"create"};
  wanted["authorization.k8s.io/subjectaccessreviews"] = {"create"};
  EXPECT_EQ(rights_of("ClusterRole", kServiceAccount), wanted);
}

TEST(RbacTest, InItsNamespaceOnlyTheLeaseAndTheSecret) {
  const Rights wanted{
      {"coordination.k8s.io/leases", {"create"}},
      {"coordination.k8s.io/leases/" + std::string(kLease), {"get", "watch", "update"}},
      {"/secrets", {"create"}},
      {"/secrets/" + std::string(kCertificatesSecret), {"get", "update"}},
  };
  EXPECT_EQ(rights_of("Role", kServiceAccount), wanted);
}

// Who writes a status decides: that is nobody but the manager.
TEST(RbacTest, PeopleWriteNoStatus) {
  const Rights reader{{"//metrics", {"get"}}};
  EXPECT_EQ(rights_of("ClusterRole", kMetricsReader), reader);
  std::set<std::string> of_queueing;
  for (const api::KindInfo& about : api::all_kinds()) {
    if (about.group == "kueue.x-k8s.io") of_queueing.insert(key_of(about.kind));
  }
  const Rights user{{"kueue.x-k8s.io/localqueues", {"get", "list", "watch"}},
                    {"kueue.x-k8s.io/workloads", {"get", "list", "watch"}}};
  EXPECT_EQ(rights_of("ClusterRole", "phalanx-batch-user"), user);
  for (const auto& [key, verbs] : rights_of("ClusterRole", "phalanx-batch-admin")) {
    EXPECT_EQ(of_queueing.erase(key), 1) << key;  // that, and no part of it
    EXPECT_EQ(verbs.contains("create"), key != key_of(api::Kind::kWorkload)) << key;
  }
  EXPECT_TRUE(of_queueing.empty());
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  return parts;
}

// What docs/reference/rights.md says below "## KIND NAME": rows of group, resources, verbs. A
// resource of certain names is written "leases (phalanx-manager)".
Rights rights_on_page(const std::string& page, const std::string& role) {
  Rights rights;
  const size_t begin = page.find("## " + role + "\n");
  if (begin == std::string::npos) return rights;
  const std::string section = page.substr(begin, page.find("\n## ", begin) - begin);
  for (const std::string& line : split(section, "\n")) {
    if (!line.starts_with("| ") || line.starts_with("| group")) continue;
    const std::vector<std::string> cells = split(line.substr(2), " | ");
    EXPECT_EQ(cells.size(), 5) << line;
    if (cells.size() != 5) continue;
    const std::string group = cells[0] == "core" || cells[0] == "none" ? "" : cells[0];
    std::vector<std::string> resources;
    if (const size_t bracket = cells[1].find(" ("); bracket != std::string::npos) {
      const size_t length = cells[1].size() - bracket - 3;
      for (const std::string& name : split(cells[1].substr(bracket + 2, length), ", ")) {
        resources.push_back(cells[1].substr(0, bracket) + "/" + name);
      }
    } else {
      resources = split(cells[1], ", ");
    }
    for (const std::string& resource : resources) {
      for (const std::string& verb : split(cells[2], ", ")) {
        EXPECT_TRUE(rights[group + "/" + resource].insert(verb).second) << line;
      }
    }
  }
  return rights;
}

TEST(RbacTest, ThePageOfRightsSaysExactlyWhatTheFilesSay) {
  const char* source = std::getenv("PHALANX_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (source == nullptr) GTEST_SKIP() << "PHALANX_SOURCE_DIR is not set; run through ctest";
  const auto page = read_file(std::string(source) + "/docs/reference/rights.md");
  ASSERT_TRUE(page.has_value()) << page.error().message;
  const auto documents = render_installation({});
  size_t roles = 0;
  for (const json::value& document : documents.value()) {
    const Place role(&document);
    if (!role["kind"].text().ends_with("Role")) continue;
    ++roles;
    const std::string kind(role["kind"].text());
    const std::string name(role["metadata"]["name"].text());
    EXPECT_EQ(rights_on_page(*page, kind + " " + name), rights_of(kind, name)) << kind << name;
  }
  EXPECT_EQ(split(*page, "\n## ClusterRole ").size() + split(*page, "\n## Role ").size() - 2,
            roles);
}

// In the files: people who read them must find out why.
TEST(RbacTest, EveryRuleSaysWhy) {
  for (const EmbeddedFile& file : manifests()) {
    if (file.name != "rbac.yaml" && file.name != "users.yaml") continue;
    const std::string text = file.text();
    std::string previous;
    size_t rules = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (line.starts_with("- apiGroups:") || line.starts_with("- nonResourceURLs:")) {
        ++rules;
        // A rule that goes on with what the one before it began.
        const bool goes_on = previous.starts_with("  verbs: [create]");
        EXPECT_TRUE(previous.starts_with("# ") || goes_on) << line << " after " << previous;
      }
      previous = line;
      at = end + 1;
    }
    EXPECT_GT(rules, file.name == "rbac.yaml" ? 10 : 1);
  }
}

TEST(RbacTest, RolesAreBoundToTheAccountOfTheManager) {
  const auto documents = render_installation({});
  for (const json::value& document : documents.value()) {
    const Place binding(&document);
    if (!binding["kind"].text().ends_with("Binding")) continue;
    EXPECT_EQ(binding["roleRef"]["name"].text(), kServiceAccount);
    EXPECT_EQ(std::string(binding["roleRef"]["kind"].text()) + "Binding", binding["kind"].text());
    ASSERT_EQ(binding["subjects"].size(), 1);
    EXPECT_EQ(binding["subjects"].elements().front()["name"].text(), kServiceAccount);
  }
}

}  // namespace
}  // namespace phalanx::admission

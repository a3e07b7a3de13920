// The rights of the manager, against what the program does: too few and it stands still, too many
// and a mistake of ours is everybody's.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "admission/deploy_files.h"
#include "admission/document.h"
#include "admission/installation.h"
#include "api/kind.h"
#include "base/yaml.h"

namespace phalanx::admission {
namespace {

// "group/resource", or "group/resource/name" where the right is for one object: its verbs.
using Rights = std::map<std::string, std::set<std::string>>;

Rights rights_of(std::string_view kind) {
  Rights rights;
  const auto documents = render_installation({});
  for (const json::value& document : documents.value()) {
    const Place role(&document);
    if (role["kind"].text() != kind) continue;
    for (const Place& rule : role["rules"].elements()) {
      for (const Place& group : rule["apiGroups"].elements()) {
        for (const Place& resource : rule["resources"].elements()) {
          const std::string key = std::string(group.text()) + "/" + std::string(resource.text());
          std::vector<std::string> keys;
          for (const Place& name : rule["resourceNames"].elements()) {
            keys.push_back(key + "/" + std::string(name.text()));
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
  EXPECT_EQ(rights_of("ClusterRole"), wanted);
}

TEST(RbacTest, InItsNamespaceOnlyTheLeaseAndTheSecret) {
  const Rights wanted{
      {"coordination.k8s.io/leases", {"create"}},
      {"coordination.k8s.io/leases/" + std::string(kLease), {"get", "watch", "update"}},
      {"/secrets", {"create"}},
      {"/secrets/" + std::string(kCertificatesSecret), {"get", "update"}},
  };
  EXPECT_EQ(rights_of("Role"), wanted);
}

// In the files: people who read them must find out why.
TEST(RbacTest, EveryRuleSaysWhy) {
  for (const EmbeddedFile& file : manifests()) {
    if (file.name != "rbac.yaml") continue;
    const std::string text = file.text();
    std::string previous;
    size_t rules = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (line.starts_with("- apiGroups:")) {
        ++rules;
        // A rule that goes on with what the one before it began.
        const bool goes_on = previous.starts_with("  verbs: [create]");
        EXPECT_TRUE(previous.starts_with("# ") || goes_on) << line << " after " << previous;
      }
      previous = line;
      at = end + 1;
    }
    EXPECT_GT(rules, 10);
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

#include "admission/deploy_files.h"

#include <set>

#include "admission/conversion.h"
#include "admission/document.h"
#include "admission/testing.h"
#include "admission/webhook.h"

namespace phalanx::admission {
namespace {

// Calls visit(schema, path) for every schema inside a schema, itself included.
template <typename Visit>
void walk(const Place& schema, const std::string& path, Visit visit) {
  visit(schema, path);
  for (const auto& [name, property] : schema["properties"].entries()) {
    walk(property, path + "." + std::string(name), visit);
  }
  for (const std::string_view keyword : {"items", "additionalProperties"}) {
    if (schema[keyword].present()) walk(schema[keyword], path + "[]", visit);
  }
}

TEST(Crds, EveryFileLoads) {
  std::set<std::string> kinds;
  std::string previous;
  for (const EmbeddedFile& crd : crds()) {
    EXPECT_LT(previous, crd.name);
    previous = crd.name;
    const auto loaded = load_crd(crd.text());
    ASSERT_TRUE(loaded.has_value()) << crd.name << ": " << loaded.error().message;
    EXPECT_EQ(loaded->schemas.size(), 2) << crd.name;
    EXPECT_TRUE(loaded->schemas.contains("v1beta1")) << crd.name;
    EXPECT_TRUE(loaded->schemas.contains("v1beta2")) << crd.name;
    kinds.insert(loaded->kind);
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue",
                                          "ProvisioningRequestConfig", "ResourceFlavor", "Topology",
                                          "Workload", "WorkloadPriorityClass"}));
}

TEST(Crds, AgreeWithTheTableOfKinds) {
  for (const EmbeddedFile& crd : crds()) {
    const json::value document = testing::yaml(crd.text());
    const Place root(&document);
    const Place spec = root["spec"];
    const auto kind = api::find_kind("kueue.x-k8s.io/v1beta2", spec["names"]["kind"].text());
    if (!kind) continue;
    const api::KindInfo& about = api::info(*kind);
    EXPECT_EQ(spec["group"].text(), about.group);
    EXPECT_EQ(spec["names"]["plural"].text(), about.plural);
    EXPECT_EQ(spec["scope"].text() == "Namespaced", about.namespaced);
    EXPECT_EQ(root["metadata"]["name"].text(),
              std::string(about.plural) + "." + std::string(about.group));
    for (const Place& version : spec["versions"].elements()) {
      EXPECT_EQ(version["subresources"]["status"].present(), about.has_status) << crd.name;
      const Place storage = version["storage"];
      EXPECT_EQ(*storage.value() == json::value(true), version["name"].text() == about.version);
    }
  }
}

TEST(Crds, EveryFieldIsDescribedAndEveryRuleHasAMessage) {
  for (const EmbeddedFile& crd : crds()) {
    const json::value document = testing::yaml(crd.text());
    for (const Place& version : Place(&document)["spec"]["versions"].elements()) {
      walk(version["schema"]["openAPIV3Schema"], std::string(crd.name),
           [](const Place& schema, const std::string& path) {
             const bool is_field = !path.ends_with("[]") && !path.ends_with(".yaml.metadata");
             EXPECT_TRUE(!is_field || !schema["description"].text().empty()) << path;
             for (const Place& rule : schema["x-kubernetes-validations"].elements()) {
               EXPECT_FALSE(rule["message"].text().empty()) << path;
             }
           });
    }
  }
}

// Both versions are served. Where they differ in their fields, and only there, a webhook converts.
TEST(Crds, AWebhookConvertsWhatDiffers) {
  for (const EmbeddedFile& crd : crds()) {
    const json::value document = testing::yaml(crd.text());
    const Place spec = Place(&document)["spec"];
    std::vector<std::set<std::string>> fields;
    for (const Place& version : spec["versions"].elements()) {
      const Place served = version["served"];
      EXPECT_EQ(*served.value(), json::value(true)) << crd.name;
      fields.emplace_back();
      walk(version["schema"]["openAPIV3Schema"], "",
           [&](const Place&, const std::string& path) { fields.back().insert(path); });
    }
    const Place conversion = spec["conversion"];
    const bool differs = versions_differ(spec["names"]["kind"].text());
    EXPECT_EQ(conversion.present(), differs) << crd.name;
    if (!differs) {
      EXPECT_EQ(fields.front(), fields.back()) << crd.name;
      continue;
    }
    EXPECT_EQ(conversion["strategy"].text(), "Webhook") << crd.name;
    EXPECT_EQ(conversion["webhook"]["conversionReviewVersions"].size(), 1) << crd.name;
    EXPECT_EQ(conversion["webhook"]["clientConfig"]["service"]["path"].text(), kConvertPath)
        << crd.name;
  }
}

// Parts are cut anywhere; put together they are the file again.
TEST(Crds, TextIsWhole) {
  for (const EmbeddedFile& crd : crds()) {
    const std::string text = crd.text();
    EXPECT_TRUE(text.starts_with("apiVersion: apiextensions.k8s.io/v1\n")) << crd.name;
    EXPECT_TRUE(text.ends_with('\n')) << crd.name;
    for (const std::string_view part : crd.parts) EXPECT_LE(part.size(), 16000) << crd.name;
  }
}

}  // namespace
}  // namespace phalanx::admission

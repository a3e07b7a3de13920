#include "admission/installation.h"

#include <gtest/gtest.h>

#include <set>

#include "admission/deploy_files.h"
#include "admission/document.h"
#include "admission/testing.h"
#include "admission/webhook.h"
#include "api/kind.h"
#include "base/base64.h"
#include "core/configuration.h"
#include "core/names.h"

namespace phalanx::admission {
namespace {

using Documents = std::vector<json::value>;

Documents render(const InstallationOptions& options = {}) {
  auto documents = render_installation(options);
  EXPECT_TRUE(documents.has_value()) << (documents ? "" : documents.error().message);
  return documents.value_or(Documents());
}

// The only document of the kind and, if it is given, the name.
Place find(const Documents& documents, std::string_view kind, std::string_view name = "") {
  for (const json::value& document : documents) {
    const Place place(&document);
    if (place["kind"].text() != kind) continue;
    if (name.empty() || place["metadata"]["name"].text() == name) return place;
  }
  return Place(nullptr);
}

std::multiset<std::string> kinds_of(const Documents& documents) {
  std::multiset<std::string> kinds;
  for (const json::value& document : documents) {
    kinds.emplace(Place(&document)["kind"].text());
  }
  return kinds;
}

std::vector<Place> webhooks_of(const Documents& documents) {
  std::vector<Place> all = find(documents, "MutatingWebhookConfiguration")["webhooks"].elements();
  for (const Place& webhook :
       find(documents, "ValidatingWebhookConfiguration")["webhooks"].elements()) {
    all.push_back(webhook);
  }
  return all;
}

std::vector<Place> client_configs_of(const Documents& documents) {
  std::vector<Place> all;
  for (const Place& webhook : webhooks_of(documents)) all.push_back(webhook["clientConfig"]);
  for (const json::value& document : documents) {
    const Place conversion = Place(&document)["spec"]["conversion"];
    if (conversion.present()) all.push_back(conversion["webhook"]["clientConfig"]);
  }
  return all;
}

std::set<std::string> texts_of(const Place& list) {
  std::set<std::string> texts;
  for (const Place& element : list.elements()) texts.emplace(element.text());
  return texts;
}

std::string text_of(const Documents& documents) {
  return to_yaml_stream(documents);
}

TEST(InstallationTest, IsWholeAndInOrder) {
  const Documents documents = render();
  EXPECT_EQ(kinds_of(documents), (std::multiset<std::string>{"Namespace",
                                                             "CustomResourceDefinition",
                                                             "CustomResourceDefinition",
                                                             "CustomResourceDefinition",
                                                             "CustomResourceDefinition",
                                                             "CustomResourceDefinition",
                                                             "CustomResourceDefinition",
                                                             "CustomResourceDefinition",
                                                             "CustomResourceDefinition",
                                                             "CustomResourceDefinition",
                                                             "ServiceAccount",
                                                             "ClusterRole",
                                                             "ClusterRole",
                                                             "ClusterRole",
                                                             "ClusterRole",
                                                             "ClusterRoleBinding",
                                                             "Role",
                                                             "RoleBinding",
                                                             "ConfigMap",
                                                             "Service",
                                                             "Service",
                                                             "PodDisruptionBudget",
                                                             "Deployment",
                                                             "MutatingWebhookConfiguration",
                                                             "ValidatingWebhookConfiguration"}));
  EXPECT_EQ(Place(&documents.front())["kind"].text(), "Namespace");
  EXPECT_EQ(Place(&documents.back())["kind"].text(), "ValidatingWebhookConfiguration");
  std::set<std::string> names;
  for (const json::value& document : documents) {
    const Place place(&document);
    EXPECT_FALSE(place["apiVersion"].text().empty());
    EXPECT_TRUE(names
                    .emplace(std::string(place["kind"].text()) + "/" +
                             std::string(place["metadata"]["name"].text()))
                    .second);
    EXPECT_EQ(place["metadata"]["labels"]["app.kubernetes.io/part-of"].text(), "phalanx");
  }
}

TEST(InstallationTest, ReadsBackFromItsText) {
  const Documents documents = render();
  const auto back = parse_documents(text_of(documents));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  ASSERT_EQ(back->size(), documents.size());
  for (size_t i = 0; i < documents.size(); ++i) EXPECT_EQ((*back)[i].value, documents[i]);
}

TEST(InstallationTest, EveryWebhookHasItsPathAndEveryPathItsWebhook) {
  const Documents documents = render();
  std::set<std::string> paths;
  for (const Place& config : client_configs_of(documents)) {
    EXPECT_EQ(config["service"]["name"].text(), kWebhookService);
    EXPECT_EQ(config["service"]["namespace"].text(), kSystemNamespace);
    paths.emplace(config["service"]["path"].text());
  }
  EXPECT_EQ(paths, std::set<std::string>(webhook_paths().begin(), webhook_paths().end()));
}

TEST(InstallationTest, WebhooksSayWhatHappensWithoutAnAnswer) {
  const Documents documents = render();
  std::set<std::string> names;
  for (const Place& webhook : webhooks_of(documents)) {
    const std::string name(webhook["name"].text());
    names.insert(name);
    EXPECT_TRUE(name.ends_with(".phalanx.dev")) << name;
    EXPECT_EQ(webhook["sideEffects"].text(), "None") << name;
    EXPECT_EQ(texts_of(webhook["admissionReviewVersions"]), std::set<std::string>{"v1"}) << name;
    EXPECT_EQ(webhook["matchPolicy"].text(), "Equivalent") << name;
    EXPECT_TRUE(webhook["timeoutSeconds"].number().value_or(0) > 0) << name;
    const bool of_others = name.contains("-without-queue.");
    EXPECT_EQ(webhook["failurePolicy"].text(), of_others ? "Ignore" : "Fail") << name;
    EXPECT_EQ(webhook["rules"].size(), 1) << name;
    const Place rule = webhook["rules"].elements().front();
    EXPECT_FALSE(texts_of(rule["resources"]).contains("pods")) << name;
    const bool about_jobs = texts_of(rule["apiGroups"]).contains("batch");
    EXPECT_EQ(webhook["objectSelector"].present(), about_jobs) << name;
    if (!about_jobs) continue;
    const Place selected = webhook["objectSelector"]["matchExpressions"].elements().front();
    EXPECT_EQ(selected["key"].text(), core::names::kQueueLabel);
    EXPECT_EQ(selected["operator"].text(), of_others ? "DoesNotExist" : "Exists");
    EXPECT_EQ(webhook["namespaceSelector"].present(), of_others) << name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"job.phalanx.dev", "job-start.phalanx.dev",
                                          "job-start-without-queue.phalanx.dev",
                                          "job-without-queue.phalanx.dev", "kueue.phalanx.dev",
                                          "workload-status.phalanx.dev"}));
}

// What a rule sends to a path must be what the path reviews.
TEST(InstallationTest, EveryKindOfKueueIsValidated) {
  std::set<std::string> plurals{"workloads/status"};
  for (const EmbeddedFile& crd : crds()) {
    const json::value document = testing::yaml(crd.text());
    plurals.emplace(Place(&document)["spec"]["names"]["plural"].text());
  }
  const Documents documents = render();
  for (const Place& webhook :
       find(documents, "ValidatingWebhookConfiguration")["webhooks"].elements()) {
    const Place rule = webhook["rules"].elements().front();
    if (webhook["name"].text() != "kueue.phalanx.dev") continue;
    EXPECT_EQ(texts_of(rule["resources"]), plurals);
    EXPECT_EQ(texts_of(rule["operations"]), (std::set<std::string>{"CREATE", "UPDATE"}));
  }
}

TEST(InstallationTest, TheManagerIsNotAskedAboutItsOwnWrites) {
  InstallationOptions options;
  options.namespace_ = "elsewhere";
  const Documents documents = render(options);
  for (const Place& webhook :
       find(documents, "ValidatingWebhookConfiguration")["webhooks"].elements()) {
    ASSERT_GE(webhook["matchConditions"].size(), 1);
    EXPECT_EQ(webhook["matchConditions"].elements().front()["expression"].text(),
              "request.userInfo.username != \"system:serviceaccount:elsewhere:phalanx\"");
  }
}

TEST(InstallationTest, WhoMayAdmitMayDoByHandWhatTheManagerDoes) {
  const Documents documents = render();
  std::set<std::string> names;
  for (const Place& webhook :
       find(documents, "ValidatingWebhookConfiguration")["webhooks"].elements()) {
    const Place condition = webhook["matchConditions"].elements().back();
    if (condition["name"].text() != "who-may-not-admit") continue;
    names.emplace(webhook["name"].text());
    EXPECT_EQ(condition["expression"].text(),
              "!authorizer.group(\"kueue.x-k8s.io\").resource(\"workloads\")"
              ".namespace(request.namespace).check(\"admit\").allowed()");
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"job-start.phalanx.dev", "job-start-without-queue.phalanx.dev",
                                   "workload-status.phalanx.dev"}));
}

TEST(InstallationTest, TheNamespaceReachesEveryPlace) {
  InstallationOptions options;
  options.namespace_ = "elsewhere";
  const Documents documents = render(options);
  EXPECT_EQ(text_of(documents).find(kSystemNamespace), std::string::npos);
  EXPECT_EQ(find(documents, "Namespace")["metadata"]["name"].text(), "elsewhere");
  for (const std::string_view kind : {"ServiceAccount", "Role", "RoleBinding", "ConfigMap",
                                      "Service", "PodDisruptionBudget", "Deployment"}) {
    EXPECT_EQ(find(documents, kind)["metadata"]["namespace"].text(), "elsewhere") << kind;
  }
  for (const std::string_view kind : {"RoleBinding", "ClusterRoleBinding"}) {
    EXPECT_EQ(find(documents, kind)["subjects"].elements().front()["namespace"].text(),
              "elsewhere");
  }
  for (const Place& config : client_configs_of(documents)) {
    EXPECT_EQ(config["service"]["namespace"].text(), "elsewhere");
  }
}

TEST(InstallationTest, AWebhookUrlTakesThePlaceOfTheService) {
  InstallationOptions options;
  options.webhook_url = "https://127.0.0.1:12345/";
  const Documents documents = render(options);
  const std::multiset<std::string> kinds = kinds_of(documents);
  for (const char* kind : {"Deployment", "Service", "PodDisruptionBudget", "ConfigMap"}) {
    EXPECT_FALSE(kinds.contains(kind)) << kind;
  }
  std::set<std::string> urls;
  for (const Place& config : client_configs_of(documents)) {
    EXPECT_FALSE(config["service"].present());
    urls.emplace(config["url"].text());
  }
  std::set<std::string> wanted;
  for (const std::string_view path : webhook_paths()) {
    wanted.insert("https://127.0.0.1:12345" + std::string(path));
  }
  EXPECT_EQ(urls, wanted);
  EXPECT_EQ(text_of(documents).find(kWebhookService), text_of(documents).find(kCertificatesSecret))
      << "only the Secret begins like the Service";
  options.with_deployment = true;
  EXPECT_TRUE(kinds_of(render(options)).contains("Deployment"));
}

TEST(InstallationTest, WithoutADeploymentTheServiceStays) {
  InstallationOptions options;
  options.with_deployment = false;
  const std::multiset<std::string> kinds = kinds_of(render(options));
  EXPECT_FALSE(kinds.contains("Deployment"));
  EXPECT_FALSE(kinds.contains("PodDisruptionBudget"));
  EXPECT_EQ(kinds.count("Service"), 1);
  EXPECT_TRUE(find(render(options), "Service", kWebhookService).present());
}

TEST(InstallationTest, TheCaBundleIsEverywhere) {
  for (const std::string& url : {std::string(), std::string("https://[::1]:9443")}) {
    InstallationOptions options;
    options.webhook_url = url;
    options.ca_bundle = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
    const Documents documents = render(options);
    EXPECT_EQ(client_configs_of(documents).size(), 13);
    for (const Place& config : client_configs_of(documents)) {
      EXPECT_EQ(from_base64(config["caBundle"].text()).value(), options.ca_bundle);
    }
  }
  const Documents without = render();
  for (const Place& config : client_configs_of(without)) {
    EXPECT_FALSE(config["caBundle"].present());
  }
}

TEST(InstallationTest, BadOptionsAreNamed) {
  const auto refusal = [](const InstallationOptions& options) {
    const auto documents = render_installation(options);
    return documents ? std::string("rendered") : documents.error().message;
  };
  const auto url = [&](std::string_view text) {
    InstallationOptions options;
    options.webhook_url = text;
    return refusal(options);
  };
  EXPECT_EQ(url("http://127.0.0.1:9443"),
            "the webhook URL \"http://127.0.0.1:9443\" does not begin with https://; write it like "
            "https://127.0.0.1:9443");
  for (const std::string_view bad :
       {"127.0.0.1:9443", "https://", "https://:9443", "https://a:b", "https://a:0",
        "https://a:65536", "https://a:", "https://me@a", "https://a?b", "https://a#b",
        "https://a/b", "https://a b", "https://[::1", "https://a\n"}) {
    EXPECT_NE(url(bad), "rendered") << bad;
  }
  for (const std::string_view fine :
       {"https://a", "https://a/", "https://a.example.com:443", "https://[::1]:1"}) {
    EXPECT_EQ(url(fine), "rendered") << fine;
  }
  InstallationOptions options;
  for (const char* name : {"", "Upper", "a.b", "-a"}) {
    options.namespace_ = name;
    EXPECT_NE(refusal(options).find("is no name of one"), std::string::npos) << name;
  }
  options = {};
  options.image = "a b";
  EXPECT_NE(refusal(options).find("the image \"a b\""), std::string::npos);
  options = {};
  options.replicas = 0;
  EXPECT_NE(refusal(options).find("choose between 1 and 100"), std::string::npos);
  options = {};
  options.ca_bundle = "MIIB";
  EXPECT_NE(refusal(options).find("has no certificate in it"), std::string::npos);
  options.ca_bundle = "-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n";
  EXPECT_NE(refusal(options).find("has a private key in it"), std::string::npos);
}

TEST(InstallationTest, TheDeploymentIsAsChosen) {
  InstallationOptions options;
  options.image = "registry.example.com/phalanx:1.2";
  options.replicas = 3;
  const Documents documents = render(options);
  const Documents unchanged = render();
  const Place spec = find(documents, "Deployment")["spec"];
  EXPECT_EQ(spec["replicas"].number(), 3);
  const Place pod = spec["template"]["spec"];
  const Place container = pod["containers"].elements().front();
  EXPECT_EQ(container["image"].text(), "registry.example.com/phalanx:1.2");
  EXPECT_EQ(find(unchanged, "Deployment")["spec"]["replicas"].number(), 2);
}

TEST(InstallationTest, PartsOfTheManagerFitTogether) {
  const Documents documents = render();
  const Place deployment = find(documents, "Deployment")["spec"];
  const Place labels = deployment["template"]["metadata"]["labels"];
  const auto selects = [&](const Place& selector) {
    for (const auto& [key, value] : selector.entries()) {
      EXPECT_EQ(labels[key].text(), value.text());
    }
    EXPECT_GT(selector.size(), 0);
  };
  selects(deployment["selector"]["matchLabels"]);
  selects(find(documents, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"]);
  for (const auto& [name, port] :
       {std::pair(kWebhookService, kWebhookPort), std::pair(kMetricsService, kMetricsPort)}) {
    const Place service = find(documents, "Service", name);
    selects(service["spec"]["selector"]);
    EXPECT_EQ(service["spec"]["ports"].elements().front()["targetPort"].number(), port);
  }
  const Place pod = deployment["template"]["spec"];
  EXPECT_EQ(pod["serviceAccountName"].text(), kServiceAccount);
  const Place container = pod["containers"].elements().front();
  EXPECT_EQ(container["ports"].elements()[0]["containerPort"].number(), kWebhookPort);
  EXPECT_EQ(container["ports"].elements()[1]["containerPort"].number(), kMetricsPort);
  EXPECT_EQ(container["ports"].elements()[2]["containerPort"].number(), kHealthPort);
  EXPECT_TRUE(
      texts_of(container["args"]).contains("--metrics-address=:" + std::to_string(kMetricsPort)));
  EXPECT_EQ(container["readinessProbe"]["httpGet"]["path"].text(), "/readyz");
  EXPECT_EQ(container["livenessProbe"]["httpGet"]["path"].text(), "/healthz");
  EXPECT_EQ(*container["securityContext"]["readOnlyRootFilesystem"].value(), json::value(true));
  EXPECT_EQ(*pod["securityContext"]["runAsNonRoot"].value(), json::value(true));
  const Place config = find(documents, "ConfigMap");
  EXPECT_EQ(pod["volumes"].elements().front()["configMap"]["name"].text(),
            config["metadata"]["name"].text());
  const auto parsed = core::parse_configuration(config["data"]["config.yaml"].text(), "config");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_TRUE(parsed->warnings.empty());
  EXPECT_FALSE(parsed->configuration.manage_jobs_without_queue_name);
}

}  // namespace
}  // namespace phalanx::admission

#include "manager/settings.h"

#include <gtest/gtest.h>

#include "admission/deploy_files.h"
#include "admission/installation.h"
#include "base/yaml.h"

namespace phalanx::manager {
namespace {

using std::chrono::seconds;

Result<Settings> read(const std::string& text, const Overrides& overrides = {}) {
  return read_settings(text, "config.yaml", overrides);
}

std::string error_of(const std::string& text) {
  const auto settings = read(text);
  return settings ? "" : settings.error().message;
}

constexpr auto kOurs = "apiVersion: config.phalanx.dev/v1\nkind: Configuration\n";
constexpr auto kKueues = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";

TEST(Settings, WithoutAFileTheyAreTheUsualOnes) {
  const auto settings = read("");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->process, ProcessSettings());
  EXPECT_EQ(settings->process.lease_duration, seconds(15));
  EXPECT_EQ(settings->process.renew_deadline, seconds(10));
  EXPECT_EQ(settings->process.retry_period, seconds(2));
}

constexpr auto kAll = R"(
namespace: scheduling
leaderElection: {leaderElect: true, resourceName: lock, leaseDuration: 30s, renewDeadline: 20s,
                 retryPeriod: 5s}
clientConnection: {qps: 50.5, burst: 100}
webhook: {port: 1234, host: 127.0.0.1, certDir: /certs}
internalCertManagement: {enable: false, webhookServiceName: hooks, webhookSecretName: certs,
                         certificateValidity: 720h, authorityValidity: 8760h}
health: {healthProbeBindAddress: ':1'}
metrics: {bindAddress: ':2'}
featureGates: {TASBalancedPlacement: true}
)";

TEST(Settings, BothSpellingsOfTheFileAreRead) {
  for (const char* head : {kOurs, kKueues}) {
    const auto settings = read(std::string(head) + kAll);
    ASSERT_TRUE(settings) << settings.error().message;
    const ProcessSettings& process = settings->process;
    EXPECT_EQ(process.lease_duration, seconds(30));
    EXPECT_EQ(process.renew_deadline, seconds(20));
    EXPECT_EQ(process.retry_period, seconds(5));
    EXPECT_EQ(process.writes_per_second, 50.5);
    EXPECT_EQ(process.writes_burst, 100);
    EXPECT_TRUE(settings->core.placement.balanced);
  }
}

// Kueue's is about Kueue's own process, whose ports and folders are not those of our Deployment.
TEST(Settings, WhereToListenIsTakenFromOurOwnFileAlone) {
  const auto ours = read(std::string(kOurs) + kAll);
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->process.webhook_port, 1234);
  EXPECT_EQ(ours->process.webhook_host, "127.0.0.1");
  EXPECT_EQ(ours->process.webhook_cert_dir, "/certs");
  EXPECT_EQ(ours->process.health_address, ":1");
  EXPECT_EQ(ours->process.metrics_address, ":2");
  const auto kueues = read(std::string(kKueues) + kAll);
  ASSERT_TRUE(kueues);
  EXPECT_EQ(kueues->process.webhook_port, ProcessSettings().webhook_port);
  EXPECT_EQ(kueues->process.webhook_host, "");
  EXPECT_EQ(kueues->process.webhook_cert_dir, ProcessSettings().webhook_cert_dir);
  EXPECT_EQ(kueues->process.health_address, ProcessSettings().health_address);
  EXPECT_EQ(kueues->process.metrics_address, ProcessSettings().metrics_address);
  EXPECT_EQ(kueues->warnings.front(),
            "config.yaml: webhook.host, webhook.port, webhook.certDir, "
            "health.healthProbeBindAddress, metrics.bindAddress: about the process of Kueue; not "
            "used here");
}

// With one replica Kueue needs none; here there would be two who decide.
TEST(Settings, KueuesFileCannotSwitchTheElectionOff) {
  const auto settings = read(std::string(kKueues) + "leaderElection: {leaderElect: false}");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_TRUE(settings->process.elect_leader);
  EXPECT_EQ(settings->warnings,
            std::vector<std::string>{"config.yaml: leaderElection.leaderElect: about the process "
                                     "of Kueue; not used here"});
  EXPECT_FALSE(
      read(std::string(kOurs) + "leaderElection: {leaderElect: false}")->process.elect_leader);
}

TEST(Settings, NamesAreTakenFromOurOwnFileAlone) {
  const auto ours = read(std::string(kOurs) + kAll);
  ASSERT_TRUE(ours);
  EXPECT_TRUE(ours->warnings.empty());
  EXPECT_EQ(ours->process.lease_namespace, "scheduling");
  EXPECT_EQ(ours->process.lease_name, "lock");
  EXPECT_EQ(ours->process.webhook_service, "hooks");
  EXPECT_EQ(ours->process.webhook_secret, "certs");
  EXPECT_FALSE(ours->process.keeps_certificates);
  EXPECT_EQ(ours->process.certificate_validity, std::chrono::hours(720));
  EXPECT_EQ(ours->process.authority_validity, std::chrono::hours(8760));
  const auto kueues = read(std::string(kKueues) + kAll);
  ASSERT_TRUE(kueues);
  EXPECT_EQ(kueues->process.lease_namespace, ProcessSettings().lease_namespace);
  EXPECT_EQ(kueues->process.lease_name, ProcessSettings().lease_name);
  EXPECT_EQ(kueues->process.webhook_service, ProcessSettings().webhook_service);
  EXPECT_EQ(kueues->process.webhook_secret, "");
  EXPECT_TRUE(kueues->process.keeps_certificates);
  ASSERT_EQ(kueues->warnings.size(), 5U);
  EXPECT_EQ(
      kueues->warnings[2],
      "config.yaml: leaderElection.resourceName: names an object of Kueue; not used here, ours "
      "have names of their own");
}

json::value installed(std::string_view kind) {
  for (const EmbeddedFile& file : admission::manifests()) {
    for (Document& document : parse_documents(file.text()).value()) {
      if (document.value.at("kind").as_string() == kind) return std::move(document.value);
    }
  }
  return nullptr;
}

// What the Deployment gives its replicas is understood, and they share one certificate.
TEST(Settings, TheInstalledFileIsReadWithoutAWarning) {
  const json::value map = installed("ConfigMap");
  const auto settings = read(std::string(map.at("data").at("config.yaml").as_string()));
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_TRUE(settings->warnings.empty());
  EXPECT_EQ(settings->process.webhook_secret, admission::kCertificatesSecret);
  EXPECT_EQ(settings->process.webhook_service, admission::kWebhookService);
}

// Its root is read-only, and it may have been installed into another namespace.
TEST(Settings, AnInstalledProcessCanWriteItsCertificatesAndKnowsItsNamespace) {
  const json::value deployment = installed("Deployment");
  const json::value& pod = deployment.at("spec").at("template").at("spec");
  const json::value& container = pod.at("containers").at(0);
  std::string volume;
  for (const json::value& mount : container.at("volumeMounts").as_array()) {
    if (mount.at("mountPath").as_string() == ProcessSettings().webhook_cert_dir) {
      volume = mount.at("name").as_string();
    }
  }
  bool writable = false;
  for (const json::value& each : pod.at("volumes").as_array()) {
    writable |= each.at("name").as_string() == volume && each.as_object().contains("emptyDir");
  }
  EXPECT_TRUE(writable) << volume;
  const json::array& arguments = container.at("args").as_array();
  EXPECT_NE(std::ranges::find(arguments, json::value("--lease-namespace=$(POD_NAMESPACE)")),
            arguments.end());
}

// The configuration may be one of Kueue's, which names no Secret of ours: each replica would then
// have a CA of its own.
TEST(Settings, InstalledReplicasShareTheirCertificatesWhateverTheConfiguration) {
  const json::value deployment = installed("Deployment");
  const json::value& pod = deployment.at("spec").at("template").at("spec");
  const json::array& arguments = pod.at("containers").at(0).at("args").as_array();
  const std::string option = "--webhook-secret=" + std::string(admission::kCertificatesSecret);
  EXPECT_NE(std::ranges::find(arguments, json::value(option)), arguments.end());
}

TEST(Settings, TheCommandLineGoesBeforeTheFile) {
  const auto settings = read(
      std::string(kOurs) + kAll,
      {.feature_gates = "TASBalancedPlacement=false", .lease_namespace = "x", .webhook_port = 9});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->process.lease_namespace, "x");
  EXPECT_EQ(settings->process.webhook_port, 9);
  EXPECT_FALSE(settings->core.placement.balanced);
}

TEST(Settings, OursIsStrictAndKueuesIsNot) {
  EXPECT_NE(error_of(std::string(kOurs) + "webhook: {prt: 1}").find("webhook.prt"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(kOurs) + "multiKueue: {}").find("multiKueue: is no field"),
            std::string::npos);
  const auto settings =
      read(std::string(kKueues) + "multiKueue: {}\nwebhook: {port: 3, tlsOptions: {}}");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->warnings,
            (std::vector<std::string>{
                "config.yaml: multiKueue: is not used here",
                "config.yaml: webhook.port: about the process of Kueue; not used here"}));
}

TEST(Settings, BadValuesAreNamed) {
  const std::string head = kOurs;
  EXPECT_EQ(error_of(head + "webhook: {port: 70000}").substr(0, 25), "config.yaml: webhook.port");
  EXPECT_EQ(error_of(head + "leaderElection: {leaseDuration: soon}").substr(0, 41),
            "config.yaml: leaderElection.leaseDuration");
  EXPECT_EQ(error_of(head + "leaderElection: {leaseDuration: 5s}"),
            "config.yaml: leaderElection: retryPeriod (2s) must be shorter than renewDeadline "
            "(10s), and that shorter than leaseDuration (5s)");
  EXPECT_EQ(error_of(head + "clientConnection: {qps: -1}"),
            "config.yaml: clientConnection.qps: must not be negative; 0 is no limit");
  EXPECT_EQ(error_of(head + "internalCertManagement: {authorityValidity: 24h}"),
            "config.yaml: internalCertManagement: certificateValidity (8760h) must not be longer "
            "than authorityValidity (24h)");
  EXPECT_EQ(error_of(head + "clientConnection: {qps: many}"),
            "config.yaml: clientConnection.qps: must be a number");
}

TEST(Settings, WhatNeedsARestartIsNamed) {
  ProcessSettings before;
  ProcessSettings after;
  EXPECT_EQ(needing_restart(before, after), "");
  after.webhook_port = 1;
  after.retry_period = seconds(1);
  EXPECT_EQ(needing_restart(before, after), "leaderElection.retryPeriod, webhook.port");
}

}  // namespace
}  // namespace phalanx::manager

#include "manager/settings.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/yaml.h"

namespace phalanx::manager {
namespace {

constexpr int64_t kHighestPort = 65535;

// "15s", as metav1.Duration.
void read_duration(const JsonReader& reader, std::string_view field, Duration& duration) {
  const std::string text = reader.string(field);
  if (text.empty()) return;
  const auto parsed = parse_duration(text);
  if (!parsed) return reader.report(field, parsed.error().message);
  if (parsed->count() <= 0) return reader.report(field, "must be longer than 0s");
  duration = *parsed;
}

double read_number(const JsonReader& reader, std::string_view field, double fallback) {
  const json::value* value = reader.find(field);
  if (value == nullptr) return fallback;
  boost::system::error_code failed;
  const auto number = value->to_number<double>(failed);
  if (failed) {
    reader.report(field, "must be a number");
    return fallback;
  }
  return number;
}

// Fields that the process has no use for are refused in our own file and left alone in Kueue's.
class Part {
 public:
  Part(const JsonReader& file, std::string_view name, bool strict,
       std::initializer_list<std::string_view> fields)
      : reader_(file.object(name)) {
    if (strict) reader_.allow_only(fields);
  }
  const JsonReader* operator->() const { return &reader_; }
  const JsonReader& operator*() const { return reader_; }

 private:
  JsonReader reader_;
};

// Names of our own objects. Those in a file of Kueue are of Kueue's: its lease and its certificates
// are nothing to take hold of.
void read_names(const JsonReader& file, ProcessSettings& process) {
  process.lease_namespace = file.string("namespace", process.lease_namespace);
  const JsonReader election = file.object("leaderElection");
  process.lease_name = election.string("resourceName", process.lease_name);
  process.lease_namespace = election.string("resourceNamespace", process.lease_namespace);
  const Part certificates(file, "internalCertManagement", true,
                          {"enable", "webhookServiceName", "webhookSecretName",
                           "certificateValidity", "authorityValidity"});
  process.keeps_certificates = certificates->boolean("enable", true);
  process.webhook_service = certificates->string("webhookServiceName", process.webhook_service);
  process.webhook_secret = certificates->string("webhookSecretName");
  read_duration(*certificates, "certificateValidity", process.certificate_validity);
  read_duration(*certificates, "authorityValidity", process.authority_validity);
}

void warn_of_names(const JsonReader& file, const std::string& name,
                   std::vector<std::string>& warnings) {
  const auto warn = [&](const JsonReader& reader, std::string_view parent, std::string_view field) {
    if (reader.find(field) == nullptr) return;
    warnings.push_back(fmt::format(
        "{}: {}{}: names an object of Kueue; not used here, ours have names of their own", name,
        parent, field));
  };
  warn(file, "", "namespace");
  const JsonReader election = file.object("leaderElection");
  warn(election, "leaderElection.", "resourceName");
  warn(election, "leaderElection.", "resourceNamespace");
  const JsonReader certificates = file.object("internalCertManagement");
  warn(certificates, "internalCertManagement.", "webhookServiceName");
  warn(certificates, "internalCertManagement.", "webhookSecretName");
}

void read_process(const JsonReader& file, bool strict, ProcessSettings& process) {
  const Part election(file, "leaderElection", strict,
                      {"leaderElect", "resourceName", "resourceNamespace", "leaseDuration",
                       "renewDeadline", "retryPeriod"});
  process.elect_leader = election->boolean("leaderElect", true);
  read_duration(*election, "leaseDuration", process.lease_duration);
  read_duration(*election, "renewDeadline", process.renew_deadline);
  read_duration(*election, "retryPeriod", process.retry_period);
  const Part client(file, "clientConnection", strict, {"qps", "burst"});
  process.writes_per_second = read_number(*client, "qps", 0);
  process.writes_burst = static_cast<int>(client->integer("burst", 1, 1, INT32_MAX));
  const Part webhook(file, "webhook", strict, {"port", "host", "certDir"});
  process.webhook_port =
      static_cast<int>(webhook->integer("port", process.webhook_port, 1, kHighestPort));
  process.webhook_host = webhook->string("host");
  process.webhook_cert_dir = webhook->string("certDir", process.webhook_cert_dir);
  const Part health(file, "health", strict, {"healthProbeBindAddress"});
  process.health_address = health->string("healthProbeBindAddress", process.health_address);
  const Part metrics(file, "metrics", strict, {"bindAddress"});
  process.metrics_address = metrics->string("bindAddress", process.metrics_address);
}

// Of a file of Kueue: when to give a lease up, and how much to write. Where its process listens and
// keeps certificates, and whether it elects a leader at all, is about its own pod: ours has other
// ports and folders, and more replicas than one.
void read_kueues_process(const JsonReader& file, const std::string& name, Settings& settings) {
  ProcessSettings theirs;
  read_process(file, /*strict=*/false, theirs);
  ProcessSettings& process = settings.process;
  process.lease_duration = theirs.lease_duration;
  process.renew_deadline = theirs.renew_deadline;
  process.retry_period = theirs.retry_period;
  process.writes_per_second = theirs.writes_per_second;
  process.writes_burst = theirs.writes_burst;
  const std::string others = needing_restart(process, theirs);
  if (others.empty()) return;
  settings.warnings.push_back(
      fmt::format("{}: {}: about the process of Kueue; not used here", name, others));
}

Result<void> check(const ProcessSettings& process) {
  if (process.retry_period >= process.renew_deadline ||
      process.renew_deadline >= process.lease_duration) {
    return fail(fmt::format(
        "leaderElection: retryPeriod ({}) must be shorter than renewDeadline ({}), and that "
        "shorter than leaseDuration ({})",
        format_duration(process.retry_period), format_duration(process.renew_deadline),
        format_duration(process.lease_duration)));
  }
  if (process.certificate_validity > process.authority_validity) {
    return fail(
        fmt::format("internalCertManagement: certificateValidity ({}) must not be longer than "
                    "authorityValidity ({})",
                    format_duration(process.certificate_validity),
                    format_duration(process.authority_validity)));
  }
  if (process.writes_per_second < 0) {
    return fail("clientConnection.qps: must not be negative; 0 is no limit");
  }
  return {};
}

void override(const std::string& value, std::string& setting) {
  if (!value.empty()) setting = value;
}

}  // namespace

Result<Settings> read_settings(const std::string& text, const std::string& name,
                               const Overrides& overrides) {
  Settings settings;
  if (!text.empty()) {
    ASSIGN_OR_RETURN(core::ConfigurationFile file, core::parse_configuration(text, name));
    settings.core = std::move(file.configuration);
    settings.warnings = std::move(file.warnings);
    ASSIGN_OR_RETURN(const std::vector<Document> documents, parse_documents(text));
    DecodeStatus status;
    const JsonReader reader(&documents.front().value, "", status);
    const bool ours = reader.string("apiVersion").starts_with("config.phalanx.dev/");
    if (ours) {
      read_process(reader, /*strict=*/true, settings.process);
      read_names(reader, settings.process);
    } else {
      read_kueues_process(reader, name, settings);
      warn_of_names(reader, name, settings.warnings);
    }
    if (status.error()) return within(name, *status.error());
  }
  ProcessSettings& process = settings.process;
  override(overrides.lease_namespace, process.lease_namespace);
  override(overrides.webhook_cert_dir, process.webhook_cert_dir);
  override(overrides.webhook_secret, process.webhook_secret);
  override(overrides.health_address, process.health_address);
  override(overrides.metrics_address, process.metrics_address);
  if (overrides.webhook_port != 0) process.webhook_port = overrides.webhook_port;
  auto gates = core::apply_feature_gates(overrides.feature_gates, settings.core);
  if (!gates) return within("--feature-gates", gates.error());
  settings.warnings.insert(settings.warnings.end(), gates->begin(), gates->end());
  if (auto checked = check(process); !checked) return within(name, checked.error());
  return settings;
}

std::vector<std::string> webhook_names(const std::string& service, const std::string& namespace_) {
  const std::string name = service + "." + namespace_ + ".svc";
  return {name, name + ".cluster.local", "localhost", "127.0.0.1", "::1"};
}

std::string needing_restart(const ProcessSettings& before, const ProcessSettings& after) {
  std::string names;
  const auto differ = [&](const auto& a, const auto& b, std::string_view name) {
    if (a != b) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  };
  differ(before.elect_leader, after.elect_leader, "leaderElection.leaderElect");
  differ(before.lease_name, after.lease_name, "leaderElection.resourceName");
  differ(before.lease_namespace, after.lease_namespace, "leaderElection.resourceNamespace");
  differ(before.lease_duration, after.lease_duration, "leaderElection.leaseDuration");
  differ(before.renew_deadline, after.renew_deadline, "leaderElection.renewDeadline");
  differ(before.retry_period, after.retry_period, "leaderElection.retryPeriod");
  differ(before.writes_per_second, after.writes_per_second, "clientConnection.qps");
  differ(before.writes_burst, after.writes_burst, "clientConnection.burst");
  differ(before.webhook_host, after.webhook_host, "webhook.host");
  differ(before.webhook_port, after.webhook_port, "webhook.port");
  differ(before.webhook_cert_dir, after.webhook_cert_dir, "webhook.certDir");
  differ(before.webhook_service, after.webhook_service,
         "internalCertManagement.webhookServiceName");
  differ(before.webhook_secret, after.webhook_secret, "internalCertManagement.webhookSecretName");
  differ(before.keeps_certificates, after.keeps_certificates, "internalCertManagement.enable");
  differ(before.certificate_validity, after.certificate_validity,
         "internalCertManagement.certificateValidity");
  differ(before.authority_validity, after.authority_validity,
         "internalCertManagement.authorityValidity");
  differ(before.health_address, after.health_address, "health.healthProbeBindAddress");
  differ(before.metrics_address, after.metrics_address, "metrics.bindAddress");
  return names;
}

}  // namespace phalanx::manager

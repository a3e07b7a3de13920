// How the process is set up: what decides (core/configuration.h), and the part around it: whom to
// talk to, where to listen, when to give a lease up.
//
// From the configuration file, whose fields are spelled as Kueue's, with what the command line says
// on top. A changed file is taken over while the process runs: what decides at once, the rest is
// named as needing a restart.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "core/configuration.h"
#include "kube/elector.h"
#include "kube/writer.h"
#include "serve/certificate_rotation.h"

namespace phalanx::manager {

// The part of the file that is about the process.
struct ProcessSettings {
  bool elect_leader = true;
  std::string lease_namespace = "phalanx-system";
  std::string lease_name = "phalanx-manager";
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  double writes_per_second = 0;  // 0: the server's fairness decides
  int writes_burst = 1;
  std::string webhook_host;  // "": every address
  int webhook_port = 9443;
  std::string webhook_cert_dir = "/tmp/phalanx-webhook-certificates";
  // The names under which the API server calls; the first is that of the Service.
  std::string webhook_service = "phalanx-webhook";
  // Replicas share their certificates in this Secret; "": each has its own.
  std::string webhook_secret;
  // Otherwise somebody else makes these certificates, and tells API servers whom to trust.
  bool keeps_certificates = true;
  Duration certificate_validity = serve::RotationPolicy{}.certificate_lifetime;
  Duration authority_validity = serve::RotationPolicy{}.authority_lifetime;
  std::string health_address = ":8081";
  std::string metrics_address = ":8443";

  bool operator==(const ProcessSettings&) const = default;
};

struct Settings {
  core::Configuration core;
  ProcessSettings process;
  std::vector<std::string> warnings;
};

// What the command line says; empty: nothing.
struct Overrides {
  std::string feature_gates = {};
  std::string lease_namespace = {};
  std::string webhook_cert_dir = {};
  std::string webhook_secret = {};
  std::string health_address = {};
  std::string metrics_address = {};
  int webhook_port = 0;
};

// `text` is the file's content, "" if there is none; `name` stands for it in errors.
Result<Settings> read_settings(const std::string& text, const std::string& name,
                               const Overrides& overrides);

// Under which an API server may call the webhooks, and which their certificate is for: as a
// Service, or a process on the same machine.
std::vector<std::string> webhook_names(const std::string& service, const std::string& namespace_);

// "webhook.port, leaderElection.leaseDuration": what differs and can only be had by a restart.
std::string needing_restart(const ProcessSettings& before, const ProcessSettings& after);

}  // namespace phalanx::manager

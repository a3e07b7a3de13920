// Which API server to talk to, and as whom: a kubeconfig file, or the service account of the pod
// that this runs in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace phalanx::kube {

// A program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version = {};
  std::string command = {};
  std::vector<std::string> arguments = {};
  std::map<std::string, std::string> environment = {};  // on top of our own
  std::string install_hint = {};                        // for people who do not have it
  bool provide_cluster_info = false;
};

struct ClusterAccess {
  std::string server = {};       // "https://10.0.0.1:6443", without a slash at the end
  std::string authority = {};    // PEM; empty: what the system trusts
  bool insecure = false;         // the user said not to verify the server
  std::string server_name = {};  // to verify instead of the host in `server`
  std::string proxy = {};

  // Who we are: any of these.
  std::string certificate = {};  // PEM, with its key
  std::string key = {};
  std::string token = {};
  std::string token_file = {};  // read again and again: tokens run out
  std::string username = {};
  std::string password = {};
  std::optional<ExecPlugin> exec = {};
  std::string impersonate = {};

  std::string namespace_ = "default";
  std::string origin = {};  // where this was read: "kubeconfig dev.yaml, context admin@dev"
};

struct AccessOptions {
  std::string kubeconfig = {};  // empty: $KUBECONFIG, then ~/.kube/config, then the service account
  std::string context = {};     // empty: the current one
};

// How the environment is asked, so that tests can have their own.
struct Surroundings {
  std::map<std::string, std::string> environment;  // KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST, ...
  std::string service_account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";

  static Surroundings of_process();
};

Result<ClusterAccess> find_access(const AccessOptions& options,
                                  const Surroundings& surroundings = Surroundings::of_process());

// Several files are merged as kubectl does: of entries with one name the first counts.
Result<ClusterAccess> read_kubeconfig(const std::vector<std::string>& files,
                                      const std::string& context);

}  // namespace phalanx::kube

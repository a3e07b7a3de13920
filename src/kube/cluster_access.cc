#include "kube/cluster_access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/base64.h"
#include "base/file.h"
#include "base/json.h"
#include "base/spelling.h"
#include "base/yaml.h"

namespace phalanx::kube {
namespace {

// An entry of the lists "clusters", "users" and "contexts": where it stands, and what it says.
struct Entry {
  json::value body;
  std::string file;
};
using Entries = std::map<std::string, Entry>;

struct Kubeconfig {
  Entries clusters;
  Entries users;
  Entries contexts;
  std::string current;
};

Result<void> read_entries(const JsonReader& reader, std::string_view list, std::string_view field,
                          const std::string& file, Entries& entries) {
  reader.each(list, [&](const json::value& value, const std::string& path) {
    const JsonReader entry(&value, path, reader.status());
    const std::string name = entry.required_string("name");
    const json::value* body = entry.find(field);
    // The first one counts, as with kubectl.
    if (body != nullptr) entries.try_emplace(name, Entry{*body, file});
  });
  return {};
}

Result<void> add_file(const std::string& file, Kubeconfig& config) {
  ASSIGN_OR_RETURN(const std::string text, read_file(file));
  auto documents = parse_documents(text);
  if (!documents) return within(file, documents.error());
  if (documents->empty()) return {};
  DecodeStatus status;
  const JsonReader reader(&documents->front().value, "", status);
  if (const std::string kind = reader.string("kind", "Config"); kind != "Config") {
    return fail(fmt::format("{}: kind is \"{}\", but a kubeconfig has Config", file, kind));
  }
  RETURN_IF_ERROR(read_entries(reader, "clusters", "cluster", file, config.clusters));
  RETURN_IF_ERROR(read_entries(reader, "users", "user", file, config.users));
  RETURN_IF_ERROR(read_entries(reader, "contexts", "context", file, config.contexts));
  if (config.current.empty()) config.current = reader.string("current-context");
  if (status.error()) return within(file, *status.error());
  return {};
}

Result<const Entry*> find_entry(const Entries& entries, std::string_view what,
                                const std::string& name) {
  const auto found = entries.find(name);
  if (found != entries.end()) return &found->second;
  std::vector<std::string_view> names;
  for (const auto& [known, entry] : entries) names.push_back(known);
  return fail(fmt::format("there is no {} \"{}\"{}; there are: {}", what, name,
                          suggestion(name, names),
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

// "X-data" holds it in base64, "X" names a file, which is relative to the kubeconfig's folder.
Result<std::string> inline_or_file(const JsonReader& reader, const std::string& field,
                                   const std::string& file) {
  if (const std::string encoded = reader.string(field + "-data"); !encoded.empty()) {
    auto decoded = from_base64(encoded);
    if (!decoded) return within(reader.path_of(field + "-data"), decoded.error());
    return decoded;
  }
  const std::string path = reader.string(field);
  if (path.empty()) return std::string();
  auto text = read_file((std::filesystem::path(file).parent_path() / path).string());
  if (!text) return within(reader.path_of(field), text.error());
  return text;
}

Result<void> read_cluster(const Entry& entry, ClusterAccess& access) {
  DecodeStatus status;
  const JsonReader cluster(&entry.body, "cluster", status);
  access.server = cluster.required_string("server");
  while (access.server.ends_with('/')) access.server.pop_back();
  ASSIGN_OR_RETURN(access.authority, inline_or_file(cluster, "certificate-authority", entry.file));
  access.insecure = cluster.boolean("insecure-skip-tls-verify", false);
  access.server_name = cluster.string("tls-server-name");
  access.proxy = cluster.string("proxy-url");
  if (status.error()) return std::unexpected(*status.error());
  if (!access.server.starts_with("https://") && !access.server.starts_with("http://")) {
    return fail(
        fmt::format("cluster.server: \"{}\" must begin with https:// or http://", access.server));
  }
  if (access.insecure && !access.authority.empty()) {
    return fail(
        "cluster: certificate-authority and insecure-skip-tls-verify exclude each other; "
        "remove the latter");
  }
  return {};
}

Result<ExecPlugin> read_exec(const JsonReader& exec) {
  ExecPlugin plugin;
  plugin.api_version = exec.required_string("apiVersion");
  plugin.command = exec.required_string("command");
  plugin.arguments = exec.strings("args");
  plugin.install_hint = exec.string("installHint");
  plugin.provide_cluster_info = exec.boolean("provideClusterInfo", false);
  exec.each("env", [&](const json::value& value, const std::string& path) {
    const JsonReader variable(&value, path, exec.status());
    plugin.environment[variable.required_string("name")] = variable.string("value");
  });
  if (exec.status().error()) return std::unexpected(*exec.status().error());
  constexpr std::array<std::string_view, 2> kVersions{"client.authentication.k8s.io/v1",
                                                      "client.authentication.k8s.io/v1beta1"};
  if (std::ranges::find(kVersions, plugin.api_version) == kVersions.end()) {
    return fail(fmt::format("{}: \"{}\" is not supported; use {}", exec.path_of("apiVersion"),
                            plugin.api_version, kVersions.front()));
  }
  return plugin;
}

Result<void> read_user(const Entry& entry, ClusterAccess& access) {
  DecodeStatus status;
  const JsonReader user(&entry.body, "user", status);
  if (user.has("auth-provider")) {
    return fail("user.auth-provider: is no longer supported by Kubernetes; use an exec plugin");
  }
  ASSIGN_OR_RETURN(access.certificate, inline_or_file(user, "client-certificate", entry.file));
  ASSIGN_OR_RETURN(access.key, inline_or_file(user, "client-key", entry.file));
  if (access.certificate.empty() != access.key.empty()) {
    return fail("user: client-certificate and client-key belong together; one of them is missing");
  }
  access.token = user.string("token");
  if (const std::string path = user.string("tokenFile"); !path.empty()) {
    access.token_file = (std::filesystem::path(entry.file).parent_path() / path).string();
  }
  access.username = user.string("username");
  access.password = user.string("password");
  access.impersonate = user.string("as");
  if (const JsonReader exec = user.object("exec"); exec.present()) {
    ASSIGN_OR_RETURN(access.exec, read_exec(exec));
  }
  if (status.error()) return std::unexpected(*status.error());
  return {};
}

std::string variable(const Surroundings& surroundings, const std::string& name) {
  const auto found = surroundings.environment.find(name);
  return found == surroundings.environment.end() ? "" : found->second;
}

// Files that $KUBECONFIG lists and that are not there are left out, as with kubectl.
std::vector<std::string> listed_files(const std::string& list) {
  std::vector<std::string> files;
  size_t begin = 0;
  while (begin <= list.size()) {
    const size_t colon = std::min(list.find(':', begin), list.size());
    const std::string file = list.substr(begin, colon - begin);
    if (!file.empty() && std::filesystem::exists(file)) files.push_back(file);
    begin = colon + 1;
  }
  return files;
}

Result<ClusterAccess> of_service_account(const Surroundings& surroundings) {
  const std::string host = variable(surroundings, "KUBERNETES_SERVICE_HOST");
  const std::string port = variable(surroundings, "KUBERNETES_SERVICE_PORT");
  const std::string& folder = surroundings.service_account_folder;
  ClusterAccess access;
  access.server =
      fmt::format("https://{}:{}", host.find(':') == std::string::npos ? host : "[" + host + "]",
                  port.empty() ? "443" : port);
  ASSIGN_OR_RETURN(access.authority, read_file(folder + "/ca.crt"));
  access.token_file = folder + "/token";
  if (auto own = read_file(folder + "/namespace")) access.namespace_ = *own;
  access.origin = "the service account of this pod";
  return access;
}

}  // namespace

Surroundings Surroundings::of_process() {
  Surroundings surroundings;
  for (const char* name :
       {"KUBECONFIG", "HOME", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}) {
    if (const char* value = std::getenv(name)) surroundings.environment[name] = value;
  }
  return surroundings;
}

Result<ClusterAccess> read_kubeconfig(const std::vector<std::string>& files,
                                      const std::string& context) {
  Kubeconfig config;
  for (const std::string& file : files) RETURN_IF_ERROR(add_file(file, config));
  const std::string names = fmt::format("{}", fmt::join(files, ", "));
  const std::string name = context.empty() ? config.current : context;
  if (name.empty()) {
    return fail(
        fmt::format("{}: has no current-context; set one (kubectl config use-context), or "
                    "name one with --context",
                    names));
  }
  auto found = find_entry(config.contexts, "context", name);
  if (!found) return within(names, found.error());
  DecodeStatus status;
  const JsonReader chosen(&(*found)->body, "context", status);
  const std::string cluster_name = chosen.required_string("cluster");
  const std::string user_name = chosen.string("user");
  ClusterAccess access;
  access.namespace_ = chosen.string("namespace", "default");
  if (status.error()) return within((*found)->file, *status.error());
  auto cluster = find_entry(config.clusters, "cluster", cluster_name);
  if (!cluster) return within(names, cluster.error());
  if (auto read = read_cluster(**cluster, access); !read) {
    return within(fmt::format("{}: cluster {}", (*cluster)->file, cluster_name), read.error());
  }
  if (!user_name.empty()) {
    auto user = find_entry(config.users, "user", user_name);
    if (!user) return within(names, user.error());
    if (auto read = read_user(**user, access); !read) {
      return within(fmt::format("{}: user {}", (*user)->file, user_name), read.error());
    }
  }
  access.origin = fmt::format("kubeconfig {}, context {}", names, name);
  return access;
}

Result<ClusterAccess> find_access(const AccessOptions& options, const Surroundings& surroundings) {
  if (!options.kubeconfig.empty()) return read_kubeconfig({options.kubeconfig}, options.context);
  if (const auto files = listed_files(variable(surroundings, "KUBECONFIG")); !files.empty()) {
    return read_kubeconfig(files, options.context);
  }
  const bool in_pod = !variable(surroundings, "KUBERNETES_SERVICE_HOST").empty();
  const std::string usual = variable(surroundings, "HOME") + "/.kube/config";
  if (!in_pod && std::filesystem::exists(usual)) {
    return read_kubeconfig({usual}, options.context);
  }
  if (in_pod) return of_service_account(surroundings);
  return fail("there is no kubeconfig: name one with --kubeconfig, or set KUBECONFIG");
}

}  // namespace phalanx::kube

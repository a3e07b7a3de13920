#include "cli/kubernetes_backend.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "api/object_meta.h"
#include "base/check.h"
#include "base/file.h"
#include "base/wall_clock.h"
#include "cli/live_account.h"
#include "core/account_report.h"
#include "manager/settings.h"
#include "sim/document.h"
#include "sim/manifest.h"
#include "sim/node_lifecycle.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace phalanx::cli {
namespace {

using Clock = std::chrono::steady_clock;
using sim::ApiResult;
using sim::Stored;

// Longer than the slowest of the real controllers takes: the pods of a node that was deleted are
// collected 40 to 80 s later.
constexpr auto kPatience = std::chrono::seconds(120);
// Some are not meant to become ready.
constexpr auto kPatienceWithNodes = std::chrono::seconds(15);
constexpr auto kPause = std::chrono::milliseconds(100);
// Nothing happened for this long: nothing more will.
constexpr auto kQuiet = std::chrono::milliseconds(500);

// What a script makes and looks at; those that others depend on come last.
constexpr std::array kScripted{api::Kind::kJob,
                               api::Kind::kWorkload,
                               api::Kind::kPod,
                               api::Kind::kProvisioningRequest,
                               api::Kind::kPodTemplate,
                               api::Kind::kLimitRange,
                               api::Kind::kLocalQueue,
                               api::Kind::kClusterQueue,
                               api::Kind::kCohort,
                               api::Kind::kAdmissionCheck,
                               api::Kind::kProvisioningRequestConfig,
                               api::Kind::kResourceFlavor,
                               api::Kind::kTopology,
                               api::Kind::kWorkloadPriorityClass,
                               api::Kind::kPriorityClass,
                               api::Kind::kRuntimeClass,
                               api::Kind::kNode,
                               api::Kind::kEvent};

sim::ApiError error_of(const kube::Refusal& refusal) {
  return {refusal.code, refusal.reason, refusal.message};
}

Stored stored(json::value document) {
  return std::make_shared<const json::value>(std::move(document));
}

// A port that nobody uses, and that nobody takes before a manager listens there: it is below those
// of outgoing connections and of the control planes, and each process that runs scenarios has a
// part of its own, counted from `first`.
uint16_t free_port(int first) {
  constexpr int kBegin = 10'000;
  constexpr int kParts = 100;
  constexpr int kPart = 100;
  const int begin = kBegin + ::getpid() % kParts * kPart;
  for (int i = first;; ++i) {
    CHECK(i < first + kPart);
    const auto port = static_cast<uint16_t>(begin + i % kPart);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(socket >= 0);
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(port);
    const bool is_free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    if (is_free) return port;
  }
}

// This program, with other arguments; its output goes to the end of a file.
Result<pid_t> spawn_self(std::vector<std::string> words, const std::string& output) {
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failed =
      ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return fail(fmt::format("phalanx cannot be started: {}", strerror(failed)));
  return child;
}

std::string_view propagation_name(sim::Propagation propagation) {
  switch (propagation) {
    case sim::Propagation::kBackground:
      return "Background";
    case sim::Propagation::kForeground:
      return "Foreground";
    case sim::Propagation::kOrphan:
      return "Orphan";
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<KubernetesBackend>> KubernetesBackend::start(
    KubernetesBackendOptions options) {
  ASSIGN_OR_RETURN(kube::ClusterAccess access, kube::find_access(options.access));
  std::error_code failed;
  std::filesystem::create_directories(options.folder, failed);
  if (failed) return fail(fmt::format("{}: {}", options.folder, failed.message()));
  std::unique_ptr<KubernetesBackend> backend(
      new KubernetesBackend(std::move(options), std::move(access)));
  ASSIGN_OR_RETURN(const manager::Settings settings,
                   manager::read_settings(backend->options_.configuration, "config",
                                          {.feature_gates = backend->options_.feature_gates}));
  backend->configuration_ = settings.core;
  RETURN_IF_ERROR(backend->empty_cluster());
  RETURN_IF_ERROR(backend->install());
  RETURN_IF_ERROR(backend->start_manager());
  RETURN_IF_ERROR(backend->appoint_observer());
  return backend;
}

KubernetesBackend::KubernetesBackend(KubernetesBackendOptions options, kube::ClusterAccess access)
    : options_(std::move(options)),
      client_(std::move(access)),
      webhook_port_(free_port(0)),
      health_port_(free_port(webhook_port_ + 1)),
      metrics_port_(free_port(health_port_ + 1)) {}

KubernetesBackend::~KubernetesBackend() {
  end_manager(SIGTERM);
}

// Finalizers of a manager that is no more are taken away, and with them nobody asks webhooks that
// nobody serves.
Result<void> KubernetesBackend::empty_cluster() {
  for (const std::string_view kind :
       {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}) {
    [[maybe_unused]] const auto removed =
        client_.remove(fmt::format("/apis/admissionregistration.k8s.io/v1/{}/phalanx", kind));
  }
  const auto deadline = Clock::now() + kPatience * 2;
  for (const api::Kind kind : kScripted) {
    while (true) {
      auto documents = client_.list(kind);
      if (!documents) break;  // its CRD is not there yet
      std::erase_if(*documents, [&](const json::value& document) {
        const std::string_view name = string_at(document, {"metadata", "name"});
        return kind == api::Kind::kPriorityClass && name.starts_with("system-");
      });
      if (documents->empty()) break;
      for (const json::value& document : *documents) {
        const std::string path = kube::object_path(sim::key_of(kind, document));
        [[maybe_unused]] const auto freed =
            client_.patch(path, json::object{{"metadata", json::object{{"finalizers", nullptr}}}});
        auto request = kube::delete_request(path);
        request.body = R"({"gracePeriodSeconds":0,"propagationPolicy":"Background"})";
        [[maybe_unused]] const auto removed = client_.send(std::move(request));
      }
      if (Clock::now() > deadline) {
        return fail(fmt::format("{} objects of kind {} cannot be deleted", documents->size(),
                                api::info(kind).name));
      }
    }
  }
  return {};
}

Result<void> KubernetesBackend::install() {
  ASSIGN_OR_RETURN(
      const pid_t child,
      spawn_self({"phalanx", "install", "--apply", "--kubeconfig", options_.access.kubeconfig,
                  "--webhook-url", fmt::format("https://127.0.0.1:{}", webhook_port_),
                  "--webhook-cert-dir", options_.folder + "/certificates"},
                 options_.folder + "/install.log"));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(fmt::format("phalanx install failed; see {}/install.log", options_.folder));
  }
  return {};
}

Result<void> KubernetesBackend::appoint_observer() {
  const std::string name = "phalanx-scenario-observer";
  const std::string rights = "rbac.authorization.k8s.io";
  const json::object metadata{{"name", name}};
  const json::array documents{
      json::object{{"apiVersion", "v1"},
                   {"kind", "ServiceAccount"},
                   {"metadata", json::object{{"name", name}, {"namespace", "default"}}}},
      json::object{
          {"apiVersion", rights + "/v1"},
          {"kind", "ClusterRole"},
          {"metadata", metadata},
          {"rules", json::array{json::object{{"nonResourceURLs", json::array{"/debug/account"}},
                                             {"verbs", json::array{"get"}}}}}},
      json::object{
          {"apiVersion", rights + "/v1"},
          {"kind", "ClusterRoleBinding"},
          {"metadata", metadata},
          {"roleRef", json::object{{"apiGroup", rights}, {"kind", "ClusterRole"}, {"name", name}}},
          {"subjects",
           json::array{json::object{
               {"kind", "ServiceAccount"}, {"name", name}, {"namespace", "default"}}}}}};
  for (const json::value& document : documents) {
    if (auto applied = client_.apply(document); !applied) return std::unexpected(applied.error());
  }
  const auto token = client_.create(
      fmt::format("/api/v1/namespaces/default/serviceaccounts/{}/token", name),
      json::object{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}});
  if (!token) return fail(fmt::format("a token of {}: {}", name, token.error().message));
  observer_.server = fmt::format("https://127.0.0.1:{}", metrics_port_);
  observer_.token = string_at(*token, {"status", "token"});
  ASSIGN_OR_RETURN(observer_.authority, read_file(options_.folder + "/certificates/ca.crt"));
  return {};
}

Result<void> KubernetesBackend::start_manager() {
  std::vector<std::string> words{"phalanx",
                                 "manager",
                                 "--kubeconfig",
                                 options_.manager_kubeconfig.empty() ? options_.access.kubeconfig
                                                                     : options_.manager_kubeconfig,
                                 "--webhook-port",
                                 std::to_string(webhook_port_),
                                 "--webhook-cert-dir",
                                 options_.folder + "/certificates",
                                 "--health-address",
                                 fmt::format("127.0.0.1:{}", health_port_),
                                 "--metrics-address",
                                 fmt::format("127.0.0.1:{}", metrics_port_),
                                 "--journal",
                                 options_.folder + "/journal"};
  if (!options_.configuration.empty()) {
    const std::string file = options_.folder + "/config.yaml";
    RETURN_IF_ERROR(write_file(file, options_.configuration));
    words.insert(words.end(), {"--config", file});
  }
  if (!options_.feature_gates.empty()) {
    words.insert(words.end(), {"--feature-gates", options_.feature_gates});
  }
  ASSIGN_OR_RETURN(manager_, spawn_self(words, options_.folder + "/manager.log"));
  kube::CurlTransport plain({.server = fmt::format("http://127.0.0.1:{}", health_port_)});
  const auto deadline = Clock::now() + kPatience;
  while (true) {
    kube::HttpRequest request;
    request.target = "/readyz";
    if (plain.ask(std::move(request)).ok()) return {};
    if (Clock::now() > deadline || ::kill(manager_, 0) != 0) {
      return fail(fmt::format("phalanx manager does not become ready; see {}/manager.log",
                              options_.folder));
    }
    std::this_thread::sleep_for(kPause);
  }
}

void KubernetesBackend::end_manager(int signal) {
  if (manager_ <= 0) return;
  ::kill(manager_, signal);
  ::waitpid(manager_, nullptr, 0);
  manager_ = -1;
}

void KubernetesBackend::restart_core() {
  end_manager(SIGKILL);
  // Nobody holds its lease for it.
  [[maybe_unused]] const auto removed = client_.remove(
      "/apis/coordination.k8s.io/v1/namespaces/phalanx-system/leases/phalanx-manager");
  const auto started = start_manager();
  CHECK(started.has_value());
}

Result<void> KubernetesBackend::ensure_namespace(const std::string& name) {
  const json::object document{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", name}}}};
  const auto created = client_.create("/api/v1/namespaces", document);
  if (created || created.error().reason == "AlreadyExists") return {};
  return fail(created.error().message);
}

// In the embedded cluster nodes are ready as soon as they are there. Here a Job that is applied
// with them must not be quicker than their kubelets, or it goes where the first ones are.
void KubernetesBackend::await_nodes() const {
  const auto deadline = Clock::now() + kPatienceWithNodes;
  const auto is_ready = [](const Stored& node) {
    if (!string_at(*node, {"metadata", "annotations", sim::kKubeletAnnotation}).empty())
      return true;
    const json::array* taints = array_at(*node, {"spec", "taints"});
    const bool new_to_the_cluster =
        taints != nullptr && std::ranges::any_of(*taints, [](const json::value& taint) {
          return string_at(taint, {"key"}) == "node.kubernetes.io/not-ready";
        });
    return sim::condition_is_true(*node, "Ready") && !new_to_the_cluster;
  };
  while (Clock::now() < deadline && !std::ranges::all_of(list(api::Kind::kNode), is_ready)) {
    std::this_thread::sleep_for(kPause);
  }
}

ApiResult<Stored> KubernetesBackend::apply(const json::value& written) {
  json::value document = written;
  sim::drop_generated_fields(document);
  sim::complete_conditions(document, now());
  const auto kind =
      api::find_kind(string_at(document, {"apiVersion"}), string_at(document, {"kind"}));
  if (kind && *kind == api::Kind::kNode) {
    ensure_object(document, {"metadata", "annotations"})["kwok.x-k8s.io/node"] = "fake";
    nodes_changed_ = true;
  }
  if (kind && *kind == api::Kind::kJob && std::exchange(nodes_changed_, false)) await_nodes();
  const auto collection = client_.collection_of(document);
  if (!collection) return sim::bad_request(collection.error().message);
  const std::string space(string_at(document, {"metadata", "namespace"}));
  if (!space.empty()) {
    if (const auto made = ensure_namespace(space); !made) {
      return sim::bad_request(made.error().message);
    }
  }
  const json::value* part = find_at(document, {"status"});
  std::optional<json::value> status;
  if (part != nullptr && kind && api::info(*kind).has_status) status = *part;
  auto answer = client_.create(*collection, document, true);
  if (!answer && answer.error().reason == "AlreadyExists") {
    erase_at(document, {"status"});
    const auto path = client_.path_of(document);
    CHECK(path.has_value());
    answer = client_.patch(*path, document, {.strict_fields = true});
  }
  if (answer && status) {
    answer =
        client_.patch(*collection + "/" + std::string(string_at(*answer, {"metadata", "name"})),
                      json::object{{"status", *status}}, {.subresource = "status"});
  }
  if (!answer) return std::unexpected(error_of(answer.error()));
  return stored(std::move(*answer));
}

ApiResult<Stored> KubernetesBackend::patch(const api::ObjectKey& key,
                                           const json::value& merge_patch, bool status) {
  auto answer = client_.patch(kube::object_path(key), merge_patch,
                              {.subresource = status ? "status" : "", .strict_fields = true});
  if (!answer) return std::unexpected(error_of(answer.error()));
  return stored(std::move(*answer));
}

ApiResult<void> KubernetesBackend::remove(const api::ObjectKey& key, sim::Propagation propagation) {
  const auto answer =
      client_.remove(kube::object_path(key), {.propagation = propagation_name(propagation)});
  if (!answer) return std::unexpected(error_of(answer.error()));
  return {};
}

ApiResult<void> KubernetesBackend::bind(const api::ObjectKey& pod, const std::string& node) {
  const auto answer = client_.send(kube::bind_request(pod, "", node));
  if (!answer) return std::unexpected(error_of(answer.error()));
  return {};
}

std::vector<Stored> KubernetesBackend::list(api::Kind kind) const {
  std::vector<Stored> result;
  auto documents = client_.list(kind);
  if (!documents) return result;
  for (json::value& document : *documents) result.push_back(stored(std::move(document)));
  std::ranges::sort(result, {},
                    [&](const Stored& document) { return sim::key_of(kind, *document); });
  return result;
}

Time KubernetesBackend::now() const {
  return wall_now();
}

uint64_t KubernetesBackend::newest_version() const {
  uint64_t newest = 0;
  for (const api::Kind kind : kScripted) {
    const std::vector<Stored> documents = list(kind);
    newest += documents.size();  // a deletion changes no version of what is left
    for (const Stored& document : documents) {
      const auto version =
          api::parse_resource_version(string_at(*document, {"metadata", "resourceVersion"}));
      newest += version.value_or(0);
    }
  }
  return newest;
}

Result<void> KubernetesBackend::settle() {
  const auto deadline = Clock::now() + kPatience;
  uint64_t last = newest_version();
  auto since = Clock::now();
  while (Clock::now() - since < kQuiet) {
    std::this_thread::sleep_for(kPause);
    const uint64_t current = newest_version();
    if (current != last) since = Clock::now();
    last = current;
    if (Clock::now() > deadline) return fail("the cluster does not come to rest");
  }
  return {};
}

Result<void> KubernetesBackend::pass(Duration duration) {
  std::this_thread::sleep_for(duration);
  return settle();
}

Result<void> KubernetesBackend::eventually(const std::function<Result<void>()>& check) {
  const auto deadline = Clock::now() + kPatience;
  while (true) {
    auto outcome = check();
    if (outcome || Clock::now() > deadline) return outcome;
    std::this_thread::sleep_for(kPause);
  }
}

const std::vector<std::string>& KubernetesBackend::journal() const {
  journal_.clear();
  const auto text = read_file(options_.folder + "/journal");
  if (!text) return journal_;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;  // being written
    journal_.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return journal_;
}

Result<void> KubernetesBackend::check_account() {
  return eventually([&]() -> Result<void> {
    ASSIGN_OR_RETURN(const json::object rebuilt, rebuild_live_account(client_, configuration_));
    ASSIGN_OR_RETURN(const json::object kept, fetch_account(observer_));
    return core::compare_accounts(kept, rebuilt);
  });
}

}  // namespace phalanx::cli

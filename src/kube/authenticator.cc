#include "kube/authenticator.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/base64.h"
#include "base/file.h"
#include "base/json.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace phalanx::kube {
namespace {

constexpr auto kTokenFileAge = std::chrono::minutes(1);
constexpr auto kBeforeExpiry = std::chrono::seconds(60);
constexpr auto kPluginTimeout = std::chrono::seconds(60);
// After a failure nobody asks again before this.
constexpr auto kFailurePause = std::chrono::seconds(2);

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

// Everything that a child wrote until it closed its end; nullopt if it takes too long.
std::optional<std::string> read_all(int file, Instant deadline) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto left = std::chrono::duration_cast<Duration>(deadline - MonotonicClock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd waiting{file, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t size = read(file, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(size));
    if (text.size() > 1'000'000) return text;  // no credential is that long
  }
}

json::object exec_info(const ExecPlugin& plugin, const ClusterAccess& access) {
  json::object spec{{"interactive", false}};
  if (plugin.provide_cluster_info) {
    json::object cluster{{"server", access.server}};
    if (!access.authority.empty()) {
      cluster["certificate-authority-data"] = to_base64(access.authority);
    }
    spec["cluster"] = std::move(cluster);
  }
  return {{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", spec}};
}

std::vector<std::string> environment_of(const ExecPlugin& plugin, const ClusterAccess& access) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : plugin.environment) variables[name] = value;
  variables["KUBERNETES_EXEC_INFO"] = json::serialize(exec_info(plugin, access));
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<Credentials> read_exec_credential(const std::string& text, const ExecPlugin& plugin) {
  const std::string what = "exec plugin " + plugin.command;
  auto document = parse_json(text);
  if (!document) return within(what, document.error());
  DecodeStatus status;
  const JsonReader reader(&*document, "", status);
  const JsonReader given = reader.object("status");
  Credentials credentials;
  if (const std::string token = given.string("token"); !token.empty()) {
    credentials.authorization = "Bearer " + token;
  }
  credentials.certificate = given.string("clientCertificateData");
  credentials.key = given.string("clientKeyData");
  const std::string expires = given.string("expirationTimestamp");
  if (reader.string("apiVersion") != plugin.api_version) {
    reader.report("apiVersion", fmt::format("must be {}", plugin.api_version));
  }
  if (status.error()) return within(what, *status.error());
  if (!expires.empty()) {
    auto time = parse_time(expires);
    if (!time) return within(what + ": status.expirationTimestamp", time.error());
    credentials.expires = *time;
  }
  if (credentials.authorization.empty() &&
      (credentials.certificate.empty() || credentials.key.empty())) {
    return fail(what + ": gave neither a token nor a certificate with its key");
  }
  return credentials;
}

Result<Credentials> run_exec_plugin(const ExecPlugin& plugin, const ClusterAccess& access) {
  const std::string what = "exec plugin " + plugin.command;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(what + ": " + std::strerror(errno));
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<std::string> words{plugin.command};
  words.insert(words.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::string> environment = environment_of(plugin, access);
  pid_t child = 0;
  const int spawned = posix_spawnp(&child, plugin.command.c_str(), &actions, nullptr,
                                   pointers_to(words).data(), pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (spawned != 0) {
    close(ends[0]);
    return fail(fmt::format("{}: {}{}{}", what, std::strerror(spawned),
                            plugin.install_hint.empty() ? "; is it installed?" : "; ",
                            plugin.install_hint));
  }
  const auto output = read_all(ends[0], MonotonicClock::now() + kPluginTimeout);
  close(ends[0]);
  if (!output) kill(child, SIGKILL);
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (!output) return fail(what + ": did not end within a minute");
  if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
    return fail(fmt::format("{}: failed ({} {}); see what it wrote to standard error", what,
                            WIFEXITED(ended) ? "exit code" : "signal",
                            WIFEXITED(ended) ? WEXITSTATUS(ended) : WTERMSIG(ended)));
  }
  return read_exec_credential(*output, plugin);
}

Authenticator::Authenticator(ClusterAccess access, Post post)
    : access_(std::move(access)), post_(std::move(post)) {}

Authenticator::~Authenticator() = default;

bool Authenticator::current(Time wall_now, Instant now) const {
  if (!latest_) return false;
  if (!*latest_) return now < read_at_ + kFailurePause;
  if ((*latest_)->expires) return wall_now + kBeforeExpiry < *(*latest_)->expires;
  return access_.token_file.empty() || now < read_at_ + kTokenFileAge;
}

// Until they run out, whatever becomes of the next ones.
bool Authenticator::valid(Time wall_now) const {
  return latest_ && *latest_ && (*latest_)->expires && wall_now < *(*latest_)->expires;
}

void Authenticator::credentials(Time wall_now, Instant now, Ready ready) {
  if (current(wall_now, now)) return ready(*latest_);
  if (valid(wall_now)) {
    if (now >= read_at_ + kFailurePause) fetch(now);
    return ready(*latest_);
  }
  if (latest_ && *latest_ && (*latest_)->expires) latest_.reset();  // an error may take its place
  waiting_.push_back(std::move(ready));
  fetch(now);
}

void Authenticator::rejected() {
  // What never changes is as good as it was.
  if (access_.exec || !access_.token_file.empty()) latest_.reset();
}

void Authenticator::fetch(Instant now) {
  if (std::exchange(fetching_, true)) return;
  read_at_ = now;
  if (access_.exec) {
    // It may take seconds, and this thread has leases to renew.
    runner_ = std::jthread([this] {
      auto result = std::make_shared<Result<Credentials>>(run_exec_plugin(*access_.exec, access_));
      post_([this, result] { fetched(std::move(*result)); });
    });
    return;
  }
  Credentials credentials{"", access_.certificate, access_.key, std::nullopt};
  if (!access_.token_file.empty()) {
    auto token = read_file(access_.token_file);
    if (!token) return fetched(std::unexpected(token.error()));
    credentials.authorization = "Bearer " + trimmed(std::move(*token));
  } else if (!access_.token.empty()) {
    credentials.authorization = "Bearer " + access_.token;
  } else if (!access_.username.empty()) {
    credentials.authorization = "Basic " + to_base64(access_.username + ":" + access_.password);
  }
  fetched(std::move(credentials));
}

void Authenticator::fetched(Result<Credentials> result) {
  fetching_ = false;
  const bool keeps = !result && latest_ && *latest_;
  if (!keeps) latest_ = std::move(result);
  for (const Ready& ready : std::exchange(waiting_, {})) ready(*latest_);
}

}  // namespace phalanx::kube

// phalanx bench webhooks: a running manager under reviews and garbage, at a fixed rate for a fixed
// time, with every answer compared with what it must be.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/stop_signals.h"
#include "cli/webhook_samples.h"
#include "serve/listen_address.h"

namespace phalanx::cli {
namespace {

// At a time: each holds a connection of the server's until that loses its patience.
constexpr int kMostDripping = 32;
constexpr size_t kMostShown = 10;  // wrong answers

// What the kernel says of the manager.
struct ProcessFigures {
  int64_t peak_bytes = 0;
  double cpu_seconds = 0;
};

std::optional<ProcessFigures> figures_of(int pid) {
  if (pid <= 0) return std::nullopt;
  ProcessFigures figures;
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> figures.peak_bytes;
  }
  figures.peak_bytes *= 1024;
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(stat, line);
  const size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return std::nullopt;
  // utime and stime are the 14th and 15th field; the name is the second.
  std::istringstream rest(line.substr(end_of_name + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) rest >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  rest >> user >> system;
  figures.cpu_seconds =
      static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return figures;
}

struct SortFigures {
  uint64_t sent = 0;
  uint64_t as_expected = 0;
};

// What was sent and what came back.
class WebhookTally {
 public:
  // Of everything that was sent, also if there was no answer.
  void answered(const WebhookSample& sample, bool good, const serve::LoadAnswer& answer) {
    ++sorts_[std::string(sample.sort)].sent;
    answered_ += answer.status != 0;
    if (good) latencies_.push_back(answer.latency);
    allowed_ += good && answer.body.contains(R"("allowed":true)");
    refused_ += good && answer.body.contains(R"("allowed":false)");
    const ExpectedAnswer& expected = sample.expected;
    const bool none = answer.status == 0;
    const bool right =
        none ? expected.status == 0 || expected.or_none
             : (answer.status == expected.status && answer.body.contains(expected.contains)) ||
                   (answer.status == 503 && expected.or_busy);
    if (right) {
      ++sorts_[std::string(sample.sort)].as_expected;
      return;
    }
    ++wrong_;
    if (shown_.size() >= kMostShown) return;
    shown_.push_back(fmt::format("{}: expected {} {}, got {} {}", sample.sort, expected.status,
                                 expected.contains, answer.status, answer.body.substr(0, 200)));
  }

  [[nodiscard]] uint64_t wrong() const { return wrong_; }
  [[nodiscard]] const std::vector<std::string>& shown() const { return shown_; }

  [[nodiscard]] json::object report(const WebhookSamples& samples) {
    std::ranges::sort(latencies_);
    json::object garbage;
    uint64_t rejected = 0;
    for (const WebhookSample& sample : samples.garbage) {
      const SortFigures& figures = sorts_[std::string(sample.sort)];
      garbage[sample.sort] =
          json::object{{"sent", figures.sent}, {"as_expected", figures.as_expected}};
    }
    for (const auto& [sort, figures] : sorts_) {
      if (garbage.contains(sort)) rejected += figures.as_expected;
    }
    return {{"answered", answered_},        {"allowed", allowed_},
            {"refused", refused_},          {"garbage_as_expected", rejected},
            {"wrong_answers", wrong_},      {"p50_ms", milliseconds(50)},
            {"p99_ms", milliseconds(99)},   {"max_ms", milliseconds(100)},
            {"garbage", std::move(garbage)}};
  }

 private:
  [[nodiscard]] double milliseconds(size_t percent) const {
    return static_cast<double>(percentile(latencies_, percent).count()) / 1000;
  }

  std::map<std::string, SortFigures> sorts_;
  std::vector<std::chrono::microseconds> latencies_;  // of what is well-formed
  std::vector<std::string> shown_;
  uint64_t answered_ = 0;
  uint64_t allowed_ = 0;
  uint64_t refused_ = 0;
  uint64_t wrong_ = 0;
};

// Which request comes when.
class Schedule {
 public:
  Schedule(const WebhookSamples& samples, int garbage_percent, uint64_t seed)
      : samples_(samples), garbage_percent_(garbage_percent), random_(seed) {}

  const WebhookSample& next(uint64_t index) {
    const bool garbage = random_.below(100) < static_cast<uint64_t>(garbage_percent_);
    const auto& from = garbage ? samples_.garbage : samples_.good;
    const WebhookSample* sample = &from[random_.below(from.size())];
    if (sample->wire == serve::Wire::kDripping && dripping_ >= kMostDripping) {
      sample = &samples_.garbage.front();
    }
    dripping_ += sample->wire == serve::Wire::kDripping;
    under_way_.emplace(index, std::pair(sample, garbage));
    return *sample;
  }
  std::pair<const WebhookSample*, bool> take(uint64_t index) {
    const auto found = under_way_.extract(index).mapped();
    dripping_ -= found.first->wire == serve::Wire::kDripping;
    return found;
  }

 private:
  const WebhookSamples& samples_;
  int garbage_percent_;
  Random random_;
  std::map<uint64_t, std::pair<const WebhookSample*, bool>> under_way_;
  int dripping_ = 0;
};

Result<serve::LoadOptions> options_of(const BenchWebhooksArguments& arguments) {
  constexpr std::string_view kScheme = "https://";
  std::string_view rest = arguments.url;
  const bool is_https = rest.starts_with(kScheme);
  if (is_https) rest.remove_prefix(kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const auto address = serve::parse_listen_address(rest, 0);
  if (!is_https || !address || address->host.empty() || address->port == 0) {
    return fail(
        fmt::format("--url: \"{}\" is none; write it like https://127.0.0.1:9443", arguments.url));
  }
  serve::LoadOptions options;
  options.host = address->host;
  options.port = address->port;
  options.server_name = arguments.server_name.empty() ? options.host : arguments.server_name;
  options.connections = static_cast<size_t>(arguments.connections);
  auto certificates = read_file(arguments.ca);
  if (!certificates) return within("--ca", certificates.error());
  options.certificates = std::move(*certificates);
  return options;
}

void print_text(const json::object& report) {
  for (const auto& field : report) {
    const json::value& value = field.value();
    if (!value.is_object()) {
      std::cout << fmt::format(
          "{:<28}{}\n", std::string_view(field.key()),
          value.is_double() ? fmt::format("{:.3f}", value.get_double()) : json::serialize(value));
      continue;
    }
    std::cout << std::string_view(field.key()) << "\n";
    for (const auto& part : value.as_object()) {
      std::cout << fmt::format("  {:<34}{} of {} as expected\n", std::string_view(part.key()),
                               part.value().at("as_expected").to_number<uint64_t>(),
                               part.value().at("sent").to_number<uint64_t>());
    }
  }
}

void add_process(const std::optional<ProcessFigures>& before,
                 const std::optional<ProcessFigures>& after, json::object& report) {
  if (!before || !after) return;
  report["manager_peak_bytes_before"] = before->peak_bytes;
  report["manager_peak_bytes"] = after->peak_bytes;
  report["manager_cpu_s"] = after->cpu_seconds - before->cpu_seconds;
}

}  // namespace

int bench_webhooks(const BenchWebhooksArguments& arguments) {
  const bool as_json = arguments.output == "json";
  const auto options = options_of(arguments);
  if (!options) return bad_input("bench webhooks: " + options.error().message, as_json);
  // Whoever writes to a server that has hung up is told by an error, not by the end of the program.
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
    return bad_input("bench webhooks: SIGPIPE cannot be ignored", as_json);
  }
  auto client = serve::LoadClient::make(*options);
  if (!client) return bad_input("bench webhooks: " + client.error().message, as_json);
  const auto count = static_cast<uint64_t>(arguments.rate * arguments.seconds);
  const WebhookSamples samples = make_webhook_samples(options->host, arguments.seed);
  Schedule schedule(samples, arguments.garbage, arguments.seed + 1);
  WebhookTally tally;
  const StopSignals signals;
  const bool shows = isatty(STDERR_FILENO) != 0;
  const auto before = figures_of(arguments.pid);
  const auto begun = BenchClock::now();
  const auto sent = (*client)->run(
      count, arguments.rate,
      [&](uint64_t index) {
        const WebhookSample& sample = schedule.next(index);
        return serve::LoadRequest{sample.text, sample.wire};
      },
      [&](uint64_t index, const serve::LoadAnswer& answer) {
        const auto [sample, garbage] = schedule.take(index);
        tally.answered(*sample, !garbage, answer);
      },
      [&](uint64_t so_far) {
        if (shows) std::cerr << fmt::format("\rphalanx: {} of {}", so_far, count) << std::flush;
        return signals.received() == 0;
      });
  if (shows) std::cerr << "\r\033[K";
  if (!sent) return bad_input("bench webhooks: " + sent.error().message, as_json);
  json::object report{{"requests", *sent},
                      {"wall_s", static_cast<double>(nanoseconds_since(begun)) * 1e-9}};
  for (auto& field : tally.report(samples)) report[field.key()] = std::move(field.value());
  const auto after = figures_of(arguments.pid);
  add_process(before, after, report);
  if (as_json) {
    std::cout << report << "\n";
  } else {
    print_text(report);
  }
  for (const std::string& wrong : tally.shown()) remark("bench webhooks: " + wrong);
  if (arguments.pid > 0 && !after) remark("bench webhooks: the manager is gone");
  return tally.wrong() == 0 && (arguments.pid == 0 || after) ? kDone : kBadInput;
}

}  // namespace phalanx::cli

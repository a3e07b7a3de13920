// phalanx demo: a cluster at work that never ends, on the screen. See docs/reference/demo.md.
//
// The cluster's clock follows the wall clock, --speed times as fast. If the machine cannot keep up,
// the cluster falls behind instead of the view.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>

#include "cli/command.h"
#include "cli/live_terminal.h"
#include "cli/live_view.h"
#include "cli/simulate_report.h"
#include "cli/simulate_run.h"
#include "sim/node_generator.h"
#include "sim/sample_jobs.h"

namespace phalanx::cli {
namespace {

using WallClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFrame(250);
constexpr milliseconds kMostBehind(1000);  // of wall time that one frame makes up for
constexpr milliseconds kWithoutTerminal(30'000);
constexpr size_t kMostShown = 200;  // lines of any part of the view
// People stop to submit when they see that everything waits.
constexpr int64_t kMostWaiting = 24;
constexpr Duration kAnotherLook = std::chrono::minutes(1);
constexpr std::string_view kFlavor = "tas";

struct Arguments {
  RunArguments run;
  std::string lasts;
  double speed = 60;
};

// The cluster with its stream of jobs.
class Demo {
 public:
  Demo(const sim::NodePlan& nodes, sim::EmbeddedOptions options)
      : jobs_(nodes, options.seed), cluster_(std::move(options)) {
    auto history =
        std::make_unique<History>(cluster_, HistoryOptions{kMostShown, /*keep_all=*/false});
    history_ = history.get();
    cluster_.simulation().add("history", std::move(history));
    next_ = jobs_.next();
    next_at_ = cluster_.now() + next_.after;
  }

  Result<void> set_up(const sim::NodePlan& nodes) {
    for (size_t index = 0; index < nodes.count(); ++index) {
      RETURN_IF_ERROR(apply(nodes.node(index)));
    }
    for (json::value& document : jobs_.setup()) RETURN_IF_ERROR(apply(std::move(document)));
    return cluster_.simulation().settle();
  }

  Result<void> advance_to(Time time) {
    while (next_at_ <= time) {
      RETURN_IF_ERROR(cluster_.simulation().run_until(next_at_));
      if (waiting() >= kMostWaiting) {
        next_at_ += kAnotherLook;
        continue;
      }
      RETURN_IF_ERROR(apply(std::move(next_.job)));
      next_ = jobs_.next();
      next_at_ += next_.after;
    }
    return cluster_.simulation().run_until(time);
  }

  [[nodiscard]] Time now() const { return cluster_.now(); }
  [[nodiscard]] const History& history() const { return *history_; }

  LiveView look() {
    return look_at(cluster_, *history_, std::string(kFlavor), resource(), kMostShown);
  }

  std::string summary() {
    history_->close();
    const HistoryTotals& totals = history_->totals();
    const auto gauge = history_->gauges().nodes.find(resource());
    const double used = gauge == history_->gauges().nodes.end() ? 0 : gauge->second.average() * 100;
    std::string text = fmt::format(
        "{} of cluster time: {} job{} submitted, {} admitted, {} finished, {} failed, {} wait. On "
        "average {:.1f}% of {} was in use",
        short_duration(now() - history_->start()), totals.submitted,
        totals.submitted == 1 ? "" : "s", totals.admitted, totals.finished, totals.failed,
        waiting(), used, resource());
    if (totals.admitted > 0) {
      text += fmt::format(", and a job waited {}",
                          short_duration(totals.waited / static_cast<int64_t>(totals.admitted)));
    }
    text += ".\n";
    for (const std::string& fault : history_->faults()) text += "FAULT: " + fault + "\n";
    return text;
  }

 private:
  Result<void> apply(json::value document) {
    const auto stored = cluster_.apply(std::move(document));
    if (!stored) return fail(stored.error().message);
    return {};
  }

  [[nodiscard]] const std::string& resource() const { return jobs_.resource(); }

  [[nodiscard]] int64_t waiting() {
    int64_t count = 0;
    for (const auto& [name, queue] : cluster_.core().state().cluster_queues) {
      count += cluster_.core().scheduler().pending_in_cluster_queue(name);
    }
    return count;
  }

  sim::SampleJobs jobs_;
  sim::EmbeddedCluster cluster_;
  History* history_ = nullptr;  // owned by the simulation
  sim::SampleJobs::Arrival next_;
  Time next_at_;
};

// What happened since the last call, as lines.
class Log {
 public:
  void print(const History& history) {
    const uint64_t fresh =
        std::min<uint64_t>(history.event_count() - printed_, history.events().size());
    if (const uint64_t lost = history.event_count() - printed_ - fresh; lost > 0) {
      std::cout << fmt::format("          ... {} more events\n", lost);
    }
    for (size_t i = history.events().size() - fresh; i < history.events().size(); ++i) {
      std::cout << event_line(history.events()[i], history.start()) << "\n";
    }
    std::cout.flush();
    printed_ = history.event_count();
  }

 private:
  uint64_t printed_ = 0;
};

// Lets the cluster run and shows it until somebody has seen enough.
Result<void> play(Demo& demo, double speed, std::optional<milliseconds> lasts,
                  const StopSignals& signals) {
  LiveTerminal terminal(signals);
  Log log;
  if (!lasts && !terminal.interactive()) lasts = kWithoutTerminal;
  const WallClock::time_point begun = WallClock::now();
  WallClock::time_point last = begun;
  while (true) {
    const WallClock::time_point now = WallClock::now();
    const auto passed = std::min<WallClock::duration>(now - last, kMostBehind);
    last = now;
    const std::chrono::duration<double, std::milli> real = passed;
    RETURN_IF_ERROR(
        demo.advance_to(demo.now() + Duration(static_cast<int64_t>(real.count() * speed))));
    if (terminal.interactive()) {
      LiveView view = demo.look();
      view.speed = speed;
      terminal.show(draw_live_view(view, terminal.screen()));
    } else {
      log.print(demo.history());
    }
    const WallClock::time_point drawn = WallClock::now();
    if (lasts && drawn - begun >= *lasts) return {};
    milliseconds pause = std::chrono::ceil<milliseconds>(now + kFrame - drawn);
    if (lasts) pause = std::min(pause, std::chrono::ceil<milliseconds>(begun + *lasts - drawn));
    if (terminal.wait(pause) == LiveTerminal::Wish::kQuit) return {};
  }
}

int run_demo(const Arguments& arguments) {
  if (!std::isfinite(arguments.speed)) return bad_input("--speed: must be a number, such as 60");
  std::optional<milliseconds> lasts;
  if (!arguments.lasts.empty()) {
    const auto duration = parse_duration(arguments.lasts);
    if (!duration) return bad_input("--for: " + duration.error().message);
    lasts = *duration;
  }
  const std::string description =
      arguments.run.nodes.empty() ? std::string(kSampleNodes) : arguments.run.nodes;
  const auto nodes = sim::parse_node_plan(description);
  if (!nodes) return bad_input("--nodes: " + nodes.error().message);
  auto configuration = read_configuration(arguments.run);
  if (!configuration) return bad_input(configuration.error().message);
  sim::EmbeddedOptions options;
  options.seed = arguments.run.seed;
  options.host.configuration = std::move(*configuration);
  options.host.write_events = false;  // they would pile up
  // From here on there is something to sum up.
  const StopSignals signals;
  Demo demo(*nodes, std::move(options));
  if (const auto ready = demo.set_up(*nodes); !ready) return bad_input(ready.error().message);
  const auto played = play(demo, arguments.speed, lasts, signals);
  if (!played) {
    remark("internal fault: " + played.error().message);
    return kInternalFault;
  }
  std::cout << demo.summary();
  return demo.history().faults().empty() ? kDone : kInternalFault;
}

}  // namespace

void add_demo_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("demo", "Watch an embedded cluster at work, with sample jobs");
  command
      ->add_option("--for", arguments->lasts,
                   "End after this time; without it, on q or Ctrl-C (30s without a terminal)")
      ->type_name("DURATION");
  command->add_option("--speed", arguments->speed, "Times as fast as real time")
      ->type_name("X")
      ->check(CLI::Range(0.001, 100'000.0).description(""))
      ->capture_default_str();
  add_run_options(*command, arguments->run);
  command->footer("Everything else is in docs/reference/demo.md.");
  command->callback([arguments, &run] { run = [arguments] { return run_demo(*arguments); }; });
}

}  // namespace phalanx::cli

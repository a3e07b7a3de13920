// phalanx bench soak: weeks of a cluster's life in virtual time, with everything that can go wrong,
// and what must hold checked at every moment (cli/soak_laws.h, cli/soak_run.h).
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "base/process.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/soak_run.h"

namespace phalanx::cli {
namespace {

void print_text(const json::object& report) {
  for (const auto& field : report) {
    if (!field.value().is_object()) {
      std::cout << fmt::format("{:<20}", std::string_view(field.key())) << field.value() << "\n";
      continue;
    }
    std::cout << std::string_view(field.key()) << "\n";
    for (const auto& part : field.value().as_object()) {
      std::cout << fmt::format("  {:<42}", std::string_view(part.key())) << part.value() << "\n";
    }
  }
}

// How far it is, if somebody is there to see it.
class SoakProgress {
 public:
  explicit SoakProgress(int days) : days_(days), shows_(isatty(STDERR_FILENO) != 0) {}

  void show(Duration passed) const {
    if (!shows_) return;
    const auto hours = std::chrono::duration_cast<std::chrono::hours>(passed).count();
    std::cerr << fmt::format("\rphalanx: day {} of {}, {:02}:00", hours / 24 + 1, days_, hours % 24)
              << std::flush;
  }
  void clear() const {
    if (shows_) std::cerr << "\r\033[K";
  }

 private:
  int days_;
  bool shows_;
};

}  // namespace

int bench_soak(const BenchSoakArguments& arguments) {
  const bool as_json = arguments.output == "json";
  std::ofstream journal;
  Soak::OnJournal on_journal;
  if (!arguments.journal.empty()) {
    journal.open(arguments.journal);
    if (!journal) {
      return bad_input(fmt::format("bench soak: --journal: cannot write {}", arguments.journal),
                       as_json);
    }
    on_journal = [&](const std::string& line) { journal << line << "\n"; };
  }
  const SoakPlan plan{arguments.nodes, arguments.days, arguments.seed, arguments.load};
  const auto begun = BenchClock::now();
  const double cpu_before = process_cpu_seconds();
  Soak soak(plan, on_journal);
  const SoakProgress progress(plan.days);
  const auto broken = soak.run([&](Duration passed) { progress.show(passed); });
  progress.clear();
  json::object report = soak.report();
  report["wall_s"] = static_cast<double>(nanoseconds_since(begun)) * 1e-9;
  report["cpu_s"] = process_cpu_seconds() - cpu_before;
  report["rss_bytes"] = peak_resident_bytes();
  const std::string again =
      fmt::format("phalanx bench soak --nodes {} --days {} --load {} --seed {}", plan.nodes,
                  plan.days, plan.load_percent, plan.seed);
  if (broken) {
    report["broken"] = *broken;
    report["again"] = again;
  }
  if (as_json) {
    std::cout << report << "\n";
  } else {
    print_text(report);
  }
  if (!broken) return kDone;
  remark(fmt::format("bench soak: {}", *broken));
  remark(fmt::format("to see it again: {}", again));
  return kBadInput;
}

}  // namespace phalanx::cli

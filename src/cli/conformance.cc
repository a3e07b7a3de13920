// phalanx conformance FILE...: answers placement cases and compares with the expected answers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/file.h"
#include "cli/command.h"
#include "cli/conformance_case.h"

namespace phalanx::cli {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string results_file;
  int show = 10;
};

struct Tally {
  int passed = 0;
  int failed = 0;
  int different = 0;  // of these: an answer that is not the expected one
  int answered = 0;   // without an expected answer
};

class Conformance {
 public:
  explicit Conformance(const Arguments& arguments) : arguments_(arguments) {}

  int run() {
    for (const std::string& path : arguments_.files) {
      auto content = read_file(path);
      if (!content) return bad_input(content.error().message);
      run_file(path, *content);
    }
    if (!arguments_.results_file.empty()) {
      if (auto written = write_file(arguments_.results_file, results_); !written) {
        return bad_input(written.error().message);
      }
    }
    if (tally_.different > arguments_.show) {
      std::cout << fmt::format("({} more differences; --show {} shows all)\n",
                               tally_.different - arguments_.show, tally_.different);
    }
    if (tally_.answered > 0) {
      std::cout << fmt::format("{} answered without an expected answer\n", tally_.answered);
    }
    std::cout << fmt::format("{} passed, {} failed\n", tally_.passed, tally_.failed);
    return tally_.failed == 0 ? kDone : kBadInput;
  }

 private:
  void run_file(const std::string& path, const std::string& content) {
    int number = 0;
    for (size_t begin = 0; begin < content.size();) {
      const size_t end = std::min(content.find('\n', begin), content.size());
      const std::string_view line = std::string_view(content).substr(begin, end - begin);
      begin = end + 1;
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      run_case(fmt::format("{}:{}", path, number), line);
    }
  }

  void run_case(const std::string& place, std::string_view line) {
    const auto input = read_case(line);
    if (!input) return report_malformed(place, input.error().message);
    const auto results = answer(*input);
    if (!results) {
      return report_malformed(place,
                              fmt::format("case {}: {}", input->name, results.error().message));
    }
    const json::value got = results_json(*results);
    if (!arguments_.results_file.empty()) {
      results_ += json::serialize(json::object{{"name", input->name}, {"podSets", got}}) + "\n";
    }
    if (input->expected.empty()) {
      ++tally_.answered;
    } else if (std::ranges::find(input->expected, got) != input->expected.end()) {
      ++tally_.passed;
    } else {
      report_difference(difference(place, *input, got));
    }
  }

  static std::string difference(const std::string& place, const ConformanceCase& input,
                                const json::value& got) {
    std::string text = fmt::format("{}: case {} differs\n", place, input.name);
    const json::array& answers = got.get_array();
    const json::array& wanted = input.expected.front().get_array();
    for (size_t index = 0; index < std::max(answers.size(), wanted.size()); ++index) {
      const json::value absent;
      const json::value& expected = index < wanted.size() ? wanted[index] : absent;
      const json::value& actual = index < answers.size() ? answers[index] : absent;
      if (expected == actual) continue;
      text += fmt::format("  expected {}\n  got      {}\n", json::serialize(expected),
                          json::serialize(actual));
    }
    return text;
  }

  // Always shown: it is not an answer that differs, but a case that was never asked.
  void report_malformed(const std::string& place, const std::string& reason) {
    ++tally_.failed;
    std::cout << place << ": " << reason << "\n";
  }

  void report_difference(const std::string& text) {
    ++tally_.failed;
    if (++tally_.different <= arguments_.show) std::cout << text;
  }

  const Arguments& arguments_;
  Tally tally_;
  std::string results_;
};

}  // namespace

void add_conformance_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "conformance", "Answer placement cases and compare with their expected answers");
  command->add_option("FILE", arguments->files, "Files of cases, .jsonl or .jsonl.gz; - is stdin")
      ->required();
  command->add_option("--show", arguments->show, "Show at most so many differences")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str();
  command->add_option("--results", arguments->results_file,
                      "Write one result line for each case, in input order");
  command->callback(
      [arguments, &run] { run = [arguments] { return Conformance(*arguments).run(); }; });
}

}  // namespace phalanx::cli

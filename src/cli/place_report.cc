#include "cli/place_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/quantity.h"
#include "cli/conformance_case.h"
#include "placement/explanation_render.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kGood = "\x1b[1;32m";
constexpr std::string_view kBad = "\x1b[1;31m";
constexpr std::string_view kPlain = "\x1b[0m";

std::string plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string indented(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) out += "  " + text.substr(begin, end - begin);
    out += "\n";
    begin = end + 1;
  }
  return out;
}

std::string requests_text(const api::ResourceAmounts& requests) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : requests) {
    if (amount > 0) parts.push_back(fmt::format("{} {}", name, format_amount(name, amount)));
  }
  if (parts.empty()) return "without requests";
  return fmt::format("each {}", fmt::join(parts, ", "));
}

std::string topology_text(const std::optional<api::TopologyRequest>& request) {
  if (!request) return "anywhere (no topology annotation)";
  std::vector<std::string> parts;
  if (request->required) parts.push_back("required " + *request->required);
  if (request->preferred) parts.push_back("preferred " + *request->preferred);
  if (request->unconstrained) parts.emplace_back("unconstrained");
  for (const api::SliceConstraint& slice : request->constraints()) {
    parts.push_back(fmt::format("slices of {} in one {}", slice.size, slice.topology));
  }
  if (request->balanced) parts.emplace_back("balanced");
  return parts.empty() ? "no level" : fmt::format("{}", fmt::join(parts, ", "));
}

// The last word of a level key, for the head of a column: TOPOLOGY-RACK.
std::string column_title(const std::string& key) {
  std::string title = key.substr(key.find('/') + 1);
  std::ranges::transform(title, title.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  });
  return title;
}

// Rows of cells with aligned columns, the last of them numbers.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      const bool last = column + 1 == row.size();
      out += "  ";
      out += last ? pad_left(row[column], widths[column])
                  : row[column] + std::string(widths[column] - row[column].size(), ' ');
    }
    out += "\n";
  }
  return out;
}

std::string assignment_text(topology::Cluster& cluster, TreeId tree,
                            const api::TopologyAssignment& assignment, int max_lines) {
  const topology::DomainTree& view = cluster.tree(tree);
  std::vector<std::vector<std::string>> rows(1);
  for (const std::string& key : view.spec().levels) rows[0].push_back(column_title(key));
  rows[0].emplace_back("PODS");
  const auto most = static_cast<size_t>(std::max(max_lines, 1));
  for (const api::DomainAssignment& domain : assignment.domains) {
    if (rows.size() > most) break;
    const auto leaf = cluster.find_leaf(tree, domain.values);
    std::vector<std::string> row = leaf ? cluster.path(view, view.lowest(), *leaf) : domain.values;
    row.resize(view.spec().levels.size());
    row.push_back(std::to_string(domain.count));
    rows.push_back(std::move(row));
  }
  std::string out = aligned(rows);
  if (const size_t shown = rows.size() - 1; shown < assignment.domains.size()) {
    out +=
        fmt::format("  and {} more; -o json lists them all\n", assignment.domains.size() - shown);
  }
  return out;
}

// A level that the topology does not have is the one "no" that other hardware would not help.
std::string unknown_level_hint(const topology::TreeSpec& spec, const api::Job& job) {
  if (!job.topology) return "";
  std::vector<std::string> asked;
  if (job.topology->required) asked.push_back(*job.topology->required);
  if (job.topology->preferred) asked.push_back(*job.topology->preferred);
  for (const auto& layer : job.topology->constraints()) asked.push_back(layer.topology);
  for (const std::string& key : asked) {
    if (key == api::kAutoLevel || std::ranges::find(spec.levels, key) != spec.levels.end()) {
      continue;
    }
    return fmt::format(
        "the topology has the levels {}; use one of them in the Job's annotations, or choose "
        "other levels with --topology or --levels\n",
        fmt::join(spec.levels, ", "));
  }
  return "";
}

}  // namespace

json::value report_json(const topology::TreeSpec& spec, const std::vector<JobOutcome>& outcomes) {
  json::array jobs;
  for (const JobOutcome& outcome : outcomes) {
    json::value pod_sets = results_json(outcome.results);
    for (size_t index = 0; index < outcome.results.size(); ++index) {
      const auto& explanation = outcome.results[index].explanation;
      if (explanation == nullptr) continue;
      pod_sets.get_array()[index].get_object()["explanation"] =
          placement::explanation_json(*explanation);
    }
    json::object job{{"name", outcome.name}, {"podSets", std::move(pod_sets)}};
    if (!outcome.skipped.empty()) job["skipped"] = outcome.skipped;
    jobs.push_back(std::move(job));
  }
  return json::object{
      {"topology", json::object{{"name", spec.name},
                                {"levels", json::array(spec.levels.begin(), spec.levels.end())}}},
      {"jobs", std::move(jobs)}};
}

std::string report_text(topology::Cluster& cluster, TreeId tree, const JobOutcome& outcome,
                        const ReportStyle& style) {
  const auto painted = [&](std::string_view color, std::string_view text) {
    return style.picture.color ? fmt::format("{}{}{}", color, text, kPlain) : std::string(text);
  };
  if (!outcome.skipped.empty()) {
    return fmt::format("Job {}: skipped, {}\n", outcome.name, outcome.skipped);
  }
  std::string out =
      fmt::format("Job {}: {}\n", outcome.name,
                  outcome.failed() ? painted(kBad, "does not fit") : painted(kGood, "placed"));
  const api::Job& job = *outcome.job;
  const auto searched = [](const placement::PodSetResult& result) {
    return result.explanation != nullptr && !result.explanation->levels.empty();
  };
  if (!outcome.failed() || !searched(outcome.results.front())) {
    out += fmt::format("  asks for  {}, {}\n", plural(job.pod_count(), "pod"),
                       requests_text(job.pod_template.spec.requests));
    out += fmt::format("  topology  {}\n\n", topology_text(job.topology));
  }
  for (const placement::PodSetResult& result : outcome.results) {
    if (result.assignment) {
      out += assignment_text(cluster, tree, *result.assignment, style.picture.max_lines);
      continue;
    }
    if (searched(result)) {
      out += indented(placement::explanation_text(*result.explanation, style.full_explanation));
    }
    out += indented(result.failure.value_or("not evaluated"));
    out += indented(unknown_level_hint(cluster.tree(tree).spec(), job));
  }
  return out;
}

std::string left_out_text(const topology::LeftOutNodes& nodes, const topology::TreeSpec& spec) {
  std::vector<std::string> parts;
  uint32_t total = 0;
  const auto add = [&](uint32_t count, std::string_view reason) {
    total += count;
    if (count > 0) parts.push_back(fmt::format("{} {}", count, reason));
  };
  add(nodes.not_ready, "not ready");
  add(nodes.unschedulable, "cordoned (unschedulable)");
  for (size_t level = 0; level < nodes.lacking_level.size(); ++level) {
    add(nodes.lacking_level[level], "without the label " + spec.levels[level]);
  }
  if (total == 0) return "";
  return fmt::format("{} left out: {}", plural(total, "node"), fmt::join(parts, ", "));
}

}  // namespace phalanx::cli

#include "topology/assignment_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "topology/assignment_limits.h"

namespace phalanx::topology {
namespace {

using Domains = std::span<const api::DomainAssignment>;

size_t digits_of(size_t number) {
  size_t digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

// What the values of a run of domains have in common at one level. Lengths are bytes.
struct LevelSummary {
  std::string_view sample;   // one of the values
  size_t prefix = 0;         // of the sample, common to all, ending between characters
  size_t suffix = 0;         // likewise
  size_t shortest = 0;       // length of the shortest value
  size_t escaped_total = 0;  // size of all values in JSON, without quotes
  bool plain = true;         // the sample needs no escapes: its parts are as long as they look
  bool universal = true;     // all values are the same
};

// A run of consecutive domains, as far as the text of its slice depends on it.
struct Run {
  size_t domains = 0;
  size_t pod_digits = 0;     // of all pod counts
  int32_t pods = 0;          // of one of the domains
  bool uniform_pods = true;  // all domains have that many
  std::vector<LevelSummary> levels;
  size_t text_size = 0;  // of the slice in JSON, with the comma after it
};

// How much of every value a slice takes out, in bytes, and how much shorter that makes its text.
struct Affixes {
  size_t prefix = 0;
  size_t suffix = 0;
  size_t saved = 0;
};

// The best of: nothing, the prefix, the suffix, the prefix with what the shortest value leaves of
// the suffix. No shorter prefix or suffix can be better, for every byte of it saves the same.
Affixes best_affixes(const LevelSummary& level, size_t domains) {
  constexpr size_t kFrame = std::string_view(R"("prefix":"",)").size();  // as long as suffix's
  const auto saving = [&](size_t from, size_t length) {
    const size_t size = level.plain ? length : escaped_size(level.sample.substr(from, length));
    const size_t repeated = size * (domains - 1);
    return repeated > kFrame ? repeated - kFrame : 0;
  };
  const size_t end = level.sample.size();
  // Never part of a character: in the shortest value it starts where the prefix ends.
  const size_t rest = std::min(level.suffix, level.shortest - level.prefix);
  const size_t prefix_saving = saving(0, level.prefix);
  const size_t suffix_saving = saving(end - level.suffix, level.suffix);
  const size_t rest_saving = saving(end - rest, rest);
  if (suffix_saving > prefix_saving + rest_saving) return {0, level.suffix, suffix_saving};
  return {prefix_saving > 0 ? level.prefix : 0, rest_saving > 0 ? rest : 0,
          prefix_saving + rest_saving};
}

size_t slice_size(const Run& run) {
  constexpr size_t kSlice =
      std::string_view(R"({"domainCount":,"valuesPerLevel":[],"podCounts":},)").size();
  constexpr size_t kUniversalValue = std::string_view(R"({"universal":""},)").size();
  constexpr size_t kIndividualValues = std::string_view(R"({"individual":{"roots":[]}},)").size();
  constexpr size_t kUniversalPods = std::string_view(R"({"universal":})").size();
  constexpr size_t kIndividualPods = std::string_view(R"({"individual":[]})").size();
  const size_t commas = run.domains - 1;
  size_t size = kSlice + digits_of(run.domains) - 1;  // no comma after the last level
  for (const LevelSummary& level : run.levels) {
    size += level.universal ? kUniversalValue + level.escaped_total / run.domains
                            : kIndividualValues + level.escaped_total + 2 * run.domains + commas -
                                  best_affixes(level, run.domains).saved;
  }
  return size + (run.uniform_pods ? kUniversalPods + digits_of(static_cast<size_t>(run.pods))
                                  : kIndividualPods + run.pod_digits + commas);
}

Run run_of(const api::DomainAssignment& domain) {
  Run run{1, digits_of(static_cast<size_t>(domain.count)), domain.count, true, {}, 0};
  run.levels.reserve(domain.values.size());
  for (const std::string& value : domain.values) {
    const size_t size = value.size();
    const size_t escaped = escaped_size(value);
    run.levels.push_back({value, size, size, size, escaped, escaped == size, true});
  }
  run.text_size = slice_size(run);
  return run;
}

size_t common_prefix(std::string_view a, std::string_view b, size_t limit) {
  size_t length = 0;
  while (length < limit && a[length] == b[length]) ++length;
  if (length == limit) return limit;
  while (length > 0 && continues_character(a[length])) --length;
  return length;
}

size_t common_suffix(std::string_view a, std::string_view b, size_t limit) {
  size_t length = 0;
  while (length < limit && a[a.size() - length - 1] == b[b.size() - length - 1]) ++length;
  while (length > 0 && continues_character(a[a.size() - length])) --length;
  return length;
}

// Makes `run` the run of its own domains and those of a neighbour, on whichever side.
void absorb(Run& run, const Run& neighbour) {
  run.domains += neighbour.domains;
  run.pod_digits += neighbour.pod_digits;
  run.uniform_pods = run.uniform_pods && neighbour.uniform_pods && run.pods == neighbour.pods;
  for (size_t i = 0; i < run.levels.size(); ++i) {
    LevelSummary& level = run.levels[i];
    const LevelSummary& other = neighbour.levels[i];
    level.universal = level.universal && other.universal && level.sample == other.sample;
    level.prefix = common_prefix(level.sample, other.sample, std::min(level.prefix, other.prefix));
    level.suffix = common_suffix(level.sample, other.sample, std::min(level.suffix, other.suffix));
    level.shortest = std::min(level.shortest, other.shortest);
    level.escaped_total += other.escaped_total;
  }
  run.text_size = slice_size(run);
}

// Joins neighbouring runs, always the pair whose joining lengthens the text least (it may shorten
// it), until there are no more than `most` runs. The leftmost of equals comes first, so that the
// result depends on nothing but the input.
void merge_runs(std::vector<Run>& runs, size_t most) {
  if (runs.size() <= most) return;
  const size_t end = runs.size();
  std::vector<size_t> next(end);
  std::vector<size_t> previous(end);
  std::vector<int64_t> growth(end);  // of the text, if the run is joined with the next
  std::set<std::pair<int64_t, size_t>> pairs;
  Run both;
  const auto consider = [&](size_t left) {
    pairs.erase({growth[left], left});
    if (next[left] == end) return;
    const Run& right = runs[next[left]];
    if (runs[left].domains + right.domains > kMaxDomainsPerSlice) return;
    both = runs[left];
    absorb(both, right);
    growth[left] = static_cast<int64_t>(both.text_size) -
                   static_cast<int64_t>(runs[left].text_size + right.text_size);
    pairs.emplace(growth[left], left);
  };
  for (size_t i = end; i-- > 0;) {
    next[i] = i + 1;
    previous[i] = i - 1;  // of the first: never followed
    consider(i);
  }
  for (size_t count = end; count > most && !pairs.empty(); --count) {
    const size_t left = pairs.begin()->second;
    const size_t right = next[left];
    pairs.erase({growth[right], right});
    absorb(runs[left], runs[right]);
    runs[right].domains = 0;
    next[left] = next[right];
    if (next[left] < end) previous[next[left]] = left;
    consider(left);
    if (left > 0) consider(previous[left]);
  }
  std::erase_if(runs, [](const Run& run) { return run.domains == 0; });
}

// So many runs of so many levels that every domain is paid with the same number of comparisons:
// half the square of the runs, each of all levels.
size_t runs_of_quick_slicing(size_t domains, size_t levels) {
  constexpr size_t kComparisonsPerDomain = 512;
  size_t runs = std::min(domains, kMaxSlices);
  while (runs * runs / 2 * levels > kComparisonsPerDomain * domains) --runs;
  return runs;
}

// The lengths of the slices that make the shortest text: first at most as many runs as there may be
// slices, so that any choice among their borders is allowed, then the best choice by dynamic
// programming over the last slice of each beginning.
std::vector<size_t> smallest_slices(Domains domains, size_t most_runs) {
  std::vector<Run> runs;
  runs.reserve(domains.size());
  for (const api::DomainAssignment& domain : domains) runs.push_back(run_of(domain));
  merge_runs(runs, most_runs);
  struct Best {
    size_t text_size = 0;  // of the slices of all runs before this border
    size_t start = 0;      // the run that the last of them starts with
  };
  std::vector<Best> best(runs.size() + 1);
  Run slice;
  for (size_t end = 1; end <= runs.size(); ++end) {
    slice = runs[end - 1];
    best[end] = {best[end - 1].text_size + slice.text_size, end - 1};
    for (size_t start = end - 1; start-- > 0;) {
      absorb(slice, runs[start]);
      if (slice.domains > kMaxDomainsPerSlice) break;
      const size_t text_size = best[start].text_size + slice.text_size;
      if (text_size <= best[end].text_size) best[end] = {text_size, start};
    }
  }
  std::vector<size_t> lengths;
  for (size_t end = runs.size(); end > 0; end = best[end].start) {
    size_t& length = lengths.emplace_back(0);
    for (size_t run = best[end].start; run < end; ++run) length += runs[run].domains;
  }
  std::ranges::reverse(lengths);
  return lengths;
}

std::vector<size_t> fewest_slices(size_t domains) {
  std::vector<size_t> lengths(domains / kMaxDomainsPerSlice, kMaxDomainsPerSlice);
  if (const size_t rest = domains % kMaxDomainsPerSlice; rest > 0) lengths.push_back(rest);
  return lengths;
}

std::vector<size_t> slice_lengths(Domains domains, size_t levels, Slicing slicing) {
  if (slicing == Slicing::kFewest) return fewest_slices(domains.size());
  const bool quick = slicing == Slicing::kQuick;
  return smallest_slices(domains,
                         quick ? runs_of_quick_slicing(domains.size(), levels) : kMaxSlices);
}

json::array string_array(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

json::object encode_level(Domains domains, size_t index, const LevelSummary& level) {
  if (level.universal) return {{"universal", level.sample}};
  const Affixes affixes = best_affixes(level, domains.size());
  json::array roots;
  roots.reserve(domains.size());
  for (const api::DomainAssignment& domain : domains) {
    std::string_view root = domain.values[index];
    root.remove_prefix(affixes.prefix);
    root.remove_suffix(affixes.suffix);
    roots.emplace_back(root);
  }
  json::object individual;
  if (affixes.prefix > 0) individual["prefix"] = level.sample.substr(0, affixes.prefix);
  individual["roots"] = std::move(roots);
  if (affixes.suffix > 0) {
    individual["suffix"] = level.sample.substr(level.sample.size() - affixes.suffix);
  }
  return {{"individual", std::move(individual)}};
}

json::object encode_slice(Domains domains) {
  Run run = run_of(domains.front());
  for (const api::DomainAssignment& domain : domains.subspan(1)) absorb(run, run_of(domain));
  json::array values_per_level;
  for (size_t level = 0; level < run.levels.size(); ++level) {
    values_per_level.emplace_back(encode_level(domains, level, run.levels[level]));
  }
  json::object pod_counts;
  if (run.uniform_pods) {
    pod_counts["universal"] = run.pods;
  } else {
    json::array& counts = pod_counts["individual"].emplace_array();
    counts.reserve(domains.size());
    for (const api::DomainAssignment& domain : domains) counts.emplace_back(domain.count);
  }
  return {{"domainCount", domains.size()},
          {"valuesPerLevel", std::move(values_per_level)},
          {"podCounts", std::move(pod_counts)}};
}

}  // namespace

json::value encode_v1beta1(const api::TopologyAssignment& assignment) {
  json::array domains;
  domains.reserve(assignment.domains.size());
  for (const api::DomainAssignment& domain : assignment.domains) {
    domains.emplace_back(
        json::object{{"values", string_array(domain.values)}, {"count", domain.count}});
  }
  return json::object{{"levels", string_array(assignment.levels)}, {"domains", std::move(domains)}};
}

Result<json::value> encode_v1beta2(const api::TopologyAssignment& assignment, Slicing slicing) {
  DecodeStatus status;
  const JsonReader names(nullptr, "", status);
  check_levels(assignment.levels, names);
  check_domains(assignment, AssignmentSize(), names);
  if (const auto& error = status.error()) return within("topology assignment", *error);

  json::array slices;
  Domains rest = assignment.domains;
  for (const size_t length : slice_lengths(rest, assignment.levels.size(), slicing)) {
    slices.emplace_back(encode_slice(rest.first(length)));
    rest = rest.subspan(length);
  }
  CHECK(rest.empty() && slices.size() <= kMaxSlices);
  return json::object{{"levels", string_array(assignment.levels)}, {"slices", std::move(slices)}};
}

}  // namespace phalanx::topology

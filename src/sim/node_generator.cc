#include "sim/node_generator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <span>

#include "api/node.h"
#include "base/check.h"
#include "base/quantity.h"
#include "sim/resource_rules.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kGrammar =
    "write it like \"4 blocks x 8 racks x 16 hosts, 8 nvidia.com/gpu\": [N blocks x] [N racks x] N "
    "hosts, then what each host has";
constexpr std::array<std::string_view, 3> kWords{"block", "rack", "host"};

std::unexpected<Error> wrong(const std::string& problem) {
  return fail(fmt::format("{}; {}", problem, kGrammar));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words = split(text, ' ');
  std::erase(words, "");
  return words;
}

struct Level {
  size_t count = 0;
  size_t word = 0;  // index in kWords
};

Result<Level> parse_level(std::span<const std::string_view> words) {
  const std::string text = fmt::format("{}", fmt::join(words, " "));
  if (words.size() != 2) return wrong(fmt::format("\"{}\" is no number and level", text));
  Level level;
  const std::string number(words[0]);
  const char* end = number.data() + number.size();
  const auto [stop, code] = std::from_chars(number.data(), end, level.count);
  if (code == std::errc::result_out_of_range) level.count = kMostNodes + 1;
  const bool is_number = stop == end && (code == std::errc() || level.count > kMostNodes);
  if (!is_number || level.count == 0) {
    return wrong(fmt::format("\"{}\" is no whole number above 0", number));
  }
  std::string_view name = words[1];
  if (name.ends_with('s')) name.remove_suffix(1);
  const auto known = std::ranges::find(kWords, name);
  if (known == kWords.end()) {
    return wrong(fmt::format("\"{}\" is no level; levels are blocks, racks and hosts", words[1]));
  }
  level.word = static_cast<size_t>(known - kWords.begin());
  return level;
}

Result<NodePlan> parse_levels(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) return wrong("the description has no hosts");
  std::vector<Level> levels;
  for (auto begin = words.begin();;) {
    const auto end = std::find(begin, words.end(), "x");
    ASSIGN_OR_RETURN(const Level level, parse_level({begin, end}));
    levels.push_back(level);
    if (end == words.end()) break;
    begin = end + 1;
  }
  // The levels named must be the last ones of block, rack, host, each once.
  for (size_t i = 0; i < levels.size(); ++i) {
    if (levels.size() > kWords.size() || levels[i].word + levels.size() != kWords.size() + i) {
      return wrong(fmt::format("the levels \"{}\" are not in this order", text));
    }
  }
  NodePlan plan;
  const auto of_word = [&](size_t word) {
    const auto found = std::ranges::find(levels, word, &Level::word);
    return found == levels.end() ? 0 : found->count;
  };
  plan.blocks = of_word(0);
  plan.racks = of_word(1);
  plan.hosts = of_word(2);
  size_t count = 1;
  for (const Level& level : levels) {
    count *= level.count;  // each factor is small enough for this not to overflow
    if (count > kMostNodes) {
      return fail(fmt::format("\"{}\" are more than {} hosts; describe a smaller cluster", text,
                              kMostNodes));
    }
  }
  return plan;
}

Result<std::pair<std::string, std::string>> parse_amount_of(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() != 2) {
    return wrong(fmt::format("\"{}\" is no amount and resource", fmt::join(words, " ")));
  }
  const std::string resource(words[1]);
  if (const std::string problem = problem_of_resource_name(resource); !problem.empty()) {
    return wrong(problem);
  }
  const auto amount = parse_exact_amount(resource, words[0]);
  if (!amount) return wrong(fmt::format("{}: {}", resource, amount.error().message));
  return std::pair(resource, std::string(words[0]));
}

// "r07" of 12 racks: as many digits as the last one has.
std::string numbered(char letter, size_t index, size_t count) {
  return fmt::format("{}{:0{}}", letter, index + 1, std::to_string(count).size());
}

}  // namespace

size_t NodePlan::count() const {
  return std::max<size_t>(blocks, 1) * std::max<size_t>(racks, 1) * hosts;
}

std::vector<std::string> NodePlan::level_keys() const {
  std::vector<std::string> keys;
  if (blocks > 0) keys.emplace_back(kBlockLabel);
  if (racks > 0) keys.emplace_back(kRackLabel);
  keys.emplace_back(api::kHostnameLabel);
  return keys;
}

json::value NodePlan::node(size_t index) const {
  CHECK(index < count());
  json::object labels{{kNodeGroupLabel, kNodeGroup}};
  std::string name;
  if (blocks > 0) {
    name = numbered('b', index / (racks * hosts), blocks);
    labels[kBlockLabel] = name;
    name += "-";
  }
  if (racks > 0) {
    name += numbered('r', index / hosts % racks, racks);
    labels[kRackLabel] = name;
    name += "-";
  }
  name += numbered('h', index % hosts, hosts);
  labels[api::kHostnameLabel] = name;
  json::object allocatable;
  for (const auto& [resource, amount] : amounts) allocatable[resource] = amount;
  json::object capacity = allocatable;
  return json::object{{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", json::object{{"name", name}, {"labels", std::move(labels)}}},
                      {"status", json::object{{"capacity", std::move(capacity)},
                                              {"allocatable", std::move(allocatable)}}}};
}

Result<NodePlan> parse_node_plan(std::string_view description) {
  const std::vector<std::string_view> parts = split(description, ',');
  ASSIGN_OR_RETURN(NodePlan plan, parse_levels(parts.front()));
  std::map<std::string, std::string> amounts;
  for (size_t i = 1; i < parts.size(); ++i) {
    ASSIGN_OR_RETURN(auto amount, parse_amount_of(parts[i]));
    if (!amounts.insert(amount).second) {
      return wrong(fmt::format("{} stands twice in the description", amount.first));
    }
  }
  amounts.insert({{"cpu", "96"}, {"memory", "1024Gi"}, {"pods", "110"}});
  plan.amounts.assign(amounts.begin(), amounts.end());
  return plan;
}

}  // namespace phalanx::sim

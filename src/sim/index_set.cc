#include "sim/index_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace phalanx::sim {
namespace {

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = code == std::errc() && stop == text.data() + text.size();
  if (!whole || number < 0) return std::nullopt;
  return number;
}

}  // namespace

IndexSet parse_indexes(std::string_view text, int64_t bound) {
  IndexSet indexes;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t dash = part.find('-');
    const auto first = whole_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole_number(part.substr(dash + 1));
    if (!first || !last) continue;
    for (int64_t index = *first; index <= std::min(*last, bound - 1); ++index) {
      indexes.insert(indexes.end(), index);
    }
  }
  return indexes;
}

std::string format_indexes(const IndexSet& indexes) {
  std::string text;
  for (auto first = indexes.begin(); first != indexes.end();) {
    auto last = first;
    while (std::next(last) != indexes.end() && *std::next(last) == *last + 1) ++last;
    if (!text.empty()) text += ',';
    text += fmt::format("{}", *first);
    if (*last > *first) text += fmt::format("{}{}", *last == *first + 1 ? ',' : '-', *last);
    first = std::next(last);
  }
  return text;
}

}  // namespace phalanx::sim

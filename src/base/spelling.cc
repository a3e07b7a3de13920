#include "base/spelling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace phalanx {
namespace {

constexpr size_t kLongestName = 100;

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// How many letters have to be added, removed or replaced to get from one to the other.
size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (lower(from[i]) == lower(to[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string_view closest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > kLongestName) return "";
  std::string_view best;
  // Of names that begin alike the one with fewer letters between them.
  std::pair<size_t, size_t> least{std::min<size_t>(name.size() / 3 + 2, 4), 0};
  for (const std::string_view candidate : candidates) {
    // cohort was meant to be cohortName: one is the beginning of the other.
    const bool begins = std::min(name.size(), candidate.size()) >= 4 &&
                        (candidate.starts_with(name) || name.starts_with(candidate));
    const size_t letters = edit_distance(name, candidate);
    const std::pair<size_t, size_t> distance{begins ? 1 : letters, letters};
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view meant = closest(name, candidates);
  if (!meant.empty()) return fmt::format("; did you mean `{}`?", meant);
  return fmt::format("; there are {}", fmt::join(candidates, ", "));
}

}  // namespace phalanx

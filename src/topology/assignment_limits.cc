#include "topology/assignment_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace phalanx::topology {

size_t characters_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, std::not_fn(continues_character)));
}

size_t escaped_size(std::string_view text) {
  size_t size = text.size();
  for (const char byte : text) {
    if (static_cast<unsigned char>(byte) >= 0x20 && byte != '"' && byte != '\\') continue;
    const bool is_short = std::string_view("\"\\\b\f\n\r\t").contains(byte);
    size += is_short ? 1 : std::string_view("u0001").size();
  }
  return size;
}

void report_length(size_t length, size_t longest, DecodeStatus& status, const std::string& path) {
  status.report(path,
                fmt::format("has {} characters, but at most {} are allowed", length, longest));
}

void check_levels(const std::vector<std::string>& levels, const JsonReader& reader) {
  if (levels.empty() || levels.size() > kMaxLevels) {
    reader.report("levels", fmt::format("has {} elements, but must have between 1 and {}",
                                        levels.size(), kMaxLevels));
  }
  for (size_t i = 0; i < levels.size(); ++i) {
    check_length(characters_of(levels[i]), kMaxLevelLength, reader.status(),
                 [&] { return fmt::format("{}[{}]", reader.path_of("levels"), i); });
  }
}

void check_total(const AssignmentSize& size, const AssignmentSize& most, const JsonReader& reader,
                 std::string_view field) {
  if (size.domains > most.domains || size.values > most.values) {
    reader.report(field, fmt::format("makes it {} domains of {} levels, but an assignment has at "
                                     "most {} domains and {} values",
                                     size.domains, size.values / std::max<size_t>(size.domains, 1),
                                     most.domains, most.values));
  } else if (size.text_bytes > most.text_bytes) {
    reader.report(field,
                  fmt::format("makes it {} bytes of values, but an assignment has at most {}",
                              size.text_bytes, most.text_bytes));
  }
}

void check_domains(const api::TopologyAssignment& assignment, const AssignmentSize& most,
                   const JsonReader& reader) {
  DecodeStatus& status = reader.status();
  check_total(size_of(assignment), most, reader, "domains");
  for (size_t i = 0; i < assignment.domains.size() && status.ok(); ++i) {
    const auto& [values, count] = assignment.domains[i];
    const auto path = [&](std::string_view field) {
      return fmt::format("{}[{}].{}", reader.path_of("domains"), i, field);
    };
    if (values.size() != assignment.levels.size()) {
      status.report(path("values"), fmt::format("has {} elements, but there are {} levels",
                                                values.size(), assignment.levels.size()));
    }
    for (size_t level = 0; level < values.size(); ++level) {
      check_length(characters_of(values[level]), kMaxValueLength, status,
                   [&] { return fmt::format("{}[{}]", path("values"), level); });
    }
    if (count < 1) {
      status.report(path("count"), fmt::format("is {}, but must be at least 1", count));
    }
  }
}

AssignmentSize size_of(const api::TopologyAssignment& assignment) {
  AssignmentSize size{assignment.domains.size(),
                      assignment.domains.size() * assignment.levels.size(), 0};
  for (const api::DomainAssignment& domain : assignment.domains) {
    for (const std::string& value : domain.values) size.text_bytes += escaped_size(value);
  }
  return size;
}

}  // namespace phalanx::topology

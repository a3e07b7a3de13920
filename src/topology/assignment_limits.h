// What the two directions of assignment_encoding.h check alike. For the files assignment_*.cc only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/topology_assignment.h"
#include "base/json.h"
#include "topology/assignment_encoding.h"

namespace phalanx::topology {

// Whether the byte is inside a UTF-8 character, not its first.
inline bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}
size_t characters_of(std::string_view text);

// The bytes of the text inside its JSON quotes, as boost::json writes it.
size_t escaped_size(std::string_view text);

// The path is asked for only when there is something to report: building 100 000 of them costs
// more than checking the values.
void report_length(size_t length, size_t longest, DecodeStatus& status, const std::string& path);
template <typename Path>
void check_length(size_t length, size_t longest, DecodeStatus& status, Path path) {
  if (length > longest) report_length(length, longest, status, path());
}

void check_levels(const std::vector<std::string>& levels, const JsonReader& reader);
void check_domains(const api::TopologyAssignment& assignment, const AssignmentSize& most,
                   const JsonReader& reader);
// Reports at a field of the reader that the assignment would become too large.
void check_total(const AssignmentSize& size, const AssignmentSize& most, const JsonReader& reader,
                 std::string_view field);

}  // namespace phalanx::topology

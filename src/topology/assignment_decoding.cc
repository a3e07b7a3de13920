// The half of assignment_encoding.h that reads.
//
// Everything is checked before anything is expanded: what a document claims costs no more than the
// document itself until it is known to be whole and within its limits.
#include <fmt/format.h>

#include <limits>
#include <optional>
#include <span>

#include "topology/assignment_encoding.h"
#include "topology/assignment_limits.h"

namespace phalanx::topology {
namespace {

constexpr int64_t kMaxPods = std::numeric_limits<int32_t>::max();

void require(const JsonReader& reader, std::initializer_list<std::string_view> fields) {
  reader.allow_only(fields);
  for (const std::string_view field : fields) {
    if (!reader.has(field)) reader.report(field, "is required");
  }
}

void read_domains(const JsonReader& reader, const AssignmentSize& most,
                  api::TopologyAssignment& assignment) {
  reader.each("domains", [&](const json::value& value, const std::string& path) {
    const JsonReader domain(&value, path, reader.status());
    require(domain, {"values", "count"});
    assignment.domains.push_back(
        {domain.strings("values"), static_cast<int32_t>(domain.integer("count", 1, 1, kMaxPods))});
  });
  if (reader.status().ok()) check_domains(assignment, most, reader);
}

// The values of one level in a slice, as they stand in the document.
struct SliceLevel {
  std::string prefix;  // or the value of all domains
  std::string suffix;
  const json::array* roots = nullptr;  // strings, one for each domain; nullptr: all are the prefix
  size_t text_bytes = 0;               // of all values (AssignmentSize)
};

struct Slice {
  size_t domains = 0;
  std::vector<SliceLevel> levels;
  const json::array* counts = nullptr;  // of pods, one for each domain; nullptr: `count` each
  int32_t count = 0;
};

// The list of a field that must have `size` elements; reports and gives nullptr if it has not.
const json::array* read_list(const JsonReader& reader, std::string_view name, size_t size,
                             std::string_view size_reason) {
  const json::value* field = reader.find(name);
  const json::array* list = field == nullptr ? nullptr : field->if_array();
  if (list == nullptr) {
    reader.report(name, field == nullptr ? "is required" : "must be a list");
  } else if (list->size() != size) {
    reader.report(name, fmt::format("has {} elements, but {} {}", list->size(), size_reason, size));
  }
  return reader.status().ok() ? list : nullptr;
}

// Whether `universal` is the one of the two fields that is set.
bool is_universal(const JsonReader& reader) {
  reader.allow_only({"universal", "individual"});
  const bool universal = reader.has("universal");
  if (universal == reader.has("individual")) {
    reader.status().report(reader.path(), "must have exactly one of universal and individual");
  }
  return universal;
}

std::string read_affix(const JsonReader& reader, std::string_view name) {
  const std::optional<std::string> affix = reader.optional_string(name);
  if (affix && affix->empty()) reader.report(name, "must not be empty; leave it out");
  return affix.value_or("");
}

SliceLevel read_level(const JsonReader& reader, size_t domains) {
  DecodeStatus& status = reader.status();
  SliceLevel level;
  if (is_universal(reader)) {
    level.prefix = reader.string("universal");
    check_length(characters_of(level.prefix), kMaxValueLength, status,
                 [&] { return reader.path_of("universal"); });
    level.text_bytes = escaped_size(level.prefix) * domains;
    return level;
  }
  const JsonReader individual = reader.object("individual");
  individual.allow_only({"prefix", "roots", "suffix"});
  level.prefix = read_affix(individual, "prefix");
  level.suffix = read_affix(individual, "suffix");
  level.roots = read_list(individual, "roots", domains, "domainCount is");
  const size_t shared = characters_of(level.prefix) + characters_of(level.suffix);
  level.text_bytes = (escaped_size(level.prefix) + escaped_size(level.suffix)) * domains;
  for (size_t i = 0; i < domains && status.ok(); ++i) {
    const auto path = [&] { return fmt::format("{}[{}]", individual.path_of("roots"), i); };
    const json::string* root = (*level.roots)[i].if_string();
    if (root == nullptr) {
      status.report(path(), "must be a string");
      break;
    }
    check_length(shared + characters_of(*root), kMaxValueLength, status,
                 [&] { return path() + " with prefix and suffix"; });
    level.text_bytes += escaped_size(*root);
  }
  return level;
}

void read_pod_counts(const JsonReader& reader, Slice& slice) {
  if (is_universal(reader)) {
    slice.count = static_cast<int32_t>(reader.integer("universal", 1, 1, kMaxPods));
    return;
  }
  slice.counts = read_list(reader, "individual", slice.domains, "domainCount is");
  for (size_t i = 0; i < slice.domains && reader.status().ok(); ++i) {
    json::error_code code;
    const auto count = (*slice.counts)[i].to_number<int64_t>(code);
    if (code || count < 1 || count > kMaxPods) {
      reader.report(fmt::format("individual[{}]", i),
                    fmt::format("must be a whole number between 1 and {}", kMaxPods));
    }
  }
}

// `size` is of the slices so far, and then of this one too.
Slice read_slice(const JsonReader& reader, size_t levels, const AssignmentSize& most,
                 AssignmentSize& size) {
  require(reader, {"domainCount", "valuesPerLevel", "podCounts"});
  Slice slice;
  slice.domains = static_cast<size_t>(reader.integer("domainCount", 1, 1, kMaxDomainsPerSlice));
  size.domains += slice.domains;
  size.values += slice.domains * levels;
  check_total(size, most, reader, "domainCount");
  if (read_list(reader, "valuesPerLevel", levels, "the number of levels is") == nullptr) {
    return slice;
  }
  reader.each("valuesPerLevel", [&](const json::value& value, const std::string& path) {
    if (!reader.status().ok()) return;
    slice.levels.push_back(read_level(JsonReader(&value, path, reader.status()), slice.domains));
    size.text_bytes += slice.levels.back().text_bytes;
  });
  check_total(size, most, reader, "valuesPerLevel");
  read_pod_counts(reader.object("podCounts"), slice);
  return slice;
}

std::vector<Slice> read_slices(const JsonReader& reader, size_t levels, const AssignmentSize& most,
                               AssignmentSize& size) {
  const json::array* list = reader.find("slices")->if_array();
  if (list != nullptr && list->size() > kMaxSlices) {
    reader.report("slices", fmt::format("has {} elements, but at most {} are allowed", list->size(),
                                        kMaxSlices));
  }
  std::vector<Slice> slices;
  reader.each("slices", [&](const json::value& value, const std::string& path) {
    if (!reader.status().ok()) return;
    slices.push_back(read_slice(JsonReader(&value, path, reader.status()), levels, most, size));
  });
  return slices;
}

void expand(const Slice& slice, std::vector<api::DomainAssignment>& domains) {
  for (size_t i = 0; i < slice.domains; ++i) {
    api::DomainAssignment& domain = domains.emplace_back();
    domain.values.reserve(slice.levels.size());
    for (const SliceLevel& level : slice.levels) {
      std::string& value = domain.values.emplace_back(level.prefix);
      if (level.roots != nullptr) value.append((*level.roots)[i].get_string()).append(level.suffix);
    }
    domain.count = slice.counts == nullptr ? slice.count : (*slice.counts)[i].to_number<int32_t>();
  }
}

// An assignment that is known to be good, and points into its document.
struct ReadAssignment {
  api::TopologyAssignment assignment;  // without what is in slices
  std::vector<Slice> slices;
  AssignmentSize size;
};

Result<ReadAssignment> read_assignment(const json::value& value, std::string_view path,
                                       const AssignmentSize& most) {
  DecodeStatus status;
  const JsonReader reader(&value, std::string(path), status);
  reader.allow_only({"levels", "domains", "slices"});
  if (!reader.has("levels")) reader.report("levels", "is required");
  ReadAssignment read{{reader.strings("levels"), {}}, {}, {0, 0, 0}};
  api::TopologyAssignment& assignment = read.assignment;
  if (status.ok()) check_levels(assignment.levels, reader);
  const bool has_domains = reader.has("domains");
  if (has_domains == reader.has("slices")) {
    status.report(reader.path(), "must have exactly one of domains (v1beta1) and slices (v1beta2)");
  }
  if (status.ok() && has_domains) read_domains(reader, most, assignment);
  if (status.ok() && !has_domains) {
    read.slices = read_slices(reader, assignment.levels.size(), most, read.size);
  }
  if (const auto& error = status.error()) return std::unexpected(*error);
  if (has_domains) read.size = size_of(assignment);
  return read;
}

}  // namespace

Result<api::TopologyAssignment> decode_assignment(const json::value& value, std::string_view path,
                                                  const AssignmentSize& most) {
  ASSIGN_OR_RETURN(ReadAssignment read, read_assignment(value, path, most));
  for (const Slice& slice : read.slices) expand(slice, read.assignment.domains);
  return std::move(read.assignment);
}

Result<AssignmentSize> measure_assignment(const json::value& value, std::string_view path,
                                          const AssignmentSize& most) {
  ASSIGN_OR_RETURN(const ReadAssignment read, read_assignment(value, path, most));
  return read.size;
}

}  // namespace phalanx::topology

// Who set which field: metadata.managedFields.
//
// Every writer has an entry by its name, its operation and its subresource. An ordinary write owns
// what it changes and takes it from everybody else; an apply owns what its document says, for as
// long as it says so. Tracked from the first write that names its manager; fields that were written
// before belong to nobody.
#pragma once

#include <string>
#include <vector>

#include "api/kind.h"
#include "base/json.h"
#include "sim/field_set.h"

namespace phalanx::sim {

struct Writer {
  std::string manager;
  bool apply = false;  // else an update
  bool status = false;

  bool operator==(const Writer&) const = default;
};

struct ManagedEntry {
  Writer writer;
  std::string api_version;
  std::string time;
  FieldSet fields;

  // Whoever wrote it when.
  [[nodiscard]] bool same_fields(const ManagedEntry& other) const {
    return writer == other.writer && fields == other.fields;
  }
};

class ManagedFields {
 public:
  // Entries that cannot be read are left out.
  static ManagedFields read(const json::value& document);
  void write(json::value& document) const;

  [[nodiscard]] const std::vector<ManagedEntry>& entries() const { return entries_; }
  // What the writer owns.
  [[nodiscard]] FieldSet fields_of_writer(const Writer& writer) const;
  // What others than the writer own.
  [[nodiscard]] FieldSet fields_of_others(const Writer& writer) const;

  // The writer owns exactly these from now on.
  void set(const Writer& writer, FieldSet fields, const std::string& api_version,
           const std::string& now);
  void take_from_others(const Writer& writer, const FieldSet& fields);
  // An ordinary write.
  void record_update(const Writer& writer, const FieldChanges& changes,
                     const std::string& api_version, const std::string& now);

  // Whether the same managers own the same fields; not since when.
  [[nodiscard]] bool same_fields(const ManagedFields& other) const;

 private:
  std::vector<ManagedEntry> entries_;
};

// The fields of a document that have managers: the status for writes of the status, else everything
// but the status (of kinds that have the subresource) and what only the server writes.
FieldSet tracked_fields(api::Kind kind, bool status, const json::value& document);
FieldChanges tracked_changes(api::Kind kind, bool status, const json::value& before,
                             const json::value& after);

}  // namespace phalanx::sim

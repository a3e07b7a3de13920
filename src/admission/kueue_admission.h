// What an API server with the CRDs of deploy/crds and our webhooks makes of a document of
// kueue.x-k8s.io: the document that is stored, or every reason why it is refused.
//
// In this order: unknown fields are refused or dropped, defaults are filled in, and the schema of
// the version in which it was written is applied; then it is converted to the stored version, and
// that one's defaults and schema are applied; then the rules. Conversion and rules are not reached
// by a document that was refused before them.
//
// What is wrong with a value that an update leaves as it was is no reason: it was stored under
// other rules, and who changes something else is not asked to mend it. API servers do the same with
// the schema of the version in which somebody writes ("ratcheting"); a value of v1beta1 that
// v1beta2 would not allow is let stand only here.
//
// Not looked at: metadata, and whether the objects that a document names exist.
//
// Loading the CRDs takes some tens of milliseconds, once; admit() is linear in the document (60 us
// for a small Workload, 15 ms for an assignment to 100 000 nodes). Immutable after construction, so
// it may be shared.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admission/problem.h"
#include "admission/schema.h"
#include "api/kind.h"
#include "base/json.h"

namespace phalanx::admission {

struct AdmitOptions {
  bool strict_fields =
      false;            // refuse unknown fields, as kubectl asks for, instead of dropping them
  bool status = false;  // a write of the status subresource: spec is as in the old document
};

using Admitted = std::expected<json::value, std::vector<Problem>>;

class KueueAdmission {
 public:
  KueueAdmission();

  // By the name of the kind: also Cohort and AdmissionCheck, which nothing else here reads yet.
  [[nodiscard]] bool covers(std::string_view kind) const;
  [[nodiscard]] bool covers(api::Kind kind) const;

  // `old_object` is as stored, nullptr for a new one. The kind has to be one that is covered.
  [[nodiscard]] Admitted admit(std::string_view kind, const json::value* old_object,
                               json::value object, AdmitOptions options = {}) const;
  [[nodiscard]] Admitted admit(api::Kind kind, const json::value* old_object, json::value object,
                               AdmitOptions options = {}) const;

  // A document as somebody wrote it, in the stored version: the part of admit() before the rules.
  [[nodiscard]] Admitted upgrade(std::string_view kind, json::value object, bool strict_fields,
                                 const json::value* old_object = nullptr) const;

  // The document in another version, "v1beta1" or "v1beta2", and what that one cannot say in notes
  // (lossless_conversion.h). Fails only if there is no such version.
  [[nodiscard]] Result<json::value> convert(std::string_view kind, json::value document,
                                            std::string_view version) const;

 private:
  using SchemaKey = std::pair<std::string, std::string>;  // kind, version
  using Schemas = std::map<SchemaKey, Schema>;

  // Of the CRDs in the program: read once, however many servers there are.
  static const Schemas& all_schemas();
  [[nodiscard]] const Schema* find_schema(std::string_view kind, std::string_view version) const;
  // The document as it would be written in the version: with that one's defaults.
  [[nodiscard]] json::value as_written(std::string_view kind, const json::value& document,
                                       std::string_view version) const;
  // What a document of v1beta1 says that must not be written.
  [[nodiscard]] std::vector<Problem> problems_of_written(std::string_view kind,
                                                         const json::value& older,
                                                         const json::value* old_object) const;

  const Schemas& schemas_;
};

// What a new object gets that no schema can give it: our finalizer, where the core would add it
// next anyway. So it cannot be deleted in between while something already uses it.
void default_kueue_object(std::string_view kind, json::value& object);

// Loads one CRD document: its kind, and the schema of each of its versions.
struct LoadedCrd {
  std::string kind;
  std::map<std::string, Schema> schemas;  // by version
};
Result<LoadedCrd> load_crd(std::string_view yaml);

}  // namespace phalanx::admission

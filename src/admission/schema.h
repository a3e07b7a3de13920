// A structural OpenAPI v3 schema, as API servers use it for custom resources: what a document may
// hold, what it holds if nobody says so, and what is dropped from it.
//
// - Everything that the schema says is enforced. A keyword, format or pattern that is not known
//   here is refused when the schema is loaded, never skipped.
// - Rules in CEL (x-kubernetes-validations) are not evaluated: admission/rules.h has them in C++.
// - metadata of the document itself is not looked into: it belongs to the API server.
// - Problems are for people, in the order of the document's schema, and bounded (problem.h).
//
// Cost: linear in the document; paths are put together only for problems. Immutable after loading.
#pragma once

#include <memory>
#include <vector>

#include "admission/problem.h"
#include "base/error.h"
#include "base/json.h"

namespace phalanx::admission {

struct SchemaNode;

class Schema {
 public:
  // Takes the openAPIV3Schema of a CRD's version.
  static Result<Schema> load(const json::value& open_api);
  // Of parts put together elsewhere (admission/built_in_kinds.h).
  static Schema of(std::unique_ptr<const SchemaNode> root);

  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;
  ~Schema();

  // Removes fields that the schema does not have.
  void prune(json::value& document) const;
  // Fields that prune() would remove, each with a name that may have been meant.
  [[nodiscard]] std::vector<Problem> unknown_fields(const json::value& document) const;
  // Whether there are none.
  [[nodiscard]] bool knows_all_of(const json::value& document) const;
  // Fills in defaults. A null where none is allowed counts as left out.
  void default_fields(json::value& document) const;
  // To be asked after default_fields().
  [[nodiscard]] std::vector<Problem> validate(const json::value& document) const;

 private:
  explicit Schema(std::unique_ptr<const SchemaNode> root);

  std::unique_ptr<const SchemaNode> root_;
};

}  // namespace phalanx::admission

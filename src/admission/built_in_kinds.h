// Which fields documents of Kubernetes' own kinds may have, and of which types: what its API
// server finds out when it decodes them, before any default or rule.
//
// - A field of another type is refused always, an unknown one if the client asks for it, as kubectl
//   does.
// - Of custom resources only the metadata is looked at; the rest is a matter of their CRDs.
// - Status is what clusters write, newer ones too: its unknown fields are let through.
// - Values are not looked into: that a count is negative is a matter of the kind's rules.
//
// Cost: loading takes some milliseconds, once; check() is linear in the document. Immutable.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "admission/problem.h"
#include "admission/schema.h"
#include "api/kind.h"
#include "base/error.h"
#include "base/json.h"

namespace phalanx::admission {

class BuiltInKinds {
 public:
  // From a table of types (admission/built_in_types.h).
  static Result<BuiltInKinds> load(std::string_view types);

  // Nulls count as left out and must have been removed.
  [[nodiscard]] std::vector<Problem> check(api::Kind kind, const json::value& document,
                                           bool strict_fields) const;

 private:
  explicit BuiltInKinds(std::map<api::Kind, Schema> schemas) : schemas_(std::move(schemas)) {}

  std::map<api::Kind, Schema> schemas_;
};

// Those of this program, loaded when they are first asked for.
const BuiltInKinds& built_in_kinds();

}  // namespace phalanx::admission

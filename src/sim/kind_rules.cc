#include "sim/kind_rules.h"

namespace phalanx::sim {

ApiResult<void> apply_defaults(const RuleInput& /*input*/, api::Kind /*kind*/,
                               json::value& /*object*/) {
  return {};
}

void check_object(const RuleInput& /*input*/, api::Kind /*kind*/, const json::value& /*object*/,
                  Problems& /*problems*/) {}

}  // namespace phalanx::sim

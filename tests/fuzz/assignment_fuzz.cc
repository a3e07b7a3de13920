// Any document must be refused or decoded; what was decoded must survive both wire forms unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"
#include "topology/assignment_encoding.h"

namespace {

using phalanx::api::TopologyAssignment;

// Universal values expand a hundred bytes to 100 000 domains; encoding such again and again would
// leave no time for anything else.
constexpr size_t kMostDomains = 5'000;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_same(const phalanx::json::value& encoded, const TopologyAssignment& assignment) {
  const auto again = phalanx::topology::decode_assignment(encoded, "again");
  require(again.has_value() && *again == assignment);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using phalanx::topology::Slicing;
  const auto document =
      phalanx::parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!document) return 0;
  const auto assignment = phalanx::topology::decode_assignment(*document, "fuzz");
  if (!assignment || assignment->domains.size() > kMostDomains) return 0;

  require_same(phalanx::topology::encode_v1beta1(*assignment), *assignment);
  const auto smallest = phalanx::topology::encode_v1beta2(*assignment, Slicing::kSmallest);
  const auto fewest = phalanx::topology::encode_v1beta2(*assignment, Slicing::kFewest);
  require(smallest.has_value() && fewest.has_value());
  require_same(*smallest, *assignment);
  require_same(*fewest, *assignment);

  // The text must be JSON again (no character cut in two), and the slices must pay.
  const std::string text = phalanx::json::serialize(*smallest);
  const auto parsed = phalanx::parse_json(text);
  require(parsed.has_value());
  require_same(*parsed, *assignment);
  require(text.size() <= phalanx::json::serialize(*fewest).size());
  return 0;
}

// Indices that cannot be mistaken for one another. Inside the engine every name is such an index;
// names are interned once at the edge (base/interner.h).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace phalanx {

template <typename Tag>
struct StrongId {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  uint32_t value = kNone;

  constexpr StrongId() = default;
  constexpr explicit StrongId(size_t index) : value(static_cast<uint32_t>(index)) {}
  [[nodiscard]] constexpr bool valid() const { return value != kNone; }
  constexpr auto operator<=>(const StrongId&) const = default;
};

using ResourceId = StrongId<struct ResourceTag>;
using NodeId = StrongId<struct NodeTag>;
using StringId = StrongId<struct StringTag>;
using TreeId = StrongId<struct TreeTag>;
using WorkloadId = StrongId<struct WorkloadTag>;

}  // namespace phalanx

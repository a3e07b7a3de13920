// The two wire forms of a topology assignment, both ways: v1beta1 (`domains`, one entry a domain)
// and v1beta2 (`slices`, parallel lists with common prefixes and suffixes taken out).
// KEP-2724, "Topology assignment representation".
//
// Invariants:
// - Decoding what was encoded gives the same levels and the same domains in the same order.
// - What encode_v1beta2 returns is within the limits of the CRD; what breaks one is an Error that
//   names the field. Lengths are counted as the API server does, in characters and not in bytes,
//   and no prefix or suffix ends inside a character. Texts are UTF-8, as all that came through a
//   JSON parser is.
// - The smallest slicing is never larger than the single slice. Slices are runs of consecutive
//   domains. Up to 1000 domains the slicing is the best there is; above that the 999 cuts to choose
//   from are picked greedily, within 0.1 % of the best for the names of naming_schemes.h. The quick
//   slicing chooses from fewer cuts where there are several levels and few domains; it is the
//   smallest one itself for one level, and for up to 64 domains of any levels.
// - decode_assignment never crashes, and what it allocates is bounded whatever the document claims:
//   until all of it is known to be good and within the limits by what the document has itself, and
//   then by the limits.
//
// Cost: encoding takes O(n log n) for n domains plus at most half a million comparisons of runs,
// each as long as there are levels, the quick one at most 512 comparisons of values for a domain;
// decoding O(n). 100 000 hostnames take 0.1 to 0.3 s to encode and 0.02 s to decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/topology_assignment.h"
#include "base/error.h"
#include "base/json.h"

namespace phalanx::topology {

// Limits of the CRD. Those of values hold for v1beta1 too: a longer text is no label value.
inline constexpr size_t kMaxLevels = 16;
inline constexpr size_t kMaxLevelLength = 317;
inline constexpr size_t kMaxValueLength = 63;
inline constexpr size_t kMaxSlices = 1000;
inline constexpr size_t kMaxDomainsPerSlice = 100'000;

// Limits of our own, so that a few bytes of document cannot ask for gigabytes: domains of an
// assignment, values (domains times levels) and the bytes of these values in a JSON text. Enough
// for 100 000 domains of 16 levels whose values are as long as label values may be.
inline constexpr size_t kMaxDomains = 1'000'000;
inline constexpr size_t kMaxValues = 2'000'000;
inline constexpr size_t kMaxTextBytes = size_t{128} << 20;

// How large an assignment is, or may be.
struct AssignmentSize {
  size_t domains = kMaxDomains;
  size_t values = kMaxValues;
  size_t text_bytes = kMaxTextBytes;
};
AssignmentSize size_of(const api::TopologyAssignment& assignment);

enum class Slicing : uint8_t {
  kSmallest,  // as many slices as make the text short
  kQuick,     // the same, but at a cost for each domain that is bounded: for what strangers send
  kFewest,    // one slice, or one for every 100 000 domains
};

// Checks nothing: the form can hold whatever the struct holds.
json::value encode_v1beta1(const api::TopologyAssignment& assignment);

Result<json::value> encode_v1beta2(const api::TopologyAssignment& assignment,
                                   Slicing slicing = Slicing::kSmallest);

// Reads either form; `path` is where the value stands in its document, for the error. Unknown
// fields are refused, as are limits exceeded and lists whose lengths disagree. It may be as large
// as `most`; who reads several lets them share what is left.
Result<api::TopologyAssignment> decode_assignment(const json::value& value, std::string_view path,
                                                  const AssignmentSize& most = {});
// The same, but only what would come of it: linear in the document, whatever that claims.
Result<AssignmentSize> measure_assignment(const json::value& value, std::string_view path,
                                          const AssignmentSize& most = {});

}  // namespace phalanx::topology

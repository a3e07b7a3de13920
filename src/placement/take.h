// The building blocks of phase 2: orders of domains, and handing out pods over an ordered list
// (reference/placement.md sections 5 and 6).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/domain_counts.h"

namespace phalanx::placement {

struct Candidate {
  uint32_t domain = 0;
  DomainNumbers numbers;
};
using CandidateList = std::vector<Candidate>;

// Whether units are slices or single pods.
enum class Mode : uint8_t { kSlices, kPods };

// What a domain was given.
struct Share {
  uint32_t domain = 0;
  int32_t pods = 0;
  int32_t leaders = 0;
};

CandidateList candidates(const DomainCounts& counts, int level, topology::DomainRange range);

// Slices descending (ascending for least_free), then pods ascending, then path.
void sort_plain(CandidateList& list, bool scored, bool least_free);
// Leaders first; then like the plain order, by what fits beside the leader.
void sort_by_leader(CandidateList& list, bool scored, bool least_free);

// The entry from `start` on that holds `need` with the least to spare; the first among equals. With
// scores only the leading run of equal scores is looked at. Without any such entry: `start`.
size_t tightest(const CandidateList& list, size_t start, int32_t need, int32_t leaders, Mode mode,
                bool scored);

// Moves to the front the first entry that can take the leader and still leaves room for `need`.
void move_leader_first(CandidateList& list, int32_t need, int32_t leaders, Mode mode);

struct TakeRequest {
  int32_t count = 0;  // pods
  int32_t leaders = 0;
  int32_t size = 1;  // of a slice, in pods
  Mode mode = Mode::kSlices;
  bool least_free = false;
  bool scored = false;
};

// Hands out the pods over the ordered list. Entries that got nothing stay in the result: their
// children still belong to the pool below. nullopt if the list does not hold the pods.
std::optional<std::vector<Share>> take(CandidateList list, const TakeRequest& request);

}  // namespace phalanx::placement

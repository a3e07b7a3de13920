// How much more than its own a ClusterQueue or cohort uses, so that queues can be compared
// (docs/reference/queueing.md, "Fair sharing").
#pragma once

#include <cstdint>
#include <vector>

#include "quota/quota_tree.h"

namespace phalanx::quota {

// The largest, over resources, of what the member borrows divided by what its parent could lend, in
// thousandths, divided by its weight. Infinite if it borrows with weight 0.
double fair_share(const QuotaTree& tree, MemberId member, Book book = Book::kPromised);

// As a status says it: rounded up, the largest number for an infinite one.
int64_t share_status(double share);

// The first workload of a queue, and what it would take on top.
struct Contender {
  MemberId queue;
  Amounts wanted;
};

// Whose turn it is: from the root down, the child whose share would be smallest; among equals the
// one that comes first. All queues are of one tree. Returns an index.
size_t next_by_share(QuotaTree& tree, const std::vector<Contender>& contenders);

}  // namespace phalanx::quota

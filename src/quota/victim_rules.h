// Who may be asked to go for a workload, and which sets of them are allowed
// (docs/reference/queueing.md, "Preemption" and "Fair sharing").
//
// Some rules are about one candidate, some about a whole set, because what a queue borrows depends
// on who else has gone. None depends on the order in which a set was found.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/queueing.h"
#include "base/time.h"
#include "quota/quota_tree.h"

namespace phalanx::quota {

// Who wants to be admitted.
struct Preemptor {
  MemberId queue;
  int32_t priority = 0;
  Time created{};
  Amounts wanted;
  // Of these: what decides who is asked, because it is lacking, or because there is no room.
  std::vector<FlavorResourceId> contested;
  api::Preemption policy;
  // Whoever holds something since then is not asked, or they could take turns for ever.
  std::optional<Time> spares_since = {};
};

// Who holds something.
struct Holder {
  std::string workload;
  MemberId queue;
  int32_t priority = 0;
  Time created{};
  Time reserved{};  // since when it holds
  Amounts usage;
  bool in_the_way = false;  // it uses nodes where the preemptor looks for room
};

// How sets that take from other queues are judged.
enum class Judgement : uint8_t {
  kReclaim,      // the preemptor must not borrow
  kBorrow,       // only those that a borrowing preemptor may take
  kFairSharing,  // by shares
};

enum class FairStrategy : uint8_t { kFinalShare, kInitialShare };

// Why a victim goes; the reason of its condition Preempted.
enum class VictimReason : uint8_t {
  kInClusterQueue,
  kReclamation,
  kReclaimWhileBorrowing,
  kFairSharing,
};

class VictimRules {
 public:
  // The tree's promised usage is that of nobody having gone. It is the same after every call.
  VictimRules(QuotaTree& tree, const Preemptor& preemptor, Judgement judgement,
              std::vector<FairStrategy> strategies);

  // Whether it can be in any set at all.
  [[nodiscard]] bool eligible(const Holder& holder) const;
  // Of an eligible one, with the usage of others gone already: whether it is worth taking, too. The
  // set may turn out not to be allowed because of those that went before.
  [[nodiscard]] bool may_go_next(const Holder& holder) const;
  // Whether the set may go; its usage is gone from the tree.
  [[nodiscard]] bool allowed(std::span<const Holder* const> gone) const;
  // Of one whose usage is gone: does the preemptor's side stay within what the judgement lets it
  // have, and could the victim not come back for it at once?
  [[nodiscard]] bool preemptor_may_take(const Holder& holder) const;
  // Whether others may be taken because this one goes: it uses what the preemptor's side is judged
  // by. Of an eligible one, with nobody gone.
  [[nodiscard]] bool eases_judgement(const Holder& holder) const;
  [[nodiscard]] VictimReason reason(const Holder& holder) const;

 private:
  [[nodiscard]] bool own(const Holder& holder) const { return holder.queue == preemptor_.queue; }
  [[nodiscard]] bool borrows(MemberId member, const Holder& holder) const;
  // Its queue, and every cohort up to the shared one.
  [[nodiscard]] bool side_borrows(const Holder& holder) const;
  [[nodiscard]] bool stays_within_quota(const Holder& holder) const;
  // Of a preemptor that borrows, with the victim's usage gone: by its own quota it cannot come
  // back.
  [[nodiscard]] bool found_borrowing(const Holder& holder) const;
  [[nodiscard]] bool shares_allow(const Holder& holder) const;

  QuotaTree& tree_;
  const Preemptor& preemptor_;
  Judgement judgement_;
  std::vector<FairStrategy> strategies_;
};

}  // namespace phalanx::quota

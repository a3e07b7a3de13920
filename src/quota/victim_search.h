// The choice of victims: the set of workloads that goes so that another one fits.
//
// A set will do if the rules allow it (quota/victim_rules.h), quota is then available and the pods
// can then be placed. The best one has, in this order,
//
//   the lowest highest priority, the fewest workloads, the youngest of them
//
// where sets of one size are compared by their oldest, then their second oldest, and so on.
//
// How it is found: workloads are taken out of the account, lowest priority first, until the request
// fits; that settles the priority. Then, domain by domain if the pods must sit in one, sets are
// built greedily in several orders and made minimal, and after that sought exhaustively from small
// to large and from young to old. Sums of what workloads use in a domain tell how many must go at
// least, and domains that cannot be better are not looked at. Each question to the placement engine
// is a step; when the steps are used up the best set found so far is taken. It never has a member
// that could stay.
//
// Everything happens on the cluster and the quota tree themselves and is undone at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quota/quota_tree.h"
#include "quota/victim_leaves.h"
#include "quota/victim_rules.h"
#include "topology/cluster.h"

namespace phalanx::quota {

// Pods that must sit in one domain of a level.
struct OneDomain {
  TreeId tree;
  int level = 0;
  topology::RequestVector pod;  // each of them
  int64_t pods = 0;
};

// Where the preemptor is to be placed, on the cluster as it is at the moment of the question.
class Room {
 public:
  Room() = default;
  virtual ~Room() = default;
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // Whether all of its pods can be placed.
  virtual bool fits() = 0;
  // If they must sit in one domain: of what kind, into which ones they fit, and whether into a
  // certain one.
  [[nodiscard]] virtual std::optional<OneDomain> one_domain() = 0;
  virtual std::vector<uint32_t> fitting_domains() = 0;
  virtual bool fits_in(uint32_t domain) = 0;
  // Trees that its pods are placed in.
  [[nodiscard]] virtual std::span<const TreeId> trees() const = 0;
};

struct Victims {
  std::vector<size_t> holders;  // indices, youngest first
  std::vector<VictimReason> reasons;
  int32_t highest_priority = 0;
  bool exact = true;  // no better set exists
};

struct SearchLimits {
  // Questions to the placement engine, at most (a set that was begun is finished).
  size_t steps = 4096;
};

class VictimSearch {
 public:
  // Holders are those that may be considered; who is not eligible is left out. An attempt must be
  // open on the cluster.
  VictimSearch(QuotaTree& tree, topology::Cluster& cluster, Room& room, const Preemptor& preemptor,
               std::span<const Holder> holders, SearchLimits limits);

  // The best set. Empty: it fits as things are. nullopt: there is none.
  std::optional<Victims> find(Judgement judgement, const std::vector<FairStrategy>& strategies);

  [[nodiscard]] size_t steps() const { return steps_; }
  // Those that could be in a set.
  [[nodiscard]] size_t candidates() const { return entries_.size(); }

 private:
  // Ranks, the oldest first.
  using Set = std::vector<uint32_t>;

  struct Entry {
    const Holder* holder = nullptr;
    size_t index = 0;     // in the caller's list
    size_t distance = 0;  // so many levels are the preemptor's alone
    bool eases_judgement = false;
    bool out = false;
    bool known = false;               // its leaves have been looked up
    VictimLeaves::Range leaves = {};  // all that the preemptor could use
    VictimLeaves::Range moved = {};   // of these: what is given back when it goes
    size_t place = 0;                 // in out_
  };
  // Something that is lacking at a site, and what each entry of the site could free of it.
  struct Lack {
    int64_t amount = 0;
    std::vector<int64_t> freed;
    ResourceId resource = {};  // of room
  };
  // A domain, or everything, with who could make room there.
  struct Site {
    std::optional<uint32_t> domain;
    std::vector<uint32_t> entries;  // ranks, youngest first
    std::vector<Lack> lacks;
    size_t at_least = 1;    // so many must go
    bool complete = false;  // those who can help from elsewhere are among the entries
    // So many must go of the entries or, as they are not complete, of anybody.
    size_t bound = 1;
    bool anybody = false;
  };

  void collect();
  void take_out(uint32_t rank);
  void put_back(uint32_t rank);
  void put_back_all();
  // Many at once.
  void take_out_all(std::span<const uint32_t> ranks);
  void mark_out(Entry& entry, uint32_t rank);
  void mark_back(Entry& entry);
  // While a site is searched, whoever goes gives back what it has there: the rest changes nothing.
  void enter(const Site& site);
  void leave(const Site& site);
  [[nodiscard]] bool quota_suffices() const;
  bool will_do(const Site& site);
  // Whether those that are out may go.
  [[nodiscard]] bool allowed() const;

  // The best set among the pool, which is out; nobody is afterwards.
  std::optional<Set> best_of_pool();
  std::vector<Site> sites_of_pool();
  // What is lacking in a domain while nobody has gone.
  void add_room_lacks(Site& site) const;
  void add_members(std::vector<Site>& sites) const;
  [[nodiscard]] std::vector<Lack> quota_lacks(const std::vector<uint32_t>& ranks) const;
  [[nodiscard]] static size_t bound_of(const std::vector<Lack>& lacks);
  // The best that a set at the site could be, as far as sums tell; the youngest first. Empty: there
  // is none.
  [[nodiscard]] std::span<const uint32_t> bound(const Site& site) const;
  [[nodiscard]] bool may_be_better(const Site& site, const Set& best) const;
  void complete(Site& site);

  void search_greedily(const Site& site, std::optional<Set>& best);
  std::optional<Set> greedy(const Site& site, const std::vector<uint32_t>& order);
  std::optional<Set> greedy_from_all(const Site& site);
  [[nodiscard]] std::vector<uint32_t> least_helpful_first(const Site& site) const;
  Set made_minimal(const Site& site);
  [[nodiscard]] std::vector<std::vector<uint32_t>> greedy_orders(const Site& site) const;
  [[nodiscard]] std::vector<uint32_t> order_by_leaf(const Site& site) const;

  void search_exhaustively(const Site& site, std::optional<Set>& best);
  bool descend(const Site& site, size_t missing, size_t limit);
  size_t shortest_prefix(const Site& site, size_t missing, size_t limit);
  [[nodiscard]] bool reachable(const Site& site, size_t missing, size_t limit) const;
  [[nodiscard]] Set out_set() const;
  // Fewer, or as many and younger.
  [[nodiscard]] static bool better(const Set& a, const Set& b);

  QuotaTree& tree_;
  topology::Cluster& cluster_;
  Room& room_;
  const Preemptor& preemptor_;
  std::span<const Holder> holders_;
  SearchLimits limits_;
  std::optional<VictimRules> rules_;
  std::vector<Entry> entries_;  // eligible ones, youngest first; the place is the rank
  VictimLeaves leaves_;         // of all entries
  std::vector<uint32_t> out_;   // ranks
  size_t others_out_ = 0;       // of other queues than the preemptor's
  bool lacks_quota_ = false;    // with nobody gone
  std::optional<OneDomain> one_domain_;
  std::vector<uint32_t> pool_;  // who may go, in the search for the best set
  size_t steps_ = 0;
  bool exhausted_ = false;
};

}  // namespace phalanx::quota

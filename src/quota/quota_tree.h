// The trees of cohorts and ClusterQueues: what each may use of every flavor resource, given its own
// quota, what others lend it, and what is used.
//
// A cohort's members lend what they do not keep (lendingLimit) and borrow at most so much
// (borrowingLimit); docs/reference/queueing.md defines the words. Usage is kept in two books:
//
//   held       what workloads have reserved, those on their way out included
//   promised   what will be held once those that are leaving are gone and those that their places
//              are held for have come
//
// Something is available only if it is in both, so nobody is admitted on what is still in use, and
// nobody on what is promised to somebody else. The choice of victims works on the second alone.
//
// Cost: a change of usage and a question cost the depth of the tree; a change of the members builds
// everything anew.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/queueing.h"
#include "base/strong_id.h"

namespace phalanx::quota {

struct FlavorResource {
  std::string flavor;
  std::string resource;

  auto operator<=>(const FlavorResource&) const = default;
};

using Usage = std::map<FlavorResource, int64_t>;

using FlavorResourceId = StrongId<struct FlavorResourceTag>;
using MemberId = StrongId<struct MemberTag>;  // a ClusterQueue or a cohort
// A Usage by ids, in their order.
using Amounts = std::vector<std::pair<FlavorResourceId, int64_t>>;

enum class Book : uint8_t { kHeld, kPromised };
constexpr std::array kBooks{Book::kHeld, Book::kPromised};

class QuotaTree {
 public:
  // The members, in place of those before; nothing is used afterwards. Parents that go round in a
  // circle are taken for none.
  void set_members(const std::map<std::string, api::ClusterQueue>& queues,
                   const std::map<std::string, api::Cohort>& cohorts);

  // Invalid if there is none such.
  [[nodiscard]] MemberId queue(const std::string& name) const;
  [[nodiscard]] MemberId cohort(const std::string& name) const;
  [[nodiscard]] const std::string& name(MemberId member) const {
    return members_[member.value].name;
  }
  // Invalid for a root.
  [[nodiscard]] MemberId parent(MemberId member) const { return members_[member.value].parent; }
  [[nodiscard]] MemberId root(MemberId member) const;
  [[nodiscard]] int64_t weight_milli(MemberId member) const {
    return members_[member.value].weight_milli;
  }
  [[nodiscard]] size_t size() const { return members_.size(); }
  // The members from a queue up to, without, the lowest one that holds both.
  [[nodiscard]] std::vector<MemberId> below_shared(MemberId queue, MemberId other) const;

  FlavorResourceId id(const FlavorResource& what);
  [[nodiscard]] const FlavorResource& what(FlavorResourceId id) const { return names_[id.value]; }
  [[nodiscard]] size_t flavor_resources() const { return names_.size(); }
  Amounts amounts(const Usage& usage);

  // Usage of a queue grows, or shrinks with the sign -1.
  void add(MemberId queue, const Amounts& amounts, int sign, Book book);

  [[nodiscard]] int64_t nominal(MemberId member, FlavorResourceId what) const {
    return cell(member, what).nominal;
  }
  [[nodiscard]] int64_t subtree_quota(MemberId member, FlavorResourceId what) const {
    return cell(member, what).subtree;
  }
  [[nodiscard]] int64_t usage(MemberId member, FlavorResourceId what, Book book) const {
    return cell(member, what).usage[static_cast<size_t>(book)];
  }
  // What may still be reserved, by one book or by both; below zero if quota was taken away.
  [[nodiscard]] int64_t available(MemberId member, FlavorResourceId what, Book book) const;
  [[nodiscard]] int64_t available(MemberId member, FlavorResourceId what) const;
  // The same if nobody used anything.
  [[nodiscard]] int64_t maximum(MemberId member, FlavorResourceId what) const;
  // Whether it uses more than its subtree's own quota, with so much on top. A root never borrows.
  [[nodiscard]] bool borrows(MemberId member, FlavorResourceId what, int64_t extra = 0) const;

 private:
  struct Cell {
    int64_t nominal = 0;
    int64_t subtree = 0;
    int64_t kept = 0;
    std::optional<int64_t> borrowing_limit;
    std::optional<int64_t> lending_limit;
    std::array<int64_t, kBooks.size()> usage{};
  };
  struct Member {
    std::string name;
    MemberId parent;
    int64_t weight_milli = api::kDefaultWeightMilli;
    std::vector<Cell> cells;  // by flavor resource; those beyond are zero
  };

  MemberId add_member(const std::string& name, int64_t weight_milli,
                      const std::vector<api::ResourceGroup>& groups);
  MemberId cohort_or_new(const std::string& name);
  void cut_circles();
  void sum_up();
  [[nodiscard]] const Cell& cell(MemberId member, FlavorResourceId what) const;
  Cell& cell(MemberId member, FlavorResourceId what);

  std::vector<Member> members_;
  std::map<std::string, MemberId> queues_;
  std::map<std::string, MemberId> cohorts_;
  std::map<FlavorResource, FlavorResourceId> ids_;
  std::vector<FlavorResource> names_;
};

// The cohorts that go round in a circle on the way up from this one, in order and beginning with
// the smallest name; empty if the way ends. A cohort without an object ends it.
std::vector<std::string> circle_above(const std::string& cohort,
                                      const std::map<std::string, api::Cohort>& cohorts);

}  // namespace phalanx::quota

// Which leaves a pod set may use at all: taints, node selector, required node affinity, and
// whether a replacement is confined to one domain (reference/placement.md 4.1).
//
// The same predicates serve placement, replacement, gang search and explanation. They look at
// nodes, so topologies that add nodes up to larger leaves skip all but the confinement. Cost: one
// pass over the leaves for each label key that is asked for, nothing if nothing is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/node_affinity.h"
#include "api/taint.h"
#include "topology/cluster.h"

namespace phalanx::placement {

// Why a leaf is not to be used.
enum class Exclusion : uint8_t { kNone, kTaint, kNodeSelector, kAffinity, kConfinement };

struct NodePredicates {
  std::map<std::string, std::string> node_selector;
  std::vector<api::Toleration> tolerations;  // the flavor's included
  api::NodeAffinity affinity;

  auto operator<=>(const NodePredicates&) const = default;
};

class NodeFilter {
 public:
  // Looks at every leaf, also those without a ready node: they may come back. `confinement` is the
  // leaf range a replacement must stay in.
  NodeFilter(const topology::Cluster& cluster, const topology::DomainTree& tree,
             const NodePredicates& predicates,
             std::optional<topology::DomainRange> confinement = std::nullopt,
             bool score_preferred = false);

  // Excludes what another filter excludes, too.
  void restrict_to(const NodeFilter& other);

  // Nothing is excluded: the common case, which costs no pass over the leaves.
  [[nodiscard]] bool admits_all() const { return exclusions_.empty(); }
  [[nodiscard]] bool admits(uint32_t leaf) const {
    return exclusions_.empty() || exclusions_[leaf] == Exclusion::kNone;
  }
  [[nodiscard]] Exclusion exclusion(uint32_t leaf) const {
    return exclusions_.empty() ? Exclusion::kNone : exclusions_[leaf];
  }
  // The taint that excludes a leaf (with Exclusion::kTaint).
  [[nodiscard]] const api::Taint& blocking_taint(uint32_t leaf) const;
  [[nodiscard]] std::optional<topology::DomainRange> confinement() const { return confinement_; }
  // Sum of the weights of the matching preferred terms, by leaf; empty if not asked for.
  [[nodiscard]] const std::vector<int64_t>& scores() const { return scores_; }

 private:
  void exclude(uint32_t leaf, Exclusion reason);
  void apply_taints(const std::vector<api::Toleration>& tolerations);
  void apply_selector(const std::map<std::string, std::string>& selector);
  // By leaf: whether any of the terms matches.
  [[nodiscard]] std::vector<bool> matches_any(
      const std::vector<api::NodeSelectorTerm>& terms) const;
  [[nodiscard]] std::vector<bool> matches(const api::NodeSelectorTerm& term) const;

  const topology::Cluster& cluster_;
  const topology::DomainTree& tree_;
  std::optional<topology::DomainRange> confinement_;
  std::vector<Exclusion> exclusions_;           // empty: none
  std::vector<const api::Taint*> untolerated_;  // by taint set
  std::vector<int64_t> scores_;
};

}  // namespace phalanx::placement

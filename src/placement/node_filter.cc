#include "placement/node_filter.h"

#include <algorithm>

#include "base/check.h"

namespace phalanx::placement {

NodeFilter::NodeFilter(const topology::Cluster& cluster, const topology::DomainTree& tree,
                       const NodePredicates& predicates,
                       std::optional<topology::DomainRange> confinement, bool score_preferred)
    : cluster_(cluster), tree_(tree), confinement_(confinement) {
  if (tree.by_host()) {
    apply_taints(predicates.tolerations);
    apply_selector(predicates.node_selector);
    if (predicates.affinity.required) {
      const std::vector<bool> matching = matches_any(*predicates.affinity.required);
      for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
        if (!matching[leaf]) exclude(leaf, Exclusion::kAffinity);
      }
    }
    if (score_preferred && !predicates.affinity.preferred.empty()) {
      scores_.assign(tree.leaf_count(), 0);
      for (const api::PreferredTerm& preferred : predicates.affinity.preferred) {
        const std::vector<bool> matching = matches(preferred.term);
        for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
          if (matching[leaf] && admits(leaf)) scores_[leaf] += preferred.weight;
        }
      }
    }
  }
  // After the scores: a leaf outside the confinement keeps its score.
  if (confinement) {
    for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
      if (leaf < confinement->begin || leaf >= confinement->end) {
        exclude(leaf, Exclusion::kConfinement);
      }
    }
  }
}

const api::Taint& NodeFilter::blocking_taint(uint32_t leaf) const {
  const api::Taint* taint = untolerated_[cluster_.taint_set(tree_.leaf_node(leaf)).value];
  CHECK(taint != nullptr);
  return *taint;
}

void NodeFilter::restrict_to(const NodeFilter& other) {
  for (uint32_t leaf = 0; leaf < tree_.leaf_count() && !other.admits_all(); ++leaf) {
    // The other's taints are judged by the other's tolerations: here it is one more condition.
    if (!other.admits(leaf)) exclude(leaf, Exclusion::kAffinity);
  }
}

void NodeFilter::exclude(uint32_t leaf, Exclusion reason) {
  if (exclusions_.empty()) exclusions_.assign(tree_.leaf_count(), Exclusion::kNone);
  if (exclusions_[leaf] == Exclusion::kNone) exclusions_[leaf] = reason;
}

void NodeFilter::apply_taints(const std::vector<api::Toleration>& tolerations) {
  // Whoever tolerates a taint for some seconds only would be ended after these: no place to start.
  std::vector<api::Toleration> lasting = tolerations;
  std::erase_if(lasting, [](const api::Toleration& one) { return one.seconds.has_value(); });
  // Few distinct sets of taints stand on many nodes: judge each set once.
  untolerated_.assign(cluster_.taint_set_count(), nullptr);
  bool any = false;
  for (size_t set = 0; set < untolerated_.size(); ++set) {
    untolerated_[set] = api::first_untolerated(cluster_.taints(topology::TaintSetId(set)), lasting);
    any |= untolerated_[set] != nullptr;
  }
  if (!any) return;
  for (uint32_t leaf = 0; leaf < tree_.leaf_count(); ++leaf) {
    // A node that is not ready keeps its taints; one that was deleted has none.
    const topology::TaintSetId taints = cluster_.taint_set(tree_.leaf_node(leaf));
    if (taints.valid() && untolerated_[taints.value] != nullptr) exclude(leaf, Exclusion::kTaint);
  }
}

void NodeFilter::apply_selector(const std::map<std::string, std::string>& selector) {
  for (const auto& [key, value] : selector) {
    const StringId key_id = cluster_.find_string(key);
    const StringId value_id = cluster_.find_string(value);
    for (uint32_t leaf = 0; leaf < tree_.leaf_count(); ++leaf) {
      const bool matching = key_id.valid() && value_id.valid() &&
                            cluster_.label(tree_.leaf_node(leaf), key_id) == value_id;
      if (!matching) exclude(leaf, Exclusion::kNodeSelector);
    }
  }
}

std::vector<bool> NodeFilter::matches_any(const std::vector<api::NodeSelectorTerm>& terms) const {
  std::vector<bool> result(tree_.leaf_count(), false);
  for (const api::NodeSelectorTerm& term : terms) {
    const std::vector<bool> matching = matches(term);
    for (uint32_t leaf = 0; leaf < tree_.leaf_count(); ++leaf) {
      if (matching[leaf]) result[leaf] = true;
    }
  }
  return result;
}

std::vector<bool> NodeFilter::matches(const api::NodeSelectorTerm& term) const {
  if (term.expressions.empty() && term.fields.empty()) {
    return std::vector<bool>(tree_.leaf_count(), false);
  }
  std::vector<bool> result(tree_.leaf_count(), true);
  for (const api::NodeSelectorRequirement& requirement : term.expressions) {
    const StringId key = cluster_.find_string(requirement.key);
    for (uint32_t leaf = 0; leaf < tree_.leaf_count(); ++leaf) {
      if (!result[leaf]) continue;
      const StringId value = key.valid() ? cluster_.label(tree_.leaf_node(leaf), key) : StringId();
      std::optional<std::string_view> text;
      if (value.valid()) text = cluster_.text(value);
      result[leaf] = requirement.matches(text);
    }
  }
  for (const api::NodeSelectorRequirement& requirement : term.fields) {
    for (uint32_t leaf = 0; leaf < tree_.leaf_count(); ++leaf) {
      result[leaf] = result[leaf] && requirement.matches(cluster_.node_name(tree_.leaf_node(leaf)));
    }
  }
  return result;
}

}  // namespace phalanx::placement

#include "cli/quota_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/quantity.h"
#include "base/saturating.h"

namespace phalanx::cli {
namespace {

using quota::Book;

class Figures {
 public:
  Figures(core::Core& core, const core::WorkloadState& workload, const api::ClusterQueue& queue)
      : core_(core),
        tree_(core.state().ledger.tree()),
        workload_(workload),
        queue_(queue),
        member_(tree_.queue(queue.meta.name)) {}

  QuotaFigures of(size_t pod_set, const std::string& flavor, const api::ResourceQuota& quota) {
    const api::ResourceAmounts& requests = workload_.quota_requests[pod_set];
    const auto request = requests.find(quota.resource);
    const int64_t each =
        (request == requests.end() ? 0 : request->second) + (quota.resource == "pods" ? 1 : 0);
    const api::WorkloadPodSet& asked = workload_.object.pod_sets[pod_set];
    const quota::FlavorResourceId what = tree_.id({flavor, quota.resource});
    QuotaFigures figures;
    figures.resource = quota.resource;
    figures.needed = saturating_multiply(each, workload_.request.pod_sets[pod_set].count);
    if (asked.min_count) figures.least = saturating_multiply(each, *asked.min_count);
    figures.nominal = quota.nominal;
    if (!member_.valid()) return figures;
    figures.used = tree_.usage(member_, what, Book::kHeld);
    figures.cohort = queue_.cohort;
    figures.available = std::max<int64_t>(0, tree_.available(member_, what));
    if (tree_.available(member_, what, Book::kHeld) < figures.own_left()) {
      figures.borrowed_by = borrowers(what);
    }
    if (tree_.available(member_, what, Book::kPromised) < figures.wanted()) {
      figures.held_for = held_for(what);
    }
    return figures;
  }

 private:
  [[nodiscard]] bool shares_with(const std::string& cluster_queue) const {
    const quota::MemberId other = tree_.queue(cluster_queue);
    return other.valid() && tree_.root(other) == tree_.root(member_);
  }

  [[nodiscard]] QuotaFigures::Shares borrowers(quota::FlavorResourceId what) const {
    QuotaFigures::Shares shares;
    for (const auto& [name, queue] : core_.state().cluster_queues) {
      if (name == queue_.meta.name || !shares_with(name)) continue;
      const quota::MemberId other = tree_.queue(name);
      const int64_t beyond =
          tree_.usage(other, what, Book::kHeld) - tree_.subtree_quota(other, what);
      if (beyond > 0) shares.emplace_back(name, beyond);
    }
    return shares;
  }

  [[nodiscard]] QuotaFigures::Shares held_for(quota::FlavorResourceId what) const {
    QuotaFigures::Shares shares;
    for (const auto& [name, held] : core_.scheduler().nominations().all()) {
      if (name == workload_.request.name || !shares_with(held.cluster_queue)) continue;
      const auto usage = held.place.reservation.usage.find(tree_.what(what));
      if (usage != held.place.reservation.usage.end()) shares.emplace_back(name, usage->second);
    }
    return shares;
  }

  core::Core& core_;
  quota::QuotaTree& tree_;
  const core::WorkloadState& workload_;
  const api::ClusterQueue& queue_;
  quota::MemberId member_;
};

json::object shares_json(const QuotaFigures& figures, const QuotaFigures::Shares& shares) {
  json::object object;
  for (const auto& [name, amount] : shares) object[name] = format_amount(figures.resource, amount);
  return object;
}

}  // namespace

std::vector<QuotaFigures> quota_figures(core::Core& core, const core::WorkloadState& workload,
                                        size_t pod_set, const api::ClusterQueue& queue,
                                        const std::string& flavor) {
  std::vector<QuotaFigures> result;
  Figures figures(core, workload, queue);
  for (const api::ResourceGroup& group : queue.groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      if (quotas.flavor != flavor) continue;
      for (const api::ResourceQuota& quota : quotas.resources) {
        QuotaFigures one = figures.of(pod_set, flavor, quota);
        if (one.needed > 0) result.push_back(std::move(one));
      }
    }
  }
  return result;
}

std::string figures_text(const QuotaFigures& figures) {
  const auto amount = [&](int64_t value) { return format_amount(figures.resource, value); };
  const auto shares = [&](const QuotaFigures::Shares& all) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : all) {
      texts.push_back(fmt::format("{} {}", name, amount(value)));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  std::string text = fmt::format("{}: needs {}", figures.resource, amount(figures.needed));
  if (figures.least) text += fmt::format(", at least {}", amount(*figures.least));
  text += fmt::format(", used {} of {}", amount(figures.used), amount(figures.nominal));
  if (!figures.cohort.empty() && figures.wanted() > figures.own_left()) {
    text += fmt::format(", {} more to borrow in cohort {}",
                        amount(std::max<int64_t>(0, figures.available - figures.own_left())),
                        figures.cohort);
  }
  if (figures.missing() > 0) text += fmt::format("; {} short", amount(figures.missing()));
  if (!figures.borrowed_by.empty()) {
    text += fmt::format("; borrowed by {}", shares(figures.borrowed_by));
  }
  if (!figures.held_for.empty()) text += fmt::format("; held for {}", shares(figures.held_for));
  return text;
}

json::object figures_json(const QuotaFigures& figures) {
  const auto amount = [&](int64_t value) { return format_amount(figures.resource, value); };
  json::object object{{"resource", figures.resource},
                      {"needed", amount(figures.needed)},
                      {"used", amount(figures.used)},
                      {"nominal", amount(figures.nominal)},
                      {"available", amount(figures.available)}};
  if (figures.least) object["least"] = amount(*figures.least);
  if (!figures.cohort.empty()) object["cohort"] = figures.cohort;
  if (!figures.borrowed_by.empty()) {
    object["borrowedBy"] = shares_json(figures, figures.borrowed_by);
  }
  if (!figures.held_for.empty()) object["heldFor"] = shares_json(figures, figures.held_for);
  return object;
}

}  // namespace phalanx::cli

#include "placement/level_plan.h"

#include <fmt/format.h>

namespace phalanx::placement {
namespace {

Result<int> requested_level(const topology::DomainTree& tree,
                            const std::optional<api::TopologyRequest>& request, bool slice_only) {
  const std::string* key = nullptr;
  if (request && request->required) key = &*request->required;
  if (key == nullptr && request && request->preferred) key = &*request->preferred;
  if (key == nullptr) {
    if (slice_only) return 0;
    if (!request || request->unconstrained) return tree.lowest();
    return fail("topology level not specified");
  }
  if (auto level = tree.find_level(*key)) return *level;
  return fail(fmt::format("no requested topology level: {}", *key));
}

// The layers after the first, each against the one before it.
Result<void> plan_inner_layers(const topology::DomainTree& tree, LevelPlan& plan) {
  int previous_level = plan.slice_level;
  for (size_t index = 1; index < plan.constraints.size(); ++index) {
    const api::SliceConstraint& layer = plan.constraints[index];
    const api::SliceConstraint& outer = plan.constraints[index - 1];
    const auto level = tree.find_level(layer.topology);
    if (!level) {
      return fail(fmt::format("no requested topology level for additional slice layer: {}",
                              layer.topology));
    }
    if (*level <= previous_level) {
      return fail(fmt::format("additional slice layer topology {} must be at a lower level than {}",
                              layer.topology, outer.topology));
    }
    if (layer.size <= 0 || outer.size % layer.size != 0) {
      return fail(
          fmt::format("additional slice layer size {} must evenly divide parent layer size {}",
                      layer.size, outer.size));
    }
    for (int covered = previous_level + 1; covered <= *level; ++covered) {
      plan.inner_size[covered] = layer.size;
    }
    previous_level = *level;
  }
  return {};
}

}  // namespace

LevelPlan plan_anywhere(const topology::DomainTree& tree, int level, int32_t pods) {
  LevelPlan plan;
  plan.count = plan.slices = pods;
  plan.level = level;
  plan.slice_level = tree.lowest();
  plan.anywhere = true;
  plan.inner_size.assign(tree.level_count(), 0);
  return plan;
}

Result<LevelPlan> plan_levels(const topology::DomainTree& tree,
                              const std::optional<api::TopologyRequest>& request, int32_t count,
                              const Options& options) {
  LevelPlan plan;
  plan.count = count;
  plan.inner_size.assign(tree.level_count(), 0);
  if (request) plan.constraints = request->constraints();
  if (!plan.constraints.empty()) {
    plan.slice_size = plan.constraints[0].size;
    if (plan.slice_size <= 0) return fail("slice topology requested, but slice size not provided");
  }
  plan.required = request && request->required;
  const bool preferred = request && request->preferred;
  const bool slice_only = !plan.constraints.empty() && !plan.required && !preferred;
  plan.anywhere = !request || request->unconstrained || slice_only;

  ASSIGN_OR_RETURN(plan.level, requested_level(tree, request, slice_only));
  plan.slice_level = tree.lowest();
  if (!plan.constraints.empty()) {
    const auto level = tree.find_level(plan.constraints[0].topology);
    if (!level) {
      return fail(
          fmt::format("no requested topology level for slices: {}", plan.constraints[0].topology));
    }
    plan.slice_level = *level;
  }
  if (plan.level > plan.slice_level) {
    return fail(fmt::format("podset slice topology {} is above the podset topology {}",
                            tree.level_key(plan.slice_level), tree.level_key(plan.level)));
  }
  RETURN_IF_ERROR(plan_inner_layers(tree, plan));
  if (count % plan.slice_size != 0) {
    return fail(fmt::format(
        "{} pods do not divide into slices of {}; make the pod count a multiple of the slice size",
        count, plan.slice_size));
  }
  plan.slices = count / plan.slice_size;
  plan.least_free = plan.anywhere && options.profile == Profile::kMixed;
  plan.balanced =
      (options.balanced || (request && request->balanced)) && !plan.required && !plan.anywhere;
  return plan;
}

}  // namespace phalanx::placement

// Rules of ClusterQueue, Cohort, LocalQueue and AdmissionCheck.
#include <fmt/format.h>

#include <map>

#include "admission/names.h"
#include "admission/rules.h"
#include "base/quantity.h"

namespace phalanx::admission {
namespace {

// What differs between the quotas of a ClusterQueue and of a Cohort.
struct QuotaRules {
  bool has_parent = false;        // there is somebody to borrow from and lend to
  std::string_view parent_field;  // where it is named
  bool lends_own_only = false;    // no more can be lent than the nominal quota
};

// The amount of a quantity, or nullopt and a problem. Absent is no amount and no problem.
std::optional<int64_t> amount_of(std::string_view resource, const Place& quantity,
                                 ProblemList& problems) {
  if (!quantity.present()) return std::nullopt;
  const auto amount = parse_bounded_amount(resource, quantity.quantity());
  if (amount) return *amount;
  problems.add(quantity.path(), amount.error().message);
  return std::nullopt;
}

void check_quota(const Place& quota, const QuotaRules& rules, ProblemList& problems) {
  const std::string_view resource = quota["name"].text();
  const auto nominal = amount_of(resource, quota["nominalQuota"], problems);
  amount_of(resource, quota["borrowingLimit"], problems);
  const auto lending = amount_of(resource, quota["lendingLimit"], problems);
  for (const std::string_view field : {"borrowingLimit", "lendingLimit"}) {
    if (rules.has_parent || !quota[field].present()) continue;
    problems.add(
        quota[field].path(),
        fmt::format("needs a cohort to {}; name one in spec.{}, or remove the limit",
                    field == "borrowingLimit" ? "borrow from" : "lend to", rules.parent_field));
  }
  if (rules.lends_own_only && nominal && lending && *lending > *nominal) {
    problems.add(quota["lendingLimit"].path(),
                 fmt::format("is {}, but no more than the nominalQuota of {} can be lent",
                             quota["lendingLimit"].quantity(), quota["nominalQuota"].quantity()));
  }
}

class ResourceGroupRules {
 public:
  ResourceGroupRules(const QuotaRules& rules, ProblemList& problems)
      : rules_(rules), problems_(problems) {}

  void check(const Place& groups) {
    for (const Place& group : groups.elements()) check_group(group);
  }

 private:
  void check_group(const Place& group) {
    const std::vector<Place> covered = group["coveredResources"].elements();
    for (const Place& resource : covered) {
      if (!is_label_key(resource.text())) {
        problems_.add(resource.path(),
                      fmt::format("\"{}\" is not the name of a resource; use one such as cpu or "
                                  "nvidia.com/gpu",
                                  resource.text()));
      }
      once(resources_, "resource", resource);
    }
    for (const Place& flavor : group["flavors"].elements()) {
      once(flavors_, "flavor", flavor["name"]);
      check_flavor(flavor, covered);
    }
  }

  void check_flavor(const Place& flavor, const std::vector<Place>& covered) {
    const std::vector<Place> quotas = flavor["resources"].elements();
    if (quotas.size() != covered.size()) {
      problems_.add(flavor["resources"].path(),
                    fmt::format("has {}, but must have {}, one for each of coveredResources",
                                counted(quotas.size(), "item"), covered.size()));
    }
    for (size_t i = 0; i < quotas.size(); ++i) {
      const Place name = quotas[i]["name"];
      if (i < covered.size() && name.text() != covered[i].text()) {
        problems_.add(name.path(),
                      fmt::format("is {}, but must be {}: resources go in the order of "
                                  "coveredResources",
                                  name.text(), covered[i].text()));
      }
      check_quota(quotas[i], rules_, problems_);
    }
  }

  // A resource or flavor belongs to one group, and stands there once.
  void once(std::map<std::string, std::string>& seen, std::string_view what, const Place& name) {
    const auto [entry, is_new] = seen.emplace(name.text(), name.path());
    if (is_new) return;
    problems_.add(name.path(), fmt::format("the {} {} is already in {}; keep one of them", what,
                                           name.text(), entry->second));
  }

  const QuotaRules& rules_;
  ProblemList& problems_;
  std::map<std::string, std::string> resources_;  // name to its first path
  std::map<std::string, std::string> flavors_;
};

void check_weight(const Place& fair_sharing, ProblemList& problems) {
  amount_of("weight", fair_sharing["weight"], problems);
}

void check_immutable(const Place& before, const Place& after, std::string_view kind,
                     ProblemList& problems) {
  if (!before.present() || !after.present() || before.same_as(after)) return;
  problems.add(after.path(), fmt::format("is {} and cannot be changed; create another {} instead",
                                         before.text(), kind));
}

void check_flavor_fungibility(const Place& fungibility, ProblemList& problems) {
  if (!fungibility["preference"].present()) return;
  for (const std::string_view field : {"whenCanBorrow", "whenCanPreempt"}) {
    if (fungibility[field].text() == "TryNextFlavor") continue;
    problems.add(fungibility[field].path(),
                 "must be TryNextFlavor beside a preference: only flavors that were all tried can "
                 "be compared");
  }
}

void check_preemption(const Place& preemption, ProblemList& problems) {
  const Place borrowing = preemption["borrowWithinCohort"];
  if (preemption["reclaimWithinCohort"].text() != "Never" || !borrowing.present()) return;
  if (borrowing["policy"].text() == "Never") return;
  problems.add(borrowing["policy"].path(),
               fmt::format("is {}, but reclaimWithinCohort is Never; set that to LowerPriority or "
                           "Any, or this to Never",
                           borrowing["policy"].text()));
}

}  // namespace

void check_cluster_queue(const Change& change, ProblemList& problems) {
  if (change.status) return;
  const Place spec = change.after["spec"];
  const QuotaRules rules{.has_parent = !spec["cohortName"].text().empty(),
                         .parent_field = "cohortName",
                         .lends_own_only = true};
  ResourceGroupRules(rules, problems).check(spec["resourceGroups"]);
  check_flavor_fungibility(spec["flavorFungibility"], problems);
  check_preemption(spec["preemption"], problems);
  check_label_selector(spec["namespaceSelector"], problems);
  check_weight(spec["fairSharing"], problems);
}

void check_cohort(const Change& change, ProblemList& problems) {
  if (change.status) return;
  const Place spec = change.after["spec"];
  // A cohort may lend what its members have, too.
  const QuotaRules rules{.has_parent = !spec["parentName"].text().empty(),
                         .parent_field = "parentName",
                         .lends_own_only = false};
  ResourceGroupRules(rules, problems).check(spec["resourceGroups"]);
  check_weight(spec["fairSharing"], problems);
}

void check_local_queue(const Change& change, ProblemList& problems) {
  if (change.status) return;
  check_immutable(change.before["spec"]["clusterQueue"], change.after["spec"]["clusterQueue"],
                  "LocalQueue", problems);
  check_weight(change.after["spec"]["fairSharing"], problems);
}

void check_admission_check(const Change& change, ProblemList& problems) {
  if (change.status) return;
  check_immutable(change.before["spec"]["controllerName"], change.after["spec"]["controllerName"],
                  "AdmissionCheck", problems);
}

}  // namespace phalanx::admission

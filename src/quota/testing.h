// What the tests of quota share: queues and cohorts in a few words, and a slow tree that knows
// nothing of books, cells or bubbling. It computes every word of docs/reference/queueing.md from
// its sentence there, each time anew, so that QuotaTree has something to be compared with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/queueing.h"
#include "quota/quota_tree.h"

namespace phalanx::quota::testing {

using Queues = std::map<std::string, api::ClusterQueue>;
using Cohorts = std::map<std::string, api::Cohort>;

// One flavor resource of a queue or cohort.
struct Quota {
  FlavorResource what;
  int64_t nominal = 0;
  std::optional<int64_t> borrowing_limit = {};
  std::optional<int64_t> lending_limit = {};
};

void add_queue(Queues& queues, const std::string& name, const std::string& cohort,
               const std::vector<Quota>& quotas, int64_t weight_milli = api::kDefaultWeightMilli);
void add_cohort(Cohorts& cohorts, const std::string& name, const std::string& parent,
                const std::vector<Quota>& quotas, int64_t weight_milli = api::kDefaultWeightMilli);

// The words of the document. Names of queues and cohorts differ; no circles.
class SlowTree {
 public:
  SlowTree(const Queues& queues, const Cohorts& cohorts);

  void add(const std::string& queue, const Usage& usage, int sign);

  // Empty for a root.
  [[nodiscard]] const std::string& parent(const std::string& member) const;
  [[nodiscard]] std::string root(const std::string& member) const;
  // From the queue up to, without, the first member that is above the other, too.
  [[nodiscard]] std::vector<std::string> below_shared(const std::string& queue,
                                                      const std::string& other) const;
  [[nodiscard]] std::vector<std::string> members() const;

  [[nodiscard]] int64_t subtree_quota(const std::string& member, const FlavorResource& what) const;
  [[nodiscard]] int64_t kept(const std::string& member, const FlavorResource& what) const;
  [[nodiscard]] int64_t usage(const std::string& member, const FlavorResource& what) const;
  [[nodiscard]] int64_t available(const std::string& member, const FlavorResource& what) const;
  [[nodiscard]] int64_t maximum(const std::string& member, const FlavorResource& what) const;
  [[nodiscard]] bool borrows(const std::string& member, const FlavorResource& what) const;
  [[nodiscard]] double share(const std::string& member) const;
  // Beyond what its limits let it have; such a tree was over-admitted.
  [[nodiscard]] bool exceeds(const std::string& member, const FlavorResource& what) const;

 private:
  struct Member {
    std::string parent;
    int64_t weight_milli = api::kDefaultWeightMilli;
    std::map<FlavorResource, api::ResourceQuota> quotas;
    std::vector<std::string> children;
    bool is_queue = false;
    Usage usage;  // of a queue
  };

  void put(const std::string& name, const std::string& parent, int64_t weight_milli,
           const std::vector<api::ResourceGroup>& groups, bool is_queue);
  [[nodiscard]] api::ResourceQuota quota(const std::string& member,
                                         const FlavorResource& what) const;

  std::map<std::string, Member> members_;
};

}  // namespace phalanx::quota::testing

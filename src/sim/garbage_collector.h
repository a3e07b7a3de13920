// Cascading deletion by ownerReferences, and of namespaces.
//
// - an object whose owners (by uid) are all gone is deleted; if some are left, the references to
//   the others are removed. Owners of kinds that are not kept here count as there
// - foreground: an owner with the finalizer foregroundDeletion waits until the dependents that
//   block its deletion are gone; all its dependents are deleted
// - orphan: the references of the dependents are removed, then the finalizer
// - a namespace that is being deleted is emptied, then removed
//
// Cost: a change costs its owners and dependents. Every object of the cluster is referred to.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/component.h"
#include "sim/informer.h"
#include "sim/timers.h"

namespace phalanx::sim {

class GarbageCollector : public Component {
 public:
  explicit GarbageCollector(ApiServer& server);

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override { return timers_.next(); }

 private:
  void observe(const Change& change);
  void enqueue_relatives(const Change& change, std::set<api::ObjectKey>& affected) const;

  void sync(const api::ObjectKey& key);
  void check_owners(const api::ObjectKey& key, const json::value& object);
  void delete_foreground(const api::ObjectKey& key, const json::value& owner);
  void orphan_dependents(const api::ObjectKey& key, const json::value& owner);
  void empty_namespace(const api::ObjectKey& key);
  // Removes the references to these owners.
  ApiResult<void> disown(const json::value& object, const std::set<std::string>& uids);
  [[nodiscard]] std::set<api::ObjectKey> dependents_of(const json::value& owner) const;
  void retry_unless(const ApiResult<void>& written, const api::ObjectKey& key);

  ApiServer& server_;
  Informer informer_;
  Timers timers_;
  std::map<std::string, api::ObjectKey> by_uid_;
  std::map<std::string, std::set<api::ObjectKey>> dependents_;  // by the owner's uid
};

}  // namespace phalanx::sim

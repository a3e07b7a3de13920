// Which objects exist, and in which version: of every object that was told, also of the many pods
// that are nobody's business here. There may be a million, so an entry is small: one string for its
// address, and the uid as the number that it is.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/kind.h"
#include "core/event.h"

namespace phalanx::core {

struct Known {
  std::string uid;
  uint64_t resource_version = 0;
};

// What is told of an object may be older than what is known of it: answers to writes come ahead of
// the watch, which tells the same once more, and lists take their time. Whoever follows objects
// judges by these three, so that all come to know the same.
enum class Arrival : uint8_t {
  kNewer,
  kNotNewer,  // than what is known
  kAnother,   // another object of the same name: the known one is gone
};
Arrival judge(const Known& known, const Object& told);
// Whether it is the known object that was deleted.
bool concerns(const ObjectDeleted& deleted, const Known& known);
// Whether the object was there before the list was made and is not on it.
bool is_missing_from(const Listed& listed, const api::ObjectKey& key, uint64_t resource_version);

class KnownObjects {
 public:
  [[nodiscard]] std::optional<Known> find(const api::ObjectKey& key) const;
  [[nodiscard]] bool contains(const api::ObjectKey& key) const { return entry(key) != nullptr; }
  // Of what is not known: empty, and 0.
  [[nodiscard]] std::string uid(const api::ObjectKey& key) const;
  [[nodiscard]] uint64_t version(const api::ObjectKey& key) const;

  void put(const api::ObjectKey& key, const std::string& uid, uint64_t resource_version);
  bool erase(const api::ObjectKey& key);
  // How many of each kind that there ever was.
  [[nodiscard]] std::map<api::Kind, size_t> counts() const;
  // What was there before the list was made and is not on it, in order.
  [[nodiscard]] std::vector<api::ObjectKey> missing_from(const Listed& listed) const;

 private:
  using Uuid = std::array<uint64_t, 2>;
  struct Entry {
    Uuid uid{};  // zero: the uid is none or another kind of text, see other_uids_
    uint64_t resource_version = 0;
  };
  using Entries = boost::unordered_flat_map<std::string, Entry>;  // by full name

  static std::optional<Uuid> read_uuid(std::string_view text);
  static std::string format_uuid(const Uuid& uuid);
  [[nodiscard]] const Entry* entry(const api::ObjectKey& key) const;
  [[nodiscard]] std::string uid_of(const api::ObjectKey& key, const Entry& entry) const;

  std::map<api::Kind, Entries> kinds_;
  std::map<api::ObjectKey, std::string> other_uids_;
};

}  // namespace phalanx::core

#include "core/known_objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/object.h"

namespace phalanx::core {
namespace {

constexpr std::string_view kUuidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

// As API servers write it: lower case. What could be written otherwise would not come back equal.
std::optional<uint64_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint64_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint64_t>(c - 'a') + 10;
  return std::nullopt;
}

}  // namespace

Arrival judge(const Known& known, const Object& told) {
  const bool not_newer =
      known.resource_version >= told.resource_version && told.resource_version != 0;
  if (not_newer) return Arrival::kNotNewer;
  const bool another = !known.uid.empty() && known.uid != told.uid;
  return another ? Arrival::kAnother : Arrival::kNewer;
}

bool concerns(const ObjectDeleted& deleted, const Known& known) {
  const bool other = !deleted.uid.empty() && known.uid != deleted.uid;
  // Of another one with the same name: told late if that one was replaced, early if it is the next.
  return !other || known.resource_version <= deleted.resource_version;
}

bool is_missing_from(const Listed& listed, const api::ObjectKey& key, uint64_t resource_version) {
  return resource_version <= listed.resource_version && !listed.keys.contains(key);
}

std::optional<KnownObjects::Uuid> KnownObjects::read_uuid(std::string_view text) {
  if (text.size() != kUuidForm.size()) return std::nullopt;
  Uuid uuid{};
  size_t digits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kUuidForm[i] == '-') {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const auto digit = hex_digit(text[i]);
    if (!digit) return std::nullopt;
    uint64_t& half = uuid.at(digits++ / 16);
    half = half << 4 | *digit;
  }
  return uuid == Uuid{} ? std::nullopt : std::optional(uuid);
}

std::string KnownObjects::format_uuid(const Uuid& uuid) {
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", uuid[0] >> 32, uuid[0] >> 16 & 0xFFFF,
                     uuid[0] & 0xFFFF, uuid[1] >> 48, uuid[1] & 0xFFFF'FFFF'FFFF);
}

const KnownObjects::Entry* KnownObjects::entry(const api::ObjectKey& key) const {
  const auto entries = kinds_.find(key.kind);
  if (entries == kinds_.end()) return nullptr;
  const auto found = entries->second.find(full_name(key));
  return found == entries->second.end() ? nullptr : &found->second;
}

std::string KnownObjects::uid_of(const api::ObjectKey& key, const Entry& entry) const {
  if (entry.uid != Uuid{}) return format_uuid(entry.uid);
  const auto other = other_uids_.find(key);
  return other == other_uids_.end() ? "" : other->second;
}

std::optional<Known> KnownObjects::find(const api::ObjectKey& key) const {
  const Entry* found = entry(key);
  if (found == nullptr) return std::nullopt;
  return Known{uid_of(key, *found), found->resource_version};
}

std::string KnownObjects::uid(const api::ObjectKey& key) const {
  const Entry* found = entry(key);
  return found == nullptr ? "" : uid_of(key, *found);
}

uint64_t KnownObjects::version(const api::ObjectKey& key) const {
  const Entry* found = entry(key);
  return found == nullptr ? 0 : found->resource_version;
}

void KnownObjects::put(const api::ObjectKey& key, const std::string& uid,
                       uint64_t resource_version) {
  const auto uuid = read_uuid(uid);
  kinds_[key.kind].insert_or_assign(full_name(key), Entry{uuid.value_or(Uuid{}), resource_version});
  if (uuid || uid.empty()) {
    if (!other_uids_.empty()) other_uids_.erase(key);
  } else {
    other_uids_.insert_or_assign(key, uid);
  }
}

bool KnownObjects::erase(const api::ObjectKey& key) {
  if (!other_uids_.empty()) other_uids_.erase(key);
  const auto entries = kinds_.find(key.kind);
  return entries != kinds_.end() && entries->second.erase(full_name(key)) != 0;
}

std::vector<api::ObjectKey> KnownObjects::missing_from(const Listed& listed) const {
  std::vector<api::ObjectKey> missing;
  const auto entries = kinds_.find(listed.kind);
  if (entries == kinds_.end()) return missing;
  for (const auto& [name, entry] : entries->second) {
    api::ObjectKey key = key_of(listed.kind, name);
    if (is_missing_from(listed, key, entry.resource_version)) missing.push_back(std::move(key));
  }
  std::ranges::sort(missing);
  return missing;
}

std::map<api::Kind, size_t> KnownObjects::counts() const {
  std::map<api::Kind, size_t> counts;
  for (const auto& [kind, entries] : kinds_) counts[kind] = entries.size();
  return counts;
}

}  // namespace phalanx::core

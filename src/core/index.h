// Indexes of the state: sets by key, without empty ones.
#pragma once

namespace phalanx::core {

template <typename Index, typename Key, typename Value>
void erase_from(Index& index, const Key& key, const Value& value) {
  const auto found = index.find(key);
  if (found == index.end()) return;
  found->second.erase(value);
  if (found->second.empty()) index.erase(found);
}

}  // namespace phalanx::core

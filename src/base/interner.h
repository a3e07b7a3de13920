// Gives every distinct string one small index, for life. Lookup costs one hash; the strings never
// move, so views of them stay valid as long as the interner.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <string>
#include <string_view>

#include "base/strong_id.h"

namespace phalanx {

template <typename Id>
class Interner {
 public:
  Id intern(std::string_view text) {
    if (auto found = ids_.find(text); found != ids_.end()) return found->second;
    Id id(strings_.size());
    ids_.emplace(strings_.emplace_back(text), id);
    return id;
  }

  // The id of a string seen before, or an invalid id.
  [[nodiscard]] Id find(std::string_view text) const {
    auto found = ids_.find(text);
    return found == ids_.end() ? Id() : found->second;
  }

  [[nodiscard]] const std::string& text(Id id) const { return strings_[id.value]; }
  [[nodiscard]] size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;
  boost::unordered_flat_map<std::string_view, Id> ids_;
};

}  // namespace phalanx

// Values of which many are equal, each kept once: half a million pods ask for a few dozen different
// things. A handle is as small as a pointer. Whoever took one gives it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace phalanx {

template <typename Value>
class SharedValues {
  using Uses = std::map<Value, uint32_t>;

 public:
  class Handle {
   public:
    Handle() = default;
    const Value& operator*() const { return place_->first; }
    const Value* operator->() const { return &place_->first; }
    bool operator==(const Handle&) const = default;

   private:
    friend class SharedValues;
    explicit Handle(typename Uses::iterator place) : place_(place) {}
    typename Uses::iterator place_;
  };

  [[nodiscard]] Handle take(Value value) {
    const auto place = uses_.try_emplace(std::move(value), 0).first;
    ++place->second;
    return Handle(place);
  }
  void give_back(Handle handle) {
    if (--handle.place_->second == 0) uses_.erase(handle.place_);
  }
  // Different ones.
  [[nodiscard]] size_t size() const { return uses_.size(); }

 private:
  Uses uses_;
};

}  // namespace phalanx

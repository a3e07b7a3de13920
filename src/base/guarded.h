// A value that several threads use, one at a time, for moments: what is handed from one thread to
// another goes through a Mailbox.
#pragma once

#include <mutex>
#include <utility>

namespace phalanx {

template <typename T>
class Guarded {
 public:
  // Calls `use` with the value while nobody else has it. It must not wait for anybody, nor come
  // back here; what it keeps of the value may be gone when it returns.
  template <typename Use>
  auto with(Use&& use) {
    const std::scoped_lock lock(mutex_);
    return std::forward<Use>(use)(value_);
  }

 private:
  std::mutex mutex_;
  T value_{};
};

}  // namespace phalanx

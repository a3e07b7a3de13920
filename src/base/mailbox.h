// A bounded queue from one thread to another: the place where threads meet.
//
// Whoever puts waits while it is full, so that a fast sender cannot fill the memory; whoever takes
// gets everything there is, in order, or waits. Closing it wakes both: what is in it can still be
// taken, nothing more can be put.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace phalanx {

template <typename T>
class Mailbox {
 public:
  explicit Mailbox(size_t capacity) : capacity_(capacity) {}

  // Whether it was taken in.
  bool put(T item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    lock.unlock();
    filled_.notify_one();
    return true;
  }

  // Everything there is; if there is nothing, waits until there is or the time has passed.
  std::vector<T> take(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, at_most, [&] { return closed_ || !items_.empty(); });
    std::vector<T> taken = std::exchange(items_, {});
    lock.unlock();
    room_.notify_all();
    return taken;
  }

  void close() {
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    filled_.notify_all();
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::vector<T> items_;
  bool closed_ = false;
};

}  // namespace phalanx

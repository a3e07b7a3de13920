// Somebody who wants to know how long parts of a step take.
//
// The core has no clock and does not look at the answer: it says when a task begins and when it
// ends, and the host that wants to know brings a clock of its own. Without a probe nothing is said.
#pragma once

#include <cstdint>

namespace phalanx::core {

enum class Task : uint8_t {
  kPlace,    // whether and where a workload could start now: quota, room, whom to preempt
  kReplace,  // other places for the pods of lost nodes
  kUngate,   // which pods of a workload go where
};

class Probe {
 public:
  virtual ~Probe() = default;
  virtual void begins(Task task) = 0;
  virtual void ends(Task task) = 0;
};

// A task from here to the end of the block. Tasks do not nest.
class Probed {
 public:
  Probed(Probe* probe, Task task) : probe_(probe), task_(task) {
    if (probe_ != nullptr) probe_->begins(task_);
  }
  ~Probed() {
    if (probe_ != nullptr) probe_->ends(task_);
  }
  Probed(const Probed&) = delete;
  Probed& operator=(const Probed&) = delete;

 private:
  Probe* const probe_;
  const Task task_;
};

}  // namespace phalanx::core

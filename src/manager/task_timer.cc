#include "manager/task_timer.h"

namespace phalanx::manager {
namespace {

std::string_view name_of(core::Task task) {
  switch (task) {
    case core::Task::kPlace:
      return "place";
    case core::Task::kReplace:
      return "replace";
    case core::Task::kUngate:
      return "ungate";
  }
  return "";
}

}  // namespace

void TaskTimer::begins(core::Task /*task*/) {
  begun_ = kube::MonotonicClock::now();
}

void TaskTimer::ends(core::Task task) {
  meters_.task_seconds.add({{"task", std::string(name_of(task))}},
                           kube::MonotonicClock::now() - begun_);
}

}  // namespace phalanx::manager

#include "manager/task_timer.h"

namespace phalanx::manager {

TaskTimer::TaskTimer(Meters& meters)
    : place_(meters.task_seconds.of({{"task", "place"}})),
      replace_(meters.task_seconds.of({{"task", "replace"}})),
      ungate_(meters.task_seconds.of({{"task", "ungate"}})) {}

void TaskTimer::begins(core::Task /*task*/) {
  begun_ = kube::MonotonicClock::now();
}

void TaskTimer::ends(core::Task task) {
  const auto took = kube::MonotonicClock::now() - begun_;
  switch (task) {
    case core::Task::kPlace:
      return place_.add(took);
    case core::Task::kReplace:
      return replace_.add(took);
    case core::Task::kUngate:
      return ungate_.add(took);
  }
}

}  // namespace phalanx::manager

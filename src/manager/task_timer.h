// Measures tasks of the core for the meters. For the deciding thread.
#pragma once

#include "core/probe.h"
#include "kube/transport.h"
#include "manager/meters.h"

namespace phalanx::manager {

class TaskTimer final : public core::Probe {
 public:
  explicit TaskTimer(Meters& meters);
  void begins(core::Task task) override;
  void ends(core::Task task) override;

 private:
  Durations place_;
  Durations replace_;
  Durations ungate_;
  kube::Instant begun_{};
};

}  // namespace phalanx::manager

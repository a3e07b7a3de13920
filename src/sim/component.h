// One actor of the embedded cluster: the Job controller, the kubelets, the default scheduler, the
// host of the core. Actors see each other only through the API server.
#pragma once

#include <optional>

#include "base/time.h"

namespace phalanx::sim {

class Component {
 public:
  virtual ~Component() = default;

  // Reads what changed since it was last called, and what is due, and acts on it. Returns whether
  // there was anything. Called again and again, in a fixed order with the other components, until
  // nobody has anything to do at this moment.
  virtual bool react() = 0;

  // When it has something to do even if nothing changes; nullopt: never. Asked after react().
  [[nodiscard]] virtual std::optional<Time> wake_at() const = 0;
};

}  // namespace phalanx::sim

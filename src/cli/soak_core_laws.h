// What must hold of the core of a soak whenever it has nothing to do: nobody waits who would fit,
// and nobody who waits is forgotten. What is broken is said in words; nullopt: nothing is.
#pragma once

#include <optional>
#include <string>

#include "core/core.h"

namespace phalanx::cli {

// Whether the first of every queue waits for a reason. Who waits for a place that is held for it
// does. Cost: one placement for each queue.
std::optional<std::string> check_heads(core::Core& core);

// The same for everybody who waits, as far as his queue lets him go before others; and everybody is
// in a queue who should be. Cost: one placement for each of them.
std::optional<std::string> check_all_waiting(core::Core& core);

}  // namespace phalanx::cli

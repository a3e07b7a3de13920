// What a controller wants done about one object. Controllers are pure functions of the state: they
// are asked again whenever something they look at changes, and answer with the next step, or
// nothing.
#pragma once

#include <optional>
#include <vector>

#include "core/event.h"
#include "core/journal.h"

namespace phalanx::core {

struct Verdict {
  std::optional<Write> write;
  std::vector<Notice> notices;       // sent with the write
  std::optional<Decision> decision;  // recorded with the write
  std::optional<Time> wake_at = {};  // when to be asked again, though nothing changes
};

}  // namespace phalanx::core

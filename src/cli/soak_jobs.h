// The Jobs of `phalanx bench soak`: gangs of every size and kind of topology request, drawn from a
// seed, each coming as much later than the one before as the cluster needs for that one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/random.h"
#include "base/time.h"
#include "cli/soak_world.h"

namespace phalanx::cli {

class SoakJobs {
 public:
  SoakJobs(const SoakPlan& plan, uint64_t seed) : plan_(plan), random_(seed) {}

  struct Arrival {
    Duration after{};  // the one before
    json::value job = {};
  };
  Arrival next();

 private:
  // What one Job asks for.
  struct Shape {
    std::string_view name;
    int64_t pods = 1;
    int64_t gpus = 1;  // of each pod
    json::object topology = {};
    int64_t minutes = 1;
    int64_t slice = 1;  // pods come in multiples of it
  };

  [[nodiscard]] Shape small();
  [[nodiscard]] Shape sweep();
  [[nodiscard]] Shape within_rack();
  [[nodiscard]] Shape near_rack();
  [[nodiscard]] Shape within_block();
  [[nodiscard]] Shape sliced();
  [[nodiscard]] Shape huge();
  [[nodiscard]] Shape choose();
  [[nodiscard]] int64_t some_minutes(int64_t usual, int64_t most);
  [[nodiscard]] bool chance(uint64_t percent) { return random_.below(100) < percent; }
  [[nodiscard]] json::object labels(const Shape& shape);
  [[nodiscard]] json::object pod_template(const Shape& shape, std::string_view team, bool fails);
  [[nodiscard]] json::value job(const Shape& shape, std::string_view team);

  SoakPlan plan_;
  Random random_;
  uint64_t number_ = 0;
};

}  // namespace phalanx::cli

// What this process has used so far, as the kernel counts it.
#pragma once

#include <cstdint>

namespace phalanx {

double process_cpu_seconds();
int64_t resident_bytes();
int64_t peak_resident_bytes();

}  // namespace phalanx

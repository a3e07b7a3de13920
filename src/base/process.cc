#include "base/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace phalanx {
namespace {

rusage usage_of_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

double process_cpu_seconds() {
  const rusage usage = usage_of_process();
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t peak_resident_bytes() {
  constexpr int64_t kUnit = 1024;
  return usage_of_process().ru_maxrss * kUnit;
}

}  // namespace phalanx

#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace phalanx {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "phalanx: internal fault at %s:%d: %s\n", file, line, condition);
  std::fflush(stderr);
  std::_Exit(3);  // the exit code of an internal fault
}

}  // namespace phalanx

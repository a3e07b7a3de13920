// CHECK states what a correct program cannot violate. It is always on: all truth is in the API
// server, so stopping at once is safe and going on with a broken invariant is not.
#pragma once

namespace phalanx {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace phalanx

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::phalanx::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)

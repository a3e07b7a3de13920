#include <malloc.h>

#include "cli/program.h"

int main(int argc, char** argv) {
  // Counts of large clusters are columns of many pages that come and go with every decision. Keep
  // such memory instead of giving it back to the kernel and taking it, page by page, again.
  constexpr int kKeptBytes = 64 << 20;
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  return phalanx::cli::run_program(argc, argv);
}

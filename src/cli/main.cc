#include <unistd.h>

#include "cli/program.h"

int main(int argc, char** argv) {
  return phalanx::cli::run_program(argc, argv);
}

// The program as a user runs it: arguments in, output and exit code out. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/program.h"

namespace phalanx::cli {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

inline Ran run_phalanx(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"phalanx"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran result;
  result.code = run_program(static_cast<int>(argv.size()), argv.data());
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

}  // namespace phalanx::cli

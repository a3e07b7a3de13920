// Whole files in one read; gzip is recognised by its first bytes, "-" is standard input.
#pragma once

#include <string>

#include "base/error.h"

namespace phalanx {

Result<std::string> read_file(const std::string& path);
Result<std::string> gunzip(const std::string& compressed);
// Whether write_file can be expected to work. Leaves everything as it was.
Result<void> check_writable(const std::string& path);
Result<void> write_file(const std::string& path, const std::string& content);

}  // namespace phalanx

// Files that must never be seen half written, in a folder that processes may share.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/error.h"

namespace phalanx::serve {

// Makes the folder, for its owner only, and those above it, if they are missing.
Result<void> make_private_folder(const std::string& path);

// Nothing if there is no such file. What is there and cannot be read is an Error.
Result<std::optional<std::string>> read_if_there(const std::string& path);

// Whoever looks sees the old content or the new one, also after a crash. The file beside it that
// this takes is the same every time: only for who holds the lock of the folder.
Result<void> replace_file(const std::string& path, const std::string& content, mode_t mode);

// Held by at most one of all processes; taking it waits for the one that has it.
class FolderLock {
 public:
  static Result<FolderLock> take(const std::string& path);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int folder) : folder_(folder) {}

  int folder_;
};

}  // namespace phalanx::serve

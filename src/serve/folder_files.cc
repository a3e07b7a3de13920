#include "serve/folder_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"

namespace phalanx::serve {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> system_failure(const std::string& path) {
  return fail(path + ": " + std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): message only
}

// Writes all of it and brings it to the disk; errno says why not.
bool write_all(int file, const std::string& content) {
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t count = ::write(file, content.data() + written, content.size() - written);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) written += static_cast<size_t>(count);
  }
  return ::fsync(file) == 0;
}

// Brings renames to the disk.
Result<void> sync_folder(const fs::path& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return system_failure(path);
  const bool synced =
      ::fsync(folder) == 0 || errno == EINVAL;  // some file systems have no such thing
  const auto failure = system_failure(path);
  ::close(folder);
  return synced ? Result<void>() : failure;
}

}  // namespace

Result<void> make_private_folder(const std::string& path) {
  std::error_code code;
  const fs::path folder = fs::absolute(path, code).lexically_normal();
  const fs::path without_slash = folder.has_filename() ? folder : folder.parent_path();
  if (!code) fs::create_directories(without_slash.parent_path(), code);
  if (code) return fail(path + ": " + code.message());
  if (::mkdir(without_slash.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return system_failure(path);
}

Result<std::optional<std::string>> read_if_there(const std::string& path) {
  std::error_code code;
  if (fs::status(path, code).type() == fs::file_type::not_found) return std::nullopt;
  ASSIGN_OR_RETURN(std::string content, read_file(path));
  return content;
}

Result<void> replace_file(const std::string& path, const std::string& content, mode_t mode) {
  const fs::path target(path);
  const fs::path fresh = target.parent_path() / ("." + target.filename().string() + ".new");
  // What an interrupted run left behind may have another owner or mode.
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT) return system_failure(fresh);
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) return system_failure(fresh);
  const bool written = ::fchmod(file, mode) == 0 && write_all(file, content);
  const int write_error = errno;
  const bool closed = ::close(file) == 0;
  if (!written) errno = write_error;
  if (!written || !closed || ::rename(fresh.c_str(), path.c_str()) != 0) {
    const auto failure = system_failure(path);
    ::unlink(fresh.c_str());
    return failure;
  }
  return sync_folder(target.parent_path());
}

Result<FolderLock> FolderLock::take(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return system_failure(path);
  FolderLock lock(folder);
  int code = 0;
  do {
    code = ::flock(folder, LOCK_EX);
  } while (code != 0 && errno == EINTR);
  if (code != 0) return system_failure(path);
  return lock;
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : folder_(std::exchange(other.folder_, -1)) {}

}  // namespace phalanx::serve

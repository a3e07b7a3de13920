#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace phalanx {
namespace {

// A file that unpacks to more than this is a mistake or an attack.
constexpr size_t kMaxContent = size_t{4} << 30;

std::string system_error(const std::string& path) {
  return path + ": " + std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): message only
}

}  // namespace

Result<std::string> gunzip(const std::string& compressed) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return fail("cannot start to unpack gzip data");
  std::string content;
  std::array<char, 1 << 16> buffer{};
  size_t offset = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const size_t chunk = std::min<size_t>(compressed.size() - offset, 1U << 30);
      if (chunk == 0) break;
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data() + offset));
      stream.avail_in = static_cast<uInt>(chunk);
      offset += chunk;
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = buffer.size();
    code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) break;
    content.append(buffer.data(), buffer.size() - stream.avail_out);
    if (content.size() > kMaxContent) break;
    // Several gzip members in a row are one file.
    if (code == Z_STREAM_END && (stream.avail_in > 0 || offset < compressed.size())) {
      if (inflateReset(&stream) != Z_OK) break;
      code = Z_OK;
    }
  }
  inflateEnd(&stream);
  if (content.size() > kMaxContent) return fail("unpacks to more than 4 GiB");
  if (code != Z_STREAM_END) return fail("the gzip data is damaged or cut short");
  return content;
}

Result<std::string> read_file(const std::string& path) {
  const bool standard_input = path == "-";
  const int file = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail(system_error(path));
  std::string content;
  struct stat status{};
  if (::fstat(file, &status) == 0 && status.st_size > 0) {
    content.reserve(static_cast<size_t>(status.st_size));
  }
  std::array<char, 1 << 16> buffer{};
  ssize_t count = 0;
  while ((count = ::read(file, buffer.data(), buffer.size())) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    content.append(buffer.data(), static_cast<size_t>(count));
  }
  const bool failed = count < 0;
  const std::string reason = failed ? system_error(path) : "";
  if (!standard_input) ::close(file);
  if (failed) return fail(reason);
  if (content.size() >= 2 && content[0] == '\x1f' && content[1] == '\x8b') {
    auto unpacked = gunzip(content);
    if (!unpacked) return within(path, unpacked.error());
    return unpacked;
  }
  return content;
}

Result<void> check_writable(const std::string& path) {
  const bool is_new = ::access(path.c_str(), F_OK) != 0;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  // Nobody reads a pipe before the command that is to write it has begun.
  if (file < 0 && errno == ENXIO) return {};
  if (file < 0) return fail(system_error(path));
  ::close(file);
  if (is_new) ::unlink(path.c_str());
  return {};
}

Result<void> write_file(const std::string& path, const std::string& content) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return fail(system_error(path));
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t count = ::write(file, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const std::string reason = system_error(path);
      ::close(file);
      return fail(reason);
    }
    written += static_cast<size_t>(count);
  }
  if (::close(file) != 0) return fail(system_error(path));
  return {};
}

}  // namespace phalanx

#include "base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>

namespace phalanx {
namespace {

class FileTest : public ::testing::Test {
 protected:
  FileTest() : folder_(std::filesystem::temp_directory_path() / ("phalanx." + unique())) {
    std::filesystem::create_directories(folder_);
  }
  ~FileTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  static std::string unique() {
    return std::to_string(::getpid()) + "." +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  std::filesystem::path folder_;
};

std::string gzip(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  std::string input = content;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST_F(FileTest, WhatIsWrittenIsRead) {
  const std::string content = std::string("a\0b\n", 4) + std::string(200000, 'x');
  ASSERT_TRUE(write_file(path("f"), content).has_value());
  EXPECT_EQ(read_file(path("f")).value_or("?"), content);
  ASSERT_TRUE(write_file(path("f"), "short").has_value());
  EXPECT_EQ(read_file(path("f")).value_or("?"), "short");
  ASSERT_TRUE(write_file(path("f"), "").has_value());
  EXPECT_EQ(read_file(path("f")).value_or("?"), "");
}

TEST_F(FileTest, ErrorsNameTheFile) {
  const auto missing = read_file(path("missing"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message, path("missing") + ": No such file or directory");
  const auto folder = read_file(folder_);
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().message, folder_.string() + ": Is a directory");
  EXPECT_FALSE(write_file(path("no/such/folder"), "x").has_value());
}

TEST_F(FileTest, WhatCanBeWrittenIsKnownBefore) {
  EXPECT_TRUE(check_writable(path("new")));
  EXPECT_FALSE(std::filesystem::exists(path("new")));
  ASSERT_TRUE(write_file(path("old"), "content"));
  EXPECT_TRUE(check_writable(path("old")));
  EXPECT_EQ(read_file(path("old")).value_or("?"), "content");
  EXPECT_FALSE(check_writable(path("no/such/folder")));
  EXPECT_FALSE(check_writable(folder_.string()));
}

TEST_F(FileTest, GzipIsUnpackedWhateverItsName) {
  const std::string content(300000, 'y');
  ASSERT_TRUE(write_file(path("f.txt"), gzip(content)).has_value());
  EXPECT_EQ(read_file(path("f.txt")).value_or("?"), content);
  EXPECT_EQ(gunzip(gzip("")).value_or("?"), "");
  EXPECT_EQ(gunzip(gzip("one ") + gzip("two")).value_or("?"), "one two");
}

TEST_F(FileTest, DamagedGzipIsNamed) {
  std::string packed = gzip("some content that is long enough to be cut");
  ASSERT_TRUE(write_file(path("cut.gz"), packed.substr(0, packed.size() - 9)).has_value());
  const auto cut = read_file(path("cut.gz"));
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().message, path("cut.gz") + ": the gzip data is damaged or cut short");
  packed[packed.size() - 6] ^= 1;  // the checksum
  EXPECT_FALSE(gunzip(packed).has_value());
  EXPECT_FALSE(gunzip("no gzip").has_value());
  EXPECT_FALSE(gunzip("").has_value());
}

}  // namespace
}  // namespace phalanx

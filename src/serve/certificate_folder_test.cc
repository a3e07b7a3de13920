#include "serve/certificate_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"

namespace phalanx::serve {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

constexpr Duration kDay = hours(24);
const Time kNow = parse_time("2026-06-01T12:00:00Z").value();

class CertificateFolderTest : public ::testing::Test {
 protected:
  CertificateFolderTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ =
        fs::temp_directory_path() / ("phalanx." + std::to_string(::getpid()) + "." + test->name());
    fs::create_directories(root_);
    options_ = {.path = (root_ / "certificates").string(), .names = {"phalanx.system.svc", "::1"}};
    options_.rotation = {
        .certificate_lifetime = 90 * kDay, .authority_lifetime = 900 * kDay, .overlap = 5 * kDay};
  }
  ~CertificateFolderTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (fs::path(options_.path) / name).string();
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    return read_file(path(name)).value_or("");
  }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories(options_.path);
    ASSERT_TRUE(write_file(path(name), text));
  }
  [[nodiscard]] std::map<std::string, std::string> all_files() const {
    std::map<std::string, std::string> files;
    for (const auto& each : fs::directory_iterator(options_.path)) {
      files[each.path().filename()] = content(each.path().filename());
    }
    return files;
  }
  [[nodiscard]] mode_t mode(const std::string& file) const {
    struct stat status{};
    return ::stat(file.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  }
  // As a program that starts now would find it.
  FolderCertificates load(Time now) const {
    CertificateFolder folder(options_);
    const auto outcome = folder.refresh(now);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    expect_good(folder.current(), now);
    return folder.current();
  }
  void expect_good(const FolderCertificates& found, Time now) const {
    for (const std::string& name : options_.names) {
      const auto outcome = verify(found.ca_bundle_pem, found.identity.certificate_pem, name, now);
      EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    }
    EXPECT_TRUE(check_key(found.identity.certificate_pem, found.identity.key_pem));
  }
  [[nodiscard]] std::string error(Time now) const {
    CertificateFolder folder(options_);
    const auto outcome = folder.refresh(now);
    return outcome ? "" : outcome.error().message;
  }
  // A folder as cert-manager keeps it.
  void put_foreign(const Authority& authority, Time now, const std::string& name) const {
    const Identity identity = issue(authority, {name}, now, 90 * kDay).value();
    put("ca.crt", authority.certificate_pem);
    put("tls.crt", identity.certificate_pem);
    put("tls.key", identity.key_pem);
  }

  fs::path root_;
  CertificateFolderOptions options_;
};

TEST_F(CertificateFolderTest, WhatIsNotThereIsMade) {
  options_.path = (root_ / "deep" / "er").string() + "/";
  const FolderCertificates found = load(kNow);
  EXPECT_FALSE(found.foreign);
  EXPECT_EQ(found.not_after, kNow + 90 * kDay);
  EXPECT_EQ(mode(options_.path), 0700U);
  EXPECT_EQ(mode(path("ca.key")), 0600U);
  EXPECT_EQ(mode(path("tls.key")), 0600U);
  EXPECT_EQ(mode(path("ca.crt")), 0644U);
  EXPECT_EQ(mode(path("tls.crt")), 0644U);
  EXPECT_EQ(all_files().size(), 4U);
  EXPECT_EQ(content("ca.crt"), found.ca_bundle_pem);
  EXPECT_EQ(content("tls.crt"), found.identity.certificate_pem);
  EXPECT_EQ(content("tls.key"), found.identity.key_pem);
}

TEST_F(CertificateFolderTest, WhatIsGoodStays) {
  CertificateFolder folder(options_);
  EXPECT_TRUE(folder.refresh(kNow).value());
  const auto before = all_files();
  EXPECT_FALSE(folder.refresh(kNow + 59 * kDay).value());
  EXPECT_EQ(load(kNow + 59 * kDay), folder.current());
  EXPECT_EQ(all_files(), before);
  // Comments and order of lines are their author's.
  put("ca.crt", "# the authority of this cluster\n" + content("ca.crt"));
  EXPECT_FALSE(folder.refresh(kNow + 59 * kDay).value());
  EXPECT_TRUE(content("ca.crt").starts_with("# the authority"));
}

TEST_F(CertificateFolderTest, TheRotationOfACertificate) {
  CertificateFolder folder(options_);
  ASSERT_TRUE(folder.refresh(kNow).value());
  const FolderCertificates first = folder.current();
  EXPECT_TRUE(folder.refresh(kNow + 60 * kDay).value());
  EXPECT_NE(folder.current().identity, first.identity);
  EXPECT_EQ(folder.current().ca_bundle_pem, first.ca_bundle_pem);
  EXPECT_EQ(folder.current().not_after, kNow + 150 * kDay);
}

// The promise of the header, day by day over the lives of several authorities: who has learned
// the bundle of up to an overlap ago verifies what is served today, and what is served today is
// verified by whoever learns the bundle today.
TEST_F(CertificateFolderTest, ThereIsNoDayWithoutTrust) {
  options_.rotation = {
      .certificate_lifetime = 30 * kDay, .authority_lifetime = 120 * kDay, .overlap = 5 * kDay};
  std::vector<std::string> bundles;
  std::vector<std::string> authorities;
  CertificateFolder folder(options_);
  const Duration step = hours(20);
  for (Time now = kNow; now < kNow + 300 * kDay; now += step) {
    const auto outcome = folder.refresh(now);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    const FolderCertificates& current = folder.current();
    ASSERT_GE(current.not_after - now, 4 * kDay) << format_time(now);
    if (bundles.empty() || *outcome) expect_good(current, now);
    bundles.push_back(current.ca_bundle_pem);
    const size_t overlap_ago = bundles.size() - std::min<size_t>(bundles.size(), 7);
    ASSERT_TRUE(verify(bundles[overlap_ago], current.identity.certificate_pem, "::1", now))
        << format_time(now);
    const auto parts = split_bundle(current.ca_bundle_pem).value();
    ASSERT_LE(parts.size(), 2U);
    if (authorities.empty() || authorities.back() != parts[0]) authorities.push_back(parts[0]);
  }
  EXPECT_EQ(authorities.size(), 4U);
}

TEST_F(CertificateFolderTest, TheStepsOfANewAuthority) {
  CertificateFolder folder(options_);
  ASSERT_TRUE(folder.refresh(kNow).value());
  ASSERT_TRUE(folder.refresh(kNow + 590 * kDay).value());  // a fresh certificate
  const FolderCertificates first = folder.current();
  const std::string old_key = content("ca.key");

  const Time birth = kNow + 600 * kDay;
  ASSERT_TRUE(folder.refresh(birth).value());
  EXPECT_NE(content("ca.key"), old_key);
  EXPECT_EQ(folder.current().identity, first.identity);
  EXPECT_TRUE(folder.current().ca_bundle_pem.ends_with(first.ca_bundle_pem));
  EXPECT_EQ(split_bundle(folder.current().ca_bundle_pem)->size(), 2U);
  const std::string both = folder.current().ca_bundle_pem;

  EXPECT_FALSE(folder.refresh(birth + 4 * kDay).value());
  EXPECT_EQ(load(birth + 4 * kDay), folder.current());

  ASSERT_TRUE(folder.refresh(birth + 5 * kDay).value());
  EXPECT_NE(folder.current().identity, first.identity);
  EXPECT_EQ(folder.current().ca_bundle_pem, both);
  EXPECT_FALSE(folder.refresh(birth + 9 * kDay).value());

  ASSERT_TRUE(folder.refresh(birth + 10 * kDay).value());
  EXPECT_TRUE(both.starts_with(folder.current().ca_bundle_pem));
  EXPECT_EQ(split_bundle(folder.current().ca_bundle_pem)->size(), 1U);
  expect_good(folder.current(), birth + 10 * kDay);
}

TEST_F(CertificateFolderTest, ARunThatWasAwayForAnyTimeFindsItsWay) {
  for (const int away : {1, 61, 89, 91, 599, 601, 604, 700, 899, 901, 5000}) {
    fs::remove_all(options_.path);
    load(kNow);
    load(kNow + away * kDay);
    load(kNow + away * kDay + 5 * kDay);
    load(kNow + away * kDay + 10 * kDay);
  }
}

TEST_F(CertificateFolderTest, AClockThatWasAheadIsRepaired) {
  load(kNow + 50 * kDay);
  const FolderCertificates found = load(kNow);
  EXPECT_EQ(found.not_after, kNow + 90 * kDay);
}

TEST_F(CertificateFolderTest, OtherNamesAreAnotherCertificate) {
  const FolderCertificates first = load(kNow);
  options_.names = {"0:0::1", "PHALANX.system.svc"};  // the same ones
  EXPECT_EQ(load(kNow), first);
  options_.names.emplace_back("localhost");
  const FolderCertificates more = load(kNow);
  EXPECT_NE(more.identity, first.identity);
  EXPECT_EQ(more.ca_bundle_pem, first.ca_bundle_pem);
  options_.names = {"localhost"};
  EXPECT_NE(load(kNow).identity, more.identity);
  options_.names = {"no name"};
  EXPECT_TRUE(error(kNow).contains("\"no name\" is neither a DNS name nor an IP address"));
}

// Whatever a crash or a person leaves behind, in every combination of good, cut and missing
// files that keeps the folder ours.
TEST_F(CertificateFolderTest, AHalfWrittenFolderIsRepaired) {
  load(kNow);
  const auto good = all_files();
  const FolderCertificates other = [&] {
    CertificateFolderOptions options = options_;
    options.path += ".other";
    CertificateFolder folder(options);
    EXPECT_TRUE(folder.refresh(kNow).value());
    return folder.current();
  }();
  const std::vector<std::string> names{"ca.crt", "ca.key", "tls.crt", "tls.key"};
  for (int combination = 0; combination < 81; ++combination) {
    fs::remove_all(options_.path);
    fs::create_directories(options_.path);
    for (int i = 0, code = combination; i < 4; ++i, code /= 3) {
      const std::string& text = good.at(names[static_cast<size_t>(i)]);
      if (code % 3 == 0) put(names[static_cast<size_t>(i)], text);
      if (code % 3 == 1) put(names[static_cast<size_t>(i)], text.substr(0, text.size() / 2));
    }
    if (!fs::exists(path("ca.key"))) continue;
    load(kNow + kDay);
  }
  for (const auto& [name, text] : good) put(name, text);
  put("tls.key", other.identity.key_pem);
  EXPECT_EQ(load(kNow).ca_bundle_pem, good.at("ca.crt"));
  put("tls.crt", other.identity.certificate_pem);  // of another authority
  put("tls.key", other.identity.key_pem);
  EXPECT_EQ(load(kNow).ca_bundle_pem, good.at("ca.crt"));
  EXPECT_NE(content("tls.crt"), other.identity.certificate_pem);
}

// Interrupted between ca.key and ca.crt of a rotation: what is served stays trusted.
TEST_F(CertificateFolderTest, AnInterruptedRotationKeepsTheOldAuthority) {
  const FolderCertificates first = load(kNow);
  put("ca.key", make_authority("phalanx", kNow, kDay)->key_pem);
  const FolderCertificates found = load(kNow + kDay);
  EXPECT_EQ(found.identity, first.identity);
  EXPECT_TRUE(found.ca_bundle_pem.ends_with(first.ca_bundle_pem));
  put(".ca.crt.new", "half");
  put(".tls.key.new", "half");
  const FolderCertificates later = load(kNow + 7 * kDay);
  EXPECT_NE(later.identity, first.identity);
}

TEST_F(CertificateFolderTest, AForeignFolderIsOnlyRead) {
  const Authority authority = make_authority("corporate", kNow, 900 * kDay).value();
  put_foreign(authority, kNow, "phalanx.system.svc");
  CertificateFolder folder(options_);
  auto before = all_files();
  EXPECT_TRUE(folder.refresh(kNow).value());
  EXPECT_TRUE(folder.current().foreign);
  EXPECT_EQ(folder.current().ca_bundle_pem, authority.certificate_pem);
  EXPECT_FALSE(folder.refresh(kNow + 89 * kDay).value());
  EXPECT_EQ(all_files(), before);

  put_foreign(authority, kNow + 80 * kDay, "*.system.svc");
  before = all_files();
  EXPECT_TRUE(folder.refresh(kNow + 89 * kDay).value());
  EXPECT_EQ(folder.current().identity.certificate_pem, content("tls.crt"));
  EXPECT_EQ(folder.current().not_after, kNow + 170 * kDay);
  EXPECT_EQ(all_files(), before);
}

TEST_F(CertificateFolderTest, AForeignFolderNeedsNoAuthority) {
  put_foreign(make_authority("public", kNow, 900 * kDay).value(), kNow, "phalanx.system.svc");
  for (const bool empty : {true, false}) {
    if (empty) put("ca.crt", "");
    if (!empty) fs::remove(path("ca.crt"));
    CertificateFolder folder(options_);
    ASSERT_TRUE(folder.refresh(kNow).value());
    EXPECT_EQ(folder.current().ca_bundle_pem, "");
    EXPECT_FALSE(folder.refresh(kNow + 91 * kDay));
  }
}

TEST_F(CertificateFolderTest, ABadForeignFolderIsExplainedAndTheOldOneStaysInUse) {
  const Authority authority = make_authority("corporate", kNow, 900 * kDay).value();
  const std::string advice = "; whoever keeps this folder has to renew it";
  const auto damage = [&](const char* file, const std::string& text, const std::string& reason) {
    put_foreign(authority, kNow, "phalanx.system.svc");
    CertificateFolder folder(options_);
    ASSERT_TRUE(folder.refresh(kNow).value());
    const FolderCertificates good = folder.current();
    if (text == "-") fs::remove(path(file));
    if (text != "-") put(file, text);
    const auto before = all_files();
    const auto outcome = folder.refresh(kNow);
    ASSERT_FALSE(outcome.has_value()) << file << " " << text;
    EXPECT_TRUE(outcome.error().message.starts_with(options_.path)) << outcome.error().message;
    EXPECT_TRUE(outcome.error().message.contains(reason)) << outcome.error().message;
    EXPECT_EQ(folder.current(), good);
    EXPECT_EQ(all_files(), before);
    fs::remove_all(options_.path);
  };
  const Identity stranger = issue(authority, {"phalanx.system.svc"}, kNow, kDay).value();
  const std::string other_authority = make_authority("other", kNow, kDay)->certificate_pem;
  damage("tls.key", stranger.key_pem,
         "/tls.key: the key does not belong to the certificate" + advice);
  damage("tls.crt", stranger.certificate_pem, "the key does not belong");
  damage("tls.crt", "garbage", "/tls.crt: holds no certificate");
  damage("tls.key", "garbage", "/tls.key: holds no private key");
  damage("ca.crt", "garbage", "/ca.crt: holds no certificate");
  damage("ca.crt", other_authority, "unable to get local issuer certificate");
  damage("tls.key", "-", "tls.key is missing");
  damage("tls.crt", "-", "tls.crt is missing");

  put_foreign(authority, kNow, "phalanx.system.svc");
  EXPECT_TRUE(error(kNow + 91 * kDay).contains("certificate has expired" + advice));
  EXPECT_TRUE(error(kNow - 2 * kDay).contains("certificate is not yet valid" + advice));
  put_foreign(authority, kNow, "somebody.else.svc");
  EXPECT_TRUE(error(kNow).contains("hostname mismatch")) << error(kNow);
  fs::remove(path("tls.crt"));
  fs::remove(path("tls.key"));
  EXPECT_TRUE(error(kNow).contains("tls.crt is missing")) << error(kNow);
}

// Its keeper may come later, and may have taken over what was ours.
TEST_F(CertificateFolderTest, AFolderOfWhichWeAreToldThatItIsForeignIsOnlyRead) {
  CertificateFolder own(options_);
  ASSERT_TRUE(own.refresh(kNow));
  const std::string old_key = content("ca.key");
  fs::remove_all(options_.path);
  options_.only_read = true;
  CertificateFolder folder(options_);
  const auto empty = folder.refresh(kNow);
  ASSERT_FALSE(empty);
  EXPECT_EQ(
      empty.error().message,
      options_.path + ": tls.crt is missing; whoever keeps the certificates has to put it there");
  EXPECT_FALSE(fs::exists(options_.path));
  put_foreign(make_authority("theirs", kNow, 900 * kDay).value(), kNow, "phalanx.system.svc");
  put("ca.key", old_key);
  const auto before = all_files();
  ASSERT_TRUE(folder.refresh(kNow));
  EXPECT_TRUE(folder.current().foreign);
  EXPECT_EQ(folder.current().identity.certificate_pem, content("tls.crt"));
  EXPECT_EQ(all_files(), before);
}

TEST_F(CertificateFolderTest, AFolderThatCannotBeReadOrMadeIsNamed) {
  // What blocks the way here blocks root, too.
  ASSERT_TRUE(write_file(options_.path, "a file"));
  EXPECT_TRUE(error(kNow).starts_with(options_.path + ": ")) << error(kNow);
  fs::remove(options_.path);
  fs::create_directories(path("ca.key"));
  EXPECT_EQ(error(kNow), path("ca.key") + ": Is a directory");
  fs::remove_all(options_.path);
  load(kNow);
  fs::remove(path("tls.crt"));
  fs::create_directories(path("tls.crt"));
  EXPECT_EQ(error(kNow), path("tls.crt") + ": Is a directory");
}

// Root may read everything: for a while it is somebody else.
class AsNobody {
 public:
  explicit AsNobody(const std::string& folder) {
    if (::geteuid() != 0) return;
    EXPECT_EQ(::chown(folder.c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(::setegid(kNobody), 0);
    EXPECT_EQ(::seteuid(kNobody), 0);
    root_ = true;
  }
  ~AsNobody() {
    if (!root_) return;
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::setegid(0), 0);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool root_ = false;
};

TEST_F(CertificateFolderTest, RightsThatAreMissingAreNamed) {
  fs::create_directories(options_.path);
  const AsNobody nobody(options_.path);
  load(kNow);
  fs::permissions(path("ca.key"), fs::perms::none);
  EXPECT_EQ(error(kNow), path("ca.key") + ": Permission denied");
  fs::permissions(path("ca.key"), fs::perms::owner_read);
  fs::permissions(options_.path, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(error(kNow), "");
  EXPECT_TRUE(error(kNow + 61 * kDay).contains("Permission denied")) << error(kNow + 61 * kDay);
  fs::permissions(options_.path, fs::perms::owner_all);
}

}  // namespace
}  // namespace phalanx::serve

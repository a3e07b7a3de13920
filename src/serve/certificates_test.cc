#include "serve/certificates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace phalanx::serve {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const Time kNow = parse_time("2026-06-01T12:00:00Z").value();
constexpr Duration kYear = hours(24 * 365);

Authority authority(Time now = kNow, Duration lifetime = 10 * kYear) {
  return make_authority("phalanx", now, lifetime).value();
}

std::string why(const Result<void>& result) {
  return result ? "good" : result.error().message;
}

TEST(Certificates, WhatIsIssuedIsVerifiedByItsAuthority) {
  const Authority ours = authority();
  const auto identity = issue(
      ours, {"Phalanx.Phalanx-System.svc", "*.example.com", "10.0.0.7", "FD00:0::7"}, kNow, kYear);
  ASSERT_TRUE(identity.has_value()) << identity.error().message;
  for (const char* name : {"phalanx.phalanx-system.svc", "PHALANX.phalanx-system.svc",
                           "a.example.com", "10.0.0.7", "fd00::7", ""}) {
    EXPECT_EQ(why(verify(ours.certificate_pem, identity->certificate_pem, name, kNow)), "good")
        << name;
  }
  for (const char* name : {"phalanx", "example.com", "a.b.example.com", "10.0.0.8", "fd00::8"}) {
    EXPECT_FALSE(verify(ours.certificate_pem, identity->certificate_pem, name, kNow)) << name;
  }
  EXPECT_FALSE(verify(authority().certificate_pem, identity->certificate_pem, "", kNow));
  EXPECT_TRUE(verify(authority().certificate_pem + ours.certificate_pem, identity->certificate_pem,
                     "10.0.0.7", kNow));
  // As in Go, whatever is in the bundle is trusted.
  EXPECT_TRUE(verify(identity->certificate_pem, identity->certificate_pem, "10.0.0.7", kNow));
}

TEST(Certificates, ItIsValidFromAnHourBeforeToTheEndOfItsLife) {
  const Authority ours = authority();
  const Identity identity = issue(ours, {"a"}, kNow, kYear).value();
  struct Case {
    Time at;
    bool good;
  };
  const std::vector<Case> cases{{kNow - kClockSkew - seconds(1), false},
                                {kNow - kClockSkew, true},
                                {kNow, true},
                                {kNow + kYear - seconds(1), true},
                                {kNow + kYear + seconds(1), false}};
  for (const Case& each : cases) {
    EXPECT_EQ(verify(ours.certificate_pem, identity.certificate_pem, "a", each.at).has_value(),
              each.good)
        << format_time(each.at);
  }
  EXPECT_EQ(why(verify(ours.certificate_pem, identity.certificate_pem, "a", kNow + 2 * kYear)),
            "the certificate is not good for \"a\" at 2028-05-31T12:00:00Z: "
            "certificate has expired");
}

TEST(Certificates, InspectionTellsWhatWasAskedFor) {
  const Authority ours = authority();
  const auto about = inspect(ours.certificate_pem);
  ASSERT_TRUE(about.has_value());
  EXPECT_TRUE(about->authority);
  EXPECT_TRUE(about->subject.contains("CN=phalanx")) << about->subject;
  EXPECT_EQ(about->names, std::vector<std::string>());
  const auto leaf =
      inspect(issue(ours, {"b", "FD00::0:1", "1.2.3.4", "A"}, kNow, kYear)->certificate_pem);
  ASSERT_TRUE(leaf.has_value());
  EXPECT_FALSE(leaf->authority);
  EXPECT_EQ(leaf->names, (std::vector<std::string>{"1.2.3.4", "a", "b", "fd00::1"}));
  EXPECT_EQ(leaf->not_before, kNow - kClockSkew);
  EXPECT_EQ(leaf->not_after, kNow + kYear);
  EXPECT_NE(inspect(authority().certificate_pem)->subject, about->subject);
}

TEST(Certificates, ACertificateDoesNotOutliveItsAuthority) {
  const Authority ours = authority(kNow, kYear);
  const auto leaf = inspect(issue(ours, {"a"}, kNow, 5 * kYear)->certificate_pem);
  EXPECT_EQ(leaf->not_after, kNow + kYear);
}

TEST(Certificates, DatesBeyondTheYear2050) {
  const Time late = parse_time("2060-01-01T00:00:00Z").value();
  const Authority ours = authority(late, kYear);
  EXPECT_EQ(inspect(ours.certificate_pem)->not_before, late - kClockSkew);
  const Identity identity = issue(ours, {"a"}, late, kYear).value();
  EXPECT_EQ(why(verify(ours.certificate_pem, identity.certificate_pem, "a", late)), "good");
}

TEST(Certificates, KeysBelongToTheirCertificates) {
  const Authority ours = authority();
  const Identity one = issue(ours, {"a"}, kNow, kYear).value();
  const Identity other = issue(ours, {"a"}, kNow, kYear).value();
  EXPECT_EQ(why(check_key(one.certificate_pem, one.key_pem)), "good");
  EXPECT_EQ(why(check_key(one.certificate_pem, other.key_pem)),
            "the key does not belong to the certificate");
  EXPECT_FALSE(check_key(one.certificate_pem, ""));
  EXPECT_FALSE(check_key("", one.key_pem));
  EXPECT_FALSE(check_key(one.certificate_pem, one.certificate_pem));
}

TEST(Certificates, WhatMakesNoSenseIsRefused) {
  const Authority ours = authority();
  EXPECT_FALSE(issue(ours, {}, kNow, kYear));
  for (const char* name : {"", "a b", "a,DNS:b", "..", ".a", "a..b", "*", "a/b", "ä"}) {
    EXPECT_FALSE(issue(ours, {name}, kNow, kYear)) << name;
  }
  EXPECT_FALSE(issue(ours, {std::string(254, 'a')}, kNow, kYear));
  EXPECT_TRUE(issue(ours, {std::string(63, 'a') + "." + std::string(63, 'b')}, kNow, kYear));
  EXPECT_FALSE(issue({}, {"a"}, kNow, kYear));
  const Identity leaf = issue(ours, {"a"}, kNow, kYear).value();
  const auto by_leaf = issue({leaf.certificate_pem, leaf.key_pem}, {"b"}, kNow, kYear);
  ASSERT_FALSE(by_leaf.has_value());
  EXPECT_TRUE(by_leaf.error().message.contains("may not sign")) << by_leaf.error().message;
  EXPECT_FALSE(make_authority("", kNow, kYear));
}

TEST(Certificates, DamagedTextIsExplained) {
  const std::string good = authority().certificate_pem;
  EXPECT_TRUE(inspect("").error().message.contains("holds no certificate"));
  EXPECT_TRUE(inspect("hello").error().message.contains("holds no certificate"));
  EXPECT_FALSE(inspect(good.substr(0, good.size() / 2)));
  std::string flipped = good;
  flipped[flipped.size() / 2] = '!';
  EXPECT_TRUE(inspect(flipped).error().message.contains("damaged"));
  EXPECT_FALSE(split_bundle(good + flipped));
  EXPECT_EQ(split_bundle("# ours\n" + good + "\n" + good).value(),
            (std::vector<std::string>{good, good}));
}

TEST(Certificates, AKeyWithAPasswordIsRefusedAndNobodyIsAsked) {
  // openssl genpkey -algorithm ed25519 -aes-128-cbc -pass pass:secret
  constexpr const char* kProtected =
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
      "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgFH9Vo+jTuxgICCAAw\n"
      "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEDQRCa2wbVk8GM0+/A3k3W0EQEWi\n"
      "0Pz9+GsFgqVPtj0PSNQ8dLuK5i+DUcs0dHTqFIy0BjdDayA5nt1uK66OREXnt0qT\n"
      "9zxMFANgKefysWCyuIY=\n"
      "-----END ENCRYPTED PRIVATE KEY-----\n";
  const auto outcome = check_key(authority().certificate_pem, kProtected);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_TRUE(outcome.error().message.contains("without a password")) << outcome.error().message;
}

}  // namespace
}  // namespace phalanx::serve

#include "serve/certificate_rotation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace phalanx::serve {
namespace {

using std::chrono::hours;

constexpr Duration kDay = hours(24);
const Time kBirth = parse_time("2026-01-01T00:00:00Z").value();
const std::vector<std::string> kNames{"a"};
constexpr RotationPolicy kPolicy{
    .certificate_lifetime = 90 * kDay, .authority_lifetime = 900 * kDay, .overlap = 5 * kDay};

// As if made at that time.
CertificateInfo made(Time at, Duration lifetime, std::vector<std::string> names = {}) {
  CertificateInfo info;
  info.not_before = at - kClockSkew;
  info.not_after = at + lifetime;
  info.names = std::move(names);
  return info;
}

TEST(CertificateRotation, AnAuthorityIsDueAtTwoThirdsOfItsLife) {
  const CertificateInfo signer = made(kBirth, 900 * kDay);
  struct Case {
    Duration age;
    bool due;
  };
  const std::vector<Case> cases{{-2 * kDay, true},   {-hours(1), false}, {0 * kDay, false},
                                {599 * kDay, false}, {600 * kDay, true}, {899 * kDay, true},
                                {901 * kDay, true}};
  for (const Case& each : cases) {
    EXPECT_EQ(authority_due(signer, kBirth + each.age), each.due) << format_duration(each.age);
  }
  EXPECT_TRUE(authority_due(std::nullopt, kBirth));
}

// However much shorter its life is than what it is dated back by.
TEST(CertificateRotation, ShortLivesCountFromBirth) {
  const Duration second = std::chrono::seconds(1);
  const CertificateInfo signer = made(kBirth, 24 * second);
  EXPECT_FALSE(authority_due(signer, kBirth));
  EXPECT_FALSE(authority_due(signer, kBirth + 15 * second));
  EXPECT_TRUE(authority_due(signer, kBirth + 16 * second));
}

TEST(CertificateRotation, ACertificateIsDueAtTwoThirdsOrWhenItIsOfNoUse) {
  const CertificateInfo signer = made(kBirth, 900 * kDay);
  const auto due = [&](const std::optional<Serving>& serving, Duration age) {
    return certificate_due(serving, signer, kNames, kPolicy, kBirth + age);
  };
  const Serving good{.certificate = made(kBirth, 90 * kDay, kNames), .by_signer = true};
  EXPECT_FALSE(due(good, 0 * kDay));
  EXPECT_FALSE(due(good, 59 * kDay));
  EXPECT_TRUE(due(good, 60 * kDay));
  EXPECT_TRUE(due(good, 91 * kDay));
  EXPECT_TRUE(due(good, -2 * kDay));  // somebody's clock was wrong
  EXPECT_TRUE(due(std::nullopt, 0 * kDay));
  for (const auto& names : {std::vector<std::string>{}, {"b"}, {"a", "b"}}) {
    EXPECT_TRUE(
        due(Serving{.certificate = made(kBirth, 90 * kDay, names), .by_signer = true}, 0 * kDay));
  }
}

TEST(CertificateRotation, WhatTheOldAuthoritySignedIsServedForOneOverlap) {
  const CertificateInfo signer = made(kBirth, 900 * kDay);
  struct Case {
    Duration certificate_age;  // at the birth of the new authority
    Duration age;              // of the new authority
    bool due;
  };
  const std::vector<Case> cases{
      {0 * kDay, 0 * kDay, false},
      {0 * kDay, 4 * kDay, false},
      {0 * kDay, 5 * kDay, true},
      {60 * kDay, 4 * kDay, false},  // its two thirds are over, but nobody knows the new one yet
      {60 * kDay, 5 * kDay, true},
      {80 * kDay, 0 * kDay, false},
      {80 * kDay, 2 * kDay, true},  // too close to its end to wait
      {89 * kDay, 0 * kDay, true},
  };
  for (const Case& each : cases) {
    const Serving serving{.certificate = made(kBirth - each.certificate_age, 90 * kDay, kNames),
                          .by_signer = false};
    EXPECT_EQ(certificate_due(serving, signer, kNames, kPolicy, kBirth + each.age), each.due)
        << format_duration(each.certificate_age) << " " << format_duration(each.age);
  }
}

TEST(CertificateRotation, TheOldAuthorityStaysForTwoOverlaps) {
  const CertificateInfo old = made(kBirth - 600 * kDay, 900 * kDay);
  const CertificateInfo signer = made(kBirth, 900 * kDay);
  EXPECT_TRUE(stays_in_bundle(old, signer, kPolicy, kBirth));
  EXPECT_TRUE(stays_in_bundle(old, signer, kPolicy, kBirth + 9 * kDay));
  EXPECT_FALSE(stays_in_bundle(old, signer, kPolicy, kBirth + 10 * kDay));
  EXPECT_FALSE(stays_in_bundle(made(kBirth - 900 * kDay, 900 * kDay), signer, kPolicy, kBirth));
}

TEST(CertificateRotation, TheOverlapFitsIntoTheLifetimes) {
  EXPECT_EQ(effective_overlap(kPolicy), 5 * kDay);
  EXPECT_EQ(effective_overlap({.certificate_lifetime = 6 * kDay, .overlap = 5 * kDay}), kDay);
  EXPECT_EQ(effective_overlap({.authority_lifetime = 12 * kDay, .overlap = 5 * kDay}), 2 * kDay);
}

}  // namespace
}  // namespace phalanx::serve

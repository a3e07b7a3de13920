#include "admission/names.h"

#include <gtest/gtest.h>

#include <string>

namespace phalanx::admission {
namespace {

TEST(Names, DnsLabelsAndSubdomains) {
  for (const std::string_view good : {"a", "a-1", "0", "team-a-b"}) {
    EXPECT_TRUE(is_dns_label(good)) << good;
    EXPECT_TRUE(is_dns_subdomain(good)) << good;
  }
  for (const std::string_view bad : {"", "-", "-a", "a-", "A", "a_b", "a b", "\xc3\xa4"}) {
    EXPECT_FALSE(is_dns_label(bad)) << bad;
    EXPECT_FALSE(is_dns_subdomain(bad)) << bad;
  }
  EXPECT_FALSE(is_dns_label("a.b"));
  EXPECT_TRUE(is_dns_subdomain("a.b-c.1"));
  for (const std::string_view bad : {".", "a.", ".a", "a..b", "a.-b"}) {
    EXPECT_FALSE(is_dns_subdomain(bad)) << bad;
  }
}

TEST(Names, LabelKeysAndValues) {
  for (const std::string_view good : {"a", "A_b.c-1", "example.com/Rack", "a.b/c"}) {
    EXPECT_TRUE(is_label_key(good)) << good;
  }
  for (const std::string_view bad : {"", "/", "a/", "/a", "A/b", "a/b/c", "_a", "a-", "a b"}) {
    EXPECT_FALSE(is_label_key(bad)) << bad;
  }
  EXPECT_TRUE(is_label_key(std::string(253, 'a') + "/" + std::string(63, 'b')));
  EXPECT_FALSE(is_label_key(std::string(254, 'a') + "/b"));
  EXPECT_FALSE(is_label_key(std::string(64, 'b')));
  EXPECT_TRUE(is_qualified_name(std::string(64, 'b')));
  for (const std::string_view good : {"", "a", "A_b.c-1"})
    EXPECT_TRUE(is_label_value(good)) << good;
  for (const std::string_view bad : {"-a", "a.", "a b", "a/b"}) {
    EXPECT_FALSE(is_label_value(bad)) << bad;
  }
  EXPECT_TRUE(is_label_value(std::string(63, 'a')));
  EXPECT_FALSE(is_label_value(std::string(64, 'a')));
}

TEST(Names, ReasonsAndKinds) {
  for (const std::string_view good : {"A", "PodsReady", "a_1", "A:b,c"}) {
    EXPECT_TRUE(is_condition_reason(good)) << good;
  }
  for (const std::string_view bad : {"", "1a", "a b", "a:", "a-b"}) {
    EXPECT_FALSE(is_condition_reason(bad)) << bad;
  }
  for (const std::string_view good : {"A", "ConfigMap", "a-1"}) {
    EXPECT_TRUE(is_kind_name(good)) << good;
  }
  for (const std::string_view bad : {"", "1a", "a-", "a.b"}) EXPECT_FALSE(is_kind_name(bad)) << bad;
}

TEST(Names, Quantities) {
  for (const std::string_view good : {"0", "8", "-8", "+8", "1.5", ".5", "500m", "64Gi", "1e3"}) {
    EXPECT_TRUE(is_quantity(good)) << good;
  }
  for (const std::string_view bad : {"", "-", "--8", "+-8", "8x", "Gi", "1 Gi"}) {
    EXPECT_FALSE(is_quantity(bad)) << bad;
  }
}

TEST(Names, OnlyKnownPatternsAreFound) {
  const Pattern* label = find_pattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
  ASSERT_NE(label, nullptr);
  EXPECT_TRUE(label->matches("a-b"));
  EXPECT_FALSE(label->matches("a.b"));
  EXPECT_EQ(find_pattern("^.*$"), nullptr);
}

TEST(Names, Alternatives) {
  EXPECT_EQ(alternatives({"A"}), "A");
  EXPECT_EQ(alternatives({"A", "B"}), "A or B");
  EXPECT_EQ(alternatives({"A", "B", ""}), "A, B or \"\"");
}

}  // namespace
}  // namespace phalanx::admission

#include "base/quantity.h"

#include <gtest/gtest.h>

#include <limits>

namespace phalanx {
namespace {

int64_t amount(std::string_view resource, std::string_view text) {
  auto parsed = parse_amount(resource, text);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed.value_or(-1);
}

TEST(Quantity, CpuIsMillicoresRoundedUp) {
  EXPECT_EQ(amount("cpu", "4"), 4000);
  EXPECT_EQ(amount("cpu", "500m"), 500);
  EXPECT_EQ(amount("cpu", "0.1"), 100);
  EXPECT_EQ(amount("cpu", "1.0005"), 1001);
  EXPECT_EQ(amount("cpu", "1u"), 1);
  EXPECT_EQ(amount("cpu", "0"), 0);
}

TEST(Quantity, OtherResourcesAreWholeUnitsRoundedUp) {
  EXPECT_EQ(amount("memory", "1Ki"), 1024);
  EXPECT_EQ(amount("memory", "1.5Gi"), 1610612736);
  EXPECT_EQ(amount("memory", "1e3"), 1000);
  EXPECT_EQ(amount("memory", "2E"), 2000000000000000000);
  EXPECT_EQ(amount("memory", "1500m"), 2);
  EXPECT_EQ(amount("nvidia.com/gpu", "8"), 8);
  EXPECT_EQ(amount("pods", "+110"), 110);
  EXPECT_EQ(amount("memory", ".5k"), 500);
  EXPECT_EQ(amount("memory", "1e-9"), 1);
}

TEST(Quantity, SaturatesInsteadOfWrapping) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(amount("memory", "9223372036854775807"), kMax);
  EXPECT_EQ(amount("memory", "9223372036854775808"), kMax);
  EXPECT_EQ(amount("cpu", "9223372036854775807"), kMax);
  EXPECT_EQ(amount("memory", "99999999999999999999999999999999999999999999999999"), kMax);
  EXPECT_EQ(amount("memory", "16Ei"), kMax);
  EXPECT_EQ(amount("memory", "1e99"), kMax);
  EXPECT_EQ(amount("memory", "0.00000000000000000000000000000000000000000000000001"), 1);
}

TEST(Quantity, WhatSomebodyWroteMustFit) {
  EXPECT_EQ(*parse_exact_amount("memory", "9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(parse_exact_amount("memory", "9223372036854775808").error().message,
            "\"9223372036854775808\" is too large; the largest amount of memory is "
            "9223372036854775807");
  EXPECT_EQ(parse_bounded_amount("cpu", "1e30").error().message,
            "\"1e30\" is too large; the largest amount of cpu is 9223372036854775807m");
  EXPECT_FALSE(parse_exact_amount("memory", "64GB"));
}

TEST(Quantity, WhatIsCountedWholeHasNoParts) {
  EXPECT_EQ(*parse_exact_amount("nvidia.com/gpu", "2.0"), 2);
  EXPECT_EQ(*parse_exact_amount("nvidia.com/gpu", "2000m"), 2);
  EXPECT_EQ(*parse_exact_amount("cpu", "1.0005"), 1001);
  EXPECT_EQ(*parse_exact_amount("ephemeral-storage", "0.5"), 1);
  EXPECT_EQ(
      parse_exact_amount("nvidia.com/gpu", "1.5").error().message,
      "\"1.5\" is not a whole number, but nvidia.com/gpu cannot be had in part; write 1 or 2");
  EXPECT_FALSE(parse_exact_amount("pods", "500m"));
  EXPECT_EQ(*parse_bounded_amount("nvidia.com/gpu", "1.5"), 2);
}

TEST(Quantity, NumbersAreShownAsPeopleWriteThem) {
  EXPECT_EQ(quantity_text(json::value(1.5)), "1.5");
  EXPECT_EQ(quantity_text(json::value(8)), "8");
  EXPECT_EQ(quantity_text(json::value("64Gi")), "64Gi");
  EXPECT_EQ(amount("memory", quantity_text(json::value(1e15))), 1'000'000'000'000'000);
  EXPECT_EQ(amount("memory", quantity_text(json::value(1e-9))), 1);
}

TEST(Quantity, MalformedTextIsNamed) {
  for (std::string_view text :
       {"", "x", "1.2.3", "-1", "1 Gi", "Gi", "1GiB", "1e", "1e99999", "."}) {
    auto parsed = parse_amount("memory", text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_NE(parsed.error().message.find("is not a quantity of memory"), std::string::npos);
  }
}

TEST(Quantity, FormatsTheUsualWay) {
  EXPECT_EQ(format_amount("cpu", 4000), "4");
  EXPECT_EQ(format_amount("cpu", 1500), "1500m");
  EXPECT_EQ(format_amount("memory", 64LL << 30), "64Gi");
  EXPECT_EQ(format_amount("memory", 1000), "1000");
  EXPECT_EQ(format_amount("nvidia.com/gpu", 8), "8");
  EXPECT_EQ(format_amount("memory", -(2LL << 30)), "-2Gi");
}

}  // namespace
}  // namespace phalanx

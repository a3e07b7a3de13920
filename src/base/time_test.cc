#include "base/time.h"

#include <gtest/gtest.h>

namespace phalanx {
namespace {

TEST(Time, IsWrittenAndReadAsKubernetesDoes) {
  const auto time = parse_time("2026-01-31T08:00:00.250Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(format_time(*time), "2026-01-31T08:00:00Z");
  EXPECT_EQ(format_micro_time(*time), "2026-01-31T08:00:00.250000Z");
  EXPECT_EQ(parse_time("2026-01-31T10:00:00.250999+02:00").value(), *time);
  EXPECT_EQ(format_time(*parse_time("1969-12-31T23:59:59.5Z")), "1969-12-31T23:59:59Z");
}

TEST(Time, RefusesWhatIsNone) {
  for (const char* text :
       {"", "today", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.Z", "2026-12-31T23:59:60Z", "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00Zx", "-026-01-01T00:00:00Z"}) {
    const auto time = parse_time(text);
    ASSERT_FALSE(time) << text;
    EXPECT_NE(time.error().message.find("2026-01-31T08:00:00Z"), std::string::npos);
  }
}

TEST(Duration, AddsUpItsParts) {
  EXPECT_EQ(parse_duration("1h30m").value(), Duration(5'400'000));
  EXPECT_EQ(parse_duration("1.5s").value(), Duration(1'500));
  EXPECT_EQ(parse_duration("250ms").value(), Duration(250));
  EXPECT_EQ(parse_duration("0").value(), Duration(0));
  for (const char* text : {"", "10", "s", "-1s", "1d", "5 m", "1h-3m", "9999999999h", "infs"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Duration, IsWrittenShort) {
  for (const char* text : {"0s", "1h30m", "45s", "250ms", "24h", "1h2m3s4ms"}) {
    EXPECT_EQ(format_duration(*parse_duration(text)), text);
  }
}

}  // namespace
}  // namespace phalanx

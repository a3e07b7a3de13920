#include "manager/log.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace phalanx::manager {
namespace {

const Time kNow = parse_time("2026-01-31T08:00:00.25Z").value();

TEST(Log, TextIsOneLineWhateverItHolds) {
  EXPECT_EQ(log_line(LogFormat::kText, kNow, Level::kWarning, "a\nb\x1b[31m"),
            "2026-01-31T08:00:00.250000Z warn  a\\nb\\x1b[31m\n");
}

TEST(Log, JsonIsOneObjectALineWhateverItHolds) {
  const std::string line = log_line(LogFormat::kJson, kNow, Level::kError, "a\n\"b\" \xFF\xC3");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(json::parse(line), (json::value{{"time", "2026-01-31T08:00:00.250000Z"},
                                            {"level", "error"},
                                            {"message", "a\n\"b\" \xEF\xBF\xBD\xEF\xBF\xBD"}}));
}

}  // namespace
}  // namespace phalanx::manager

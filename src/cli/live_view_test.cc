#include "cli/live_view.h"

#include <gtest/gtest.h>

#include <sstream>

namespace phalanx::cli {
namespace {

LiveView sample() {
  LiveView view;
  view.elapsed = std::chrono::hours(27) + std::chrono::seconds(5);
  view.speed = 60;
  view.resource = "nvidia.com/gpu";
  view.levels = "block, rack";
  view.nodes = 32;
  view.whole = {"", 128, 256};
  for (int block = 1; block <= 2; ++block) {
    const std::string name = "b" + std::to_string(block);
    LiveRow row{{name, 64, 128}, {}};
    for (int rack = 1; rack <= 2; ++rack) {
      row.children.push_back({name + "-r" + std::to_string(rack), rack == 1 ? 64 : 0, 64});
    }
    view.rows.push_back(row);
  }
  view.queues = {{"batch", 2, 1, 32, 64}, {"research", 0, 3, 96, 128}};
  view.waiting = {{"ml/train", 16, std::chrono::minutes(3), "needs 16, room for 8"},
                  {"ml/eval", 2, std::chrono::seconds(9), "quota"}};
  view.waiting_count = 2;
  for (int i = 0; i < 40; ++i) view.events.push_back("event " + std::to_string(i));
  view.totals.submitted = 6;
  view.totals.finished = 3;
  return view;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(LiveViewTest, ShowsDomainsQueuesWhatWaitsAndEvents) {
  const std::string text = draw_live_view(sample(), {80, 24, {}});
  for (const std::string_view part :
       {"day 2 03:00:05 (x60)", "32 nodes", "50% of nvidia.com/gpu", "q quits",
        "b1 ######......  50%  r1 ##########  r2 ..........",
        "research #########...  75%  96 of 128  3 admitted, 0 pending", "-- waiting: 2",
        "ml/train  16 pods       3m  needs 16, room for 8", "6 submitted, 3 finished, 0 failed",
        "event 39"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

// How to end it and how full it is can be read on any screen.
TEST(LiveViewTest, TheHeaderFits) {
  LiveView view = sample();
  view.nodes = 200'000;
  view.elapsed = std::chrono::hours(24 * 100);
  for (const int columns : {200, 80, 60, 45, 32}) {
    const std::string header = lines_of(draw_live_view(view, {columns, 24, {}})).front();
    EXPECT_LE(header.size(), static_cast<size_t>(columns)) << header;
    EXPECT_TRUE(header.ends_with("  q quits")) << header;
    EXPECT_NE(header.find("50%"), std::string::npos) << header;
  }
}

TEST(LiveViewTest, FillsTheScreenAndNoMore) {
  LiveView view = sample();
  for (int i = 0; i < 100; ++i) {
    view.rows.push_back(view.rows[0]);
    view.queues.push_back(view.queues[0]);
    view.waiting.push_back(view.waiting[0]);
  }
  for (const int rows : {1, 2, 3, 5, 10, 24, 60}) {
    for (const int columns : {1, 10, 40, 80, 300}) {
      const auto lines = lines_of(draw_live_view(view, {columns, rows, {}}));
      EXPECT_EQ(static_cast<int>(lines.size()), rows) << columns;
      for (const std::string& line : lines) EXPECT_LE(static_cast<int>(line.size()), columns);
    }
  }
}

TEST(LiveViewTest, SaysHowManyDomainsAreLeftOut) {
  LiveView view = sample();
  view.rows.resize(20, view.rows[0]);
  EXPECT_NE(draw_live_view(view, {80, 24, {}}).find("and 13 more"), std::string::npos);
  view = sample();
  view.rows[0].children.resize(50, view.rows[0].children[0]);
  const std::string text = draw_live_view(view, {80, 24, {}});
  const std::string line = lines_of(text)[2];
  EXPECT_NE(line.find("  +"), std::string::npos) << line;
  EXPECT_LE(line.size(), 80U);
}

TEST(LiveViewTest, AnEmptyClusterCanBeDrawn) {
  const std::string text = draw_live_view({}, {80, 24, {}});
  EXPECT_NE(text.find("0 nodes"), std::string::npos);
}

TEST(LiveViewTest, ClipsByColumnsNotBytes) {
  EXPECT_EQ(clip("abcdef", 3), "abc");
  EXPECT_EQ(clip("ab", 3), "ab");
  EXPECT_EQ(clip("█▒·x", 2), "█▒");
  // Colors take no width, and end with the line.
  EXPECT_EQ(clip("\x1b[33mabcd", 2), "\x1b[33mab\x1b[0m");
  EXPECT_EQ(clip("ab\x1b[", 5), "ab\x1b[\x1b[0m");
}

TEST(LiveViewTest, ReasonsAreCutToWhatTheyTell) {
  EXPECT_EQ(short_reason("couldn't assign flavors to pod set main: too full"), "too full");
  EXPECT_EQ(short_reason("LocalQueue x doesn't exist"), "LocalQueue x doesn't exist");
}

}  // namespace
}  // namespace phalanx::cli

// A cluster at work, as one screen of text: how full its domains are, its queues, what waits and
// why, and what happened last.
//
// Looking and drawing are apart: a LiveView is plain data, and the drawing a pure function of it
// and of the size of the screen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/simulate_history.h"
#include "cli/tree_picture.h"
#include "sim/embedded_cluster.h"

namespace phalanx::cli {

struct LiveDomain {
  std::string name;
  int64_t used = 0;
  int64_t total = 0;
};

struct LiveRow {
  LiveDomain domain;                 // of the highest level
  std::vector<LiveDomain> children;  // of the level below
};

struct LiveQueue {
  std::string name;
  int64_t pending = 0;
  int64_t admitted = 0;
  int64_t used = 0;
  int64_t quota = 0;
};

struct LiveWaiting {
  std::string name;
  int64_t pods = 0;
  Duration waited{};
  std::string reason;
};

struct LiveView {
  Duration elapsed{};  // of cluster time
  double speed = 1;
  std::string resource;  // that is drawn
  std::string levels;    // what rows and their children are: "block, rack"
  int64_t nodes = 0;
  LiveDomain whole;
  std::vector<LiveRow> rows;
  std::vector<LiveQueue> queues;
  std::vector<LiveWaiting> waiting;  // in the order in which they are considered, as far as kept
  int64_t waiting_count = 0;
  std::vector<std::string> events;  // the last ones, oldest first
  HistoryTotals totals;
};

struct Screen {
  int columns = 80;
  int rows = 24;
  PictureStyle style;
};

// At most `rows` lines, none wider than `columns`, each but the last with its end of line.
std::string draw_live_view(const LiveView& view, const Screen& screen);

// The view of the flavor's topology. `most` bounds what waits and the events.
LiveView look_at(sim::EmbeddedCluster& cluster, const History& history, const std::string& flavor,
                 const std::string& resource, size_t most);

// Cuts a line to a width; sequences of colors take none.
std::string clip(std::string_view line, int columns);

// The part of a refusal that tells something: without how it begins.
std::string short_reason(std::string_view message);

}  // namespace phalanx::cli

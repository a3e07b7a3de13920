#include "cli/live_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/simulate_placement.h"
#include "cli/simulate_report.h"

namespace phalanx::cli {
namespace {

constexpr int kBarWidth = 12;

std::string percent_of(const LiveDomain& domain) {
  if (domain.total <= 0) return "  -";
  return fmt::format("{:3}%", std::clamp<int64_t>(domain.used * 100 / domain.total, 0, 100));
}

std::string clock_text(Duration elapsed) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(elapsed).count();
  constexpr int64_t kDay = int64_t{24} * 3600;
  return fmt::format("day {} {:02}:{:02}:{:02}", seconds / kDay + 1, seconds % kDay / 3600,
                     seconds % 3600 / 60, seconds % 60);
}

// "r2" of "b1-r2" in b1.
std::string_view inside(std::string_view name, std::string_view parent) {
  const bool repeats =
      name.size() > parent.size() + 1 && name.starts_with(parent) && name[parent.size()] == '-';
  return repeats ? name.substr(parent.size() + 1) : name;
}

class Drawing {
 public:
  Drawing(const LiveView& view, const Screen& screen) : view_(view), screen_(screen) {}

  std::string draw() {
    header();
    // The tree gets a third at most, what waits and the events share what the queues leave.
    tree(std::max(1, screen_.rows / 3));
    queues(std::max(1, screen_.rows / 4));
    const int left = std::max(0, screen_.rows - static_cast<int>(lines_.size()));
    waiting(left / 2);
    events(screen_.rows - static_cast<int>(lines_.size()));
    std::string text;
    for (size_t i = 0; i < lines_.size() && static_cast<int>(i) < screen_.rows; ++i) {
      text += (i == 0 ? "" : "\n") + clip(lines_[i], screen_.columns);
    }
    return text;
  }

 private:
  void header() {
    const std::string clock = fmt::format("{} (x{:g})", clock_text(view_.elapsed), view_.speed);
    const std::string nodes = fmt::format("{} node{}", view_.nodes, view_.nodes == 1 ? "" : "s");
    std::string used = percent_of(view_.whole);
    used.erase(0, used.find_first_not_of(' '));
    // The longest that fits: how to end it, how full it is and the time come before the rest.
    for (const std::string& line :
         {fmt::format("Phalanx  {}  {}, {} of {} in use  q quits", clock, nodes, used,
                      view_.resource),
          fmt::format("Phalanx  {}  {}, {} in use  q quits", clock, nodes, used),
          fmt::format("{}  {} in use  q quits", clock, used),
          fmt::format("{}  {}  q quits", clock_text(view_.elapsed), used)}) {
      if (lines_.empty() || static_cast<int>(lines_.front().size()) > screen_.columns) {
        lines_.assign(1, line);
      }
    }
  }

  [[nodiscard]] std::string bar(const LiveDomain& domain, int width) const {
    return draw_bar(domain.used, 0, domain.total, width, screen_.style);
  }

  void tree(int most) {
    lines_.push_back(fmt::format("-- {} of each {}", view_.resource, view_.levels));
    size_t width = 1;
    for (const LiveRow& row : view_.rows) width = std::max(width, row.domain.name.size());
    const bool all = static_cast<int>(view_.rows.size()) <= most;
    const size_t shown = all ? view_.rows.size() : static_cast<size_t>(most - 1);
    for (size_t i = 0; i < shown; ++i) lines_.push_back(row_text(view_.rows[i], width));
    if (!all) lines_.push_back(fmt::format("   and {} more", view_.rows.size() - shown));
  }

  [[nodiscard]] std::string row_text(const LiveRow& row, size_t width) const {
    std::string text = fmt::format("{:<{}} {} {}", row.domain.name, width,
                                   bar(row.domain, kBarWidth), percent_of(row.domain));
    if (row.children.empty()) return text;
    size_t name = 1;
    for (const LiveDomain& child : row.children) {
      name = std::max(name, inside(child.name, row.domain.name).size());
    }
    // Two spaces, name, space, bar for each.
    const int fixed = static_cast<int>(name) + 3;
    const int room = screen_.columns - static_cast<int>(width) - kBarWidth - 6;
    const int count = static_cast<int>(row.children.size());
    const int bar_width = std::clamp(room / count - fixed, 3, 10);
    const int fits = std::min(count, std::max(0, room / (fixed + bar_width)));
    const int shown = fits == count ? count : std::max(0, fits - 1);
    for (int i = 0; i < shown; ++i) {
      const LiveDomain& child = row.children[static_cast<size_t>(i)];
      text += fmt::format("  {:<{}} {}", inside(child.name, row.domain.name), name,
                          bar(child, bar_width));
    }
    if (shown < count) text += fmt::format("  +{}", count - shown);
    return text;
  }

  void queues(int most) {
    lines_.push_back("-- queues");
    size_t width = 1;
    for (const LiveQueue& queue : view_.queues) width = std::max(width, queue.name.size());
    int shown = 0;
    for (const LiveQueue& queue : view_.queues) {
      if (shown++ == most) break;
      const LiveDomain usage{queue.name, queue.used, queue.quota};
      lines_.push_back(fmt::format(
          "{:<{}} {} {}  {} of {}  {} admitted, {} pending", queue.name, width,
          bar(usage, kBarWidth), percent_of(usage), short_amount(view_.resource, queue.used),
          short_amount(view_.resource, queue.quota), queue.admitted, queue.pending));
    }
  }

  void waiting(int most) {
    if (most < 2) return;
    lines_.push_back(fmt::format("-- waiting: {}", view_.waiting_count));
    size_t width = 1;
    for (const LiveWaiting& entry : view_.waiting) width = std::max(width, entry.name.size());
    int shown = 0;
    for (const LiveWaiting& entry : view_.waiting) {
      if (++shown == most) break;
      lines_.push_back(fmt::format("{:<{}} {:>3} pod{} {:>8}  {}", entry.name, width, entry.pods,
                                   entry.pods == 1 ? " " : "s", short_duration(entry.waited),
                                   entry.reason));
    }
  }

  void events(int most) {
    if (most < 2) return;
    lines_.push_back(fmt::format("-- events: {} submitted, {} finished, {} failed",
                                 view_.totals.submitted, view_.totals.finished,
                                 view_.totals.failed));
    const size_t shown = std::min(view_.events.size(), static_cast<size_t>(most - 1));
    for (size_t i = view_.events.size() - shown; i < view_.events.size(); ++i) {
      lines_.push_back(view_.events[i]);
    }
  }

  const LiveView& view_;
  const Screen& screen_;
  std::vector<std::string> lines_;
};

// Used and total of the leaves of every domain, level by level.
class Sums {
 public:
  Sums(const topology::Cluster& cluster, const topology::DomainTree& tree,
       const std::string& resource)
      : cluster_(cluster), tree_(tree) {
    const ResourceId id = cluster.find_resource(resource);
    leaves_.resize(tree.leaf_count());
    if (!id.valid()) return;
    const auto free = tree.free(id);
    for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
      if (!tree.leaf_active(leaf) || leaf >= free.size()) continue;
      const auto used = tree.used(id);
      leaves_[leaf].total = tree.by_host() ? cluster.allocatable(tree.leaf_node(leaf), id)
                                           : free[leaf] + (leaf < used.size() ? used[leaf] : 0);
      leaves_[leaf].used = leaves_[leaf].total - free[leaf];
    }
  }

  [[nodiscard]] LiveDomain of(int level, uint32_t domain) const {
    LiveDomain sum{cluster_.text(tree_.value(level, domain)), 0, 0};
    const topology::DomainRange range = tree_.leaves(level, domain);
    for (uint32_t leaf = range.begin; leaf < range.end; ++leaf) {
      sum.used += leaves_[leaf].used;
      sum.total += leaves_[leaf].total;
    }
    return sum;
  }

 private:
  const topology::Cluster& cluster_;
  const topology::DomainTree& tree_;
  std::vector<LiveDomain> leaves_;
};

void look_at_tree(core::State& state, const std::string& flavor, LiveView& view) {
  const auto id = state.account.tree_of(flavor);
  if (!id) return;
  topology::Cluster& cluster = state.account.cluster();
  const topology::DomainTree& tree = cluster.tree(*id);
  const Sums sums(cluster, tree, view.resource);
  view.nodes = tree.active_leaf_count();
  view.levels = level_word(tree.level_key(0));
  // Hosts are too many to be seen beside their racks.
  const bool has_children = tree.level_count() > 2;
  if (has_children) view.levels += ", " + level_word(tree.level_key(1));
  for (uint32_t domain = 0; domain < tree.size(0); ++domain) {
    LiveRow row{sums.of(0, domain), {}};
    view.whole.used += row.domain.used;
    view.whole.total += row.domain.total;
    if (has_children) {
      const topology::DomainRange children = tree.children(0, domain);
      for (uint32_t child = children.begin; child < children.end; ++child) {
        row.children.push_back(sums.of(1, child));
      }
    }
    view.rows.push_back(std::move(row));
  }
}

void look_at_queues(sim::EmbeddedCluster& cluster, const std::string& flavor, LiveView& view) {
  const core::State& state = cluster.core().state();
  for (const auto& [name, queue] : state.cluster_queues) {
    const quota::QueueTotals& totals = state.ledger.of_cluster_queue(name);
    LiveQueue live{name, cluster.core().scheduler().pending_in_cluster_queue(name),
                   totals.admitted_workloads, 0, 0};
    if (const auto held = totals.reserved.find({flavor, view.resource});
        held != totals.reserved.end()) {
      live.used = held->second;
    }
    for (const api::ResourceGroup& group : queue.groups) {
      for (const api::FlavorQuotas& quotas : group.flavors) {
        const api::ResourceQuota* quota = quotas.find(view.resource);
        if (quotas.flavor == flavor && quota != nullptr) live.quota = quota->nominal;
      }
    }
    view.queues.push_back(std::move(live));
  }
}

}  // namespace

std::string clip(std::string_view line, int columns) {
  std::string text;
  int width = 0;
  bool colored = false;
  for (size_t i = 0; i < line.size();) {
    if (line[i] == '\x1b') {
      const size_t end = std::min(line.find('m', i), line.size() - 1);
      text += line.substr(i, end - i + 1);
      colored = true;
      i = end + 1;
      continue;
    }
    if (width == columns) break;
    ++width;
    do text += line[i++];
    while (i < line.size() && (static_cast<unsigned char>(line[i]) & 0xC0) == 0x80);
  }
  if (colored) text += "\x1b[0m";
  return text;
}

std::string short_reason(std::string_view message) {
  constexpr std::string_view kBeginning = "couldn't assign flavors to pod set ";
  if (message.starts_with(kBeginning)) {
    const size_t colon = message.find(": ");
    if (colon != std::string_view::npos) message.remove_prefix(colon + 2);
  }
  return std::string(message);
}

std::string draw_live_view(const LiveView& view, const Screen& screen) {
  return Drawing(view, screen).draw();
}

LiveView look_at(sim::EmbeddedCluster& cluster, const History& history, const std::string& flavor,
                 const std::string& resource, size_t most) {
  LiveView view;
  view.elapsed = cluster.now() - history.start();
  view.resource = resource;
  view.totals = history.totals();
  core::Core& core = cluster.core();
  look_at_tree(core.state(), flavor, view);
  look_at_queues(cluster, flavor, view);
  std::vector<core::PendingEntry> entries;
  for (const LiveQueue& queue : view.queues) {
    const core::PendingQueue* pending = core.scheduler().queue(queue.name);
    if (pending != nullptr) std::ranges::copy(pending->in_order(), std::back_inserter(entries));
  }
  std::ranges::sort(entries);
  view.waiting_count = static_cast<int64_t>(entries.size());
  for (const core::PendingEntry& entry : entries) {
    if (view.waiting.size() == most) break;
    const WorkloadRecord* record = history.find(entry.workload);
    if (record == nullptr) continue;
    view.waiting.push_back({record->name, record->pods, record->waited_until(cluster.now()),
                            short_reason(record->message)});
  }
  const size_t count = std::min(most, history.events().size());
  for (size_t i = history.events().size() - count; i < history.events().size(); ++i) {
    view.events.push_back(event_line(history.events()[i], history.start()));
  }
  return view;
}

}  // namespace phalanx::cli

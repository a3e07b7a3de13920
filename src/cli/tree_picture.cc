#include "cli/tree_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <numeric>

#include "base/quantity.h"
#include "base/saturating.h"

namespace phalanx::cli {
namespace {

constexpr int kBarWidth = 16;

constexpr std::string_view kUsedColor = "\x1b[33m";
constexpr std::string_view kPlacedColor = "\x1b[1;32m";
constexpr std::string_view kFreeColor = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

struct Glyphs {
  std::string_view used;
  std::string_view placed;
  std::string_view free;
  std::string_view branch;
  std::string_view last_branch;
  std::string_view trunk;
  std::string_view more;
};
constexpr Glyphs kUnicode{"█", "▒", "·", "├─ ", "└─ ", "│  ", "…"};
constexpr Glyphs kAscii{"#", "+", ".", "|- ", "`- ", "|  ", "..."};
constexpr std::string_view kNoTrunk = "   ";

const Glyphs& glyphs(const PictureStyle& style) {
  return style.unicode ? kUnicode : kAscii;
}

// Characters as a terminal shows them, one column each: label values and our glyphs all are.
size_t columns(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string repeat(std::string_view text, int times) {
  std::string result;
  for (int index = 0; index < times; ++index) result += text;
  return result;
}

struct Sums {
  int64_t total = 0;
  int64_t used = 0;
  int64_t placed = 0;
  int64_t pods = 0;
  int64_t leaves = 0;
  int64_t barred = 0;

  [[nodiscard]] int64_t free() const {
    return saturating_subtract(saturating_subtract(total, used), placed);
  }
  void add(const Sums& other) {
    total = saturating_add(total, other.total);
    used = saturating_add(used, other.used);
    placed = saturating_add(placed, other.placed);
    pods = saturating_add(pods, other.pods);
    leaves += other.leaves;
    barred += other.barred;
  }
};

struct Line {
  std::string name;  // with its branches
  Sums sums;
  std::string note;
};

// A domain that is drawn, with those of its children that are.
struct Opened {
  int level = -1;  // -1: the whole cluster
  uint32_t domain = 0;
  std::list<Opened> children;  // in path order; a list, because they are pointed to
  uint32_t hidden = 0;         // children that share one line
};

class TreeDrawing {
 public:
  TreeDrawing(const topology::Cluster& cluster, const topology::DomainTree& tree,
              const Picture& picture, const PictureStyle& style)
      : cluster_(cluster), tree_(tree), picture_(picture), style_(style) {
    sums_.resize(tree.level_count());
    for (int level = tree.lowest(); level >= 0; --level) {
      sums_[level].resize(tree.size(level));
      for (uint32_t domain = 0; domain < tree.size(level); ++domain) {
        sums_[level][domain] =
            level == tree.lowest() ? leaf_sums(domain) : child_sums(level, domain);
      }
    }
    whole_ = child_sums(-1, 0);
  }

  std::string draw() {
    Opened root;
    open(root);
    lines_.push_back({"cluster", whole_, ""});
    add_lines(root, "");
    return text();
  }

 private:
  [[nodiscard]] Sums leaf_sums(uint32_t leaf) const {
    const auto at = [&](const std::vector<int64_t>& column) {
      return leaf < column.size() ? column[leaf] : 0;
    };
    const PictureAmounts& amounts = picture_.amounts;
    if (!tree_.leaf_active(leaf)) return {};
    const bool barred = leaf < amounts.barred.size() && amounts.barred[leaf];
    return {at(amounts.total), at(amounts.used), at(amounts.placed), at(amounts.pods), 1,
            barred ? 1 : 0};
  }

  // The children that have nodes which take pods; of others there is nothing to see.
  [[nodiscard]] std::vector<uint32_t> children_of(const Opened& parent) const {
    std::vector<uint32_t> children;
    const topology::DomainRange range = tree_.children(parent.level, parent.domain);
    for (uint32_t child = range.begin; child < range.end; ++child) {
      if (sums_[parent.level + 1][child].leaves > 0) children.push_back(child);
    }
    return children;
  }

  [[nodiscard]] Sums child_sums(int level, uint32_t domain) const {
    Sums sums;
    const topology::DomainRange range = tree_.children(level, domain);
    for (uint32_t child = range.begin; child < range.end; ++child)
      sums.add(sums_[level + 1][child]);
    return sums;
  }

  // Decides what is drawn. First the domains that got pods, level by level, then, with the lines
  // that are left, the others beside them.
  void open(Opened& root) {
    int64_t left = std::max(style_.max_lines, 3) - 1;
    std::vector<Opened*> parents{&root};
    std::vector<Opened*> all;
    for (int level = 0; level < tree_.level_count() && !parents.empty(); ++level) {
      const int64_t before = left;
      const bool complete = open_level(parents, left);
      all.insert(all.end(), parents.begin(), parents.end());
      if (before == left || (whole_.pods == 0 && !complete)) break;
      std::vector<Opened*> next;
      for (Opened* parent : parents) {
        for (Opened& child : parent->children) {
          if (interesting(child.level, child.domain)) next.push_back(&child);
        }
      }
      parents = std::move(next);
    }
    for (Opened* parent : all) reveal(*parent, left);
  }

  [[nodiscard]] bool interesting(int level, uint32_t domain) const {
    return whole_.pods == 0 || sums_[level][domain].pods > 0;
  }

  // Opens the interesting children of all parents, as far as the lines reach: each parent gets the
  // same share. False if some had to be left out for lack of lines.
  bool open_level(const std::vector<Opened*>& parents, int64_t& left) const {
    std::vector<std::vector<uint32_t>> wanted;
    int64_t lines = 0;
    for (const Opened* parent : parents) {
      std::vector<uint32_t> children = children_of(*parent);
      const size_t all = children.size();
      std::erase_if(children,
                    [&](uint32_t child) { return !interesting(parent->level + 1, child); });
      lines += static_cast<int64_t>(children.size()) + (children.size() < all ? 1 : 0);
      wanted.push_back(std::move(children));
    }
    const bool complete = lines <= left;
    const int64_t share = left / static_cast<int64_t>(parents.size());
    if (!complete && share < 2) return false;
    // Whole levels or none below the first two when nothing was placed: half a level tells little.
    if (!complete && whole_.pods == 0 && parents.front()->level >= 1) return false;
    for (size_t index = 0; index < parents.size(); ++index) {
      Opened& parent = *parents[index];
      const auto size = static_cast<uint32_t>(children_of(parent).size());
      if (!complete) keep_foremost(wanted[index], parent.level + 1, size, share);
      for (const uint32_t child : wanted[index]) {
        parent.children.push_back({parent.level + 1, child, {}, 0});
      }
      parent.hidden = size - static_cast<uint32_t>(wanted[index].size());
      left -= static_cast<int64_t>(wanted[index].size()) + (parent.hidden > 0 ? 1 : 0);
    }
    return complete;
  }

  // The children that got the most pods, or else have the most free, in path order again.
  void keep_foremost(std::vector<uint32_t>& children, int level, uint32_t size,
                     int64_t share) const {
    const auto kept = static_cast<size_t>(size <= share ? share : share - 1);
    if (children.size() <= kept) return;
    std::ranges::sort(children, [&](uint32_t a, uint32_t b) {
      const Sums& first = sums_[level][a];
      const Sums& second = sums_[level][b];
      if (first.pods != second.pods) return first.pods > second.pods;
      return first.free() != second.free() ? first.free() > second.free() : a < b;
    });
    children.resize(kept);
    std::ranges::sort(children);
  }

  // Shows all children of a parent one by one if the lines allow it.
  void reveal(Opened& parent, int64_t& left) const {
    if (parent.hidden == 0 || parent.hidden - 1 > left) return;
    left -= parent.hidden - 1;
    parent.hidden = 0;
    auto next = parent.children.begin();
    for (const uint32_t child : children_of(parent)) {
      if (next != parent.children.end() && next->domain == child) {
        ++next;
      } else {
        parent.children.insert(next, {parent.level + 1, child, {}, 0});
      }
    }
  }

  void add_lines(const Opened& parent, const std::string& indent) {
    const Glyphs& glyph = glyphs(style_);
    for (const Opened& child : parent.children) {
      const bool last = &child == &parent.children.back() && parent.hidden == 0;
      lines_.push_back({indent + std::string(last ? glyph.last_branch : glyph.branch) +
                            cluster_.text(tree_.value(child.level, child.domain)),
                        sums_[child.level][child.domain], note_of(child)});
      add_lines(child, indent + std::string(last ? kNoTrunk : glyph.trunk));
    }
    if (parent.hidden == 0) return;
    const Sums hidden = hidden_sums(parent);
    lines_.push_back(
        {indent + fmt::format("{}{} {} more", glyph.last_branch, glyph.more, parent.hidden), hidden,
         summary(hidden)});
  }

  // The children that share a line, added up.
  [[nodiscard]] Sums hidden_sums(const Opened& parent) const {
    Sums sums;
    auto shown = parent.children.begin();
    for (const uint32_t child : children_of(parent)) {
      if (shown != parent.children.end() && shown->domain == child) {
        ++shown;
      } else {
        sums.add(sums_[parent.level + 1][child]);
      }
    }
    return sums;
  }

  // What is to be said of leaves that are not shown.
  [[nodiscard]] std::string summary(const Sums& sums) const {
    std::string text;
    if (sums.pods > 0) text = fmt::format("{} pod{}", sums.pods, sums.pods == 1 ? "" : "s");
    if (sums.barred > 0) {
      text += fmt::format("{}{} of {} barred", text.empty() ? "" : ", ", sums.barred, sums.leaves);
    }
    return text;
  }

  [[nodiscard]] std::string note_of(const Opened& line) const {
    if (line.level == tree_.lowest()) {
      return line.domain < picture_.notes.size() ? picture_.notes[line.domain] : "";
    }
    return line.children.empty() ? summary(sums_[line.level][line.domain]) : "";
  }

  [[nodiscard]] std::string painted(std::string_view color, std::string text) const {
    return style_.color ? fmt::format("{}{}{}", color, text, kPlain) : text;
  }

  [[nodiscard]] std::string text() const {
    constexpr std::array<std::string_view, 4> kTitles{"used", "placed", "free", "total"};
    std::array<size_t, 4> widths{};
    size_t name_width = picture_.resource.size();
    std::vector<std::array<std::string, 4>> numbers;
    for (size_t column = 0; column < widths.size(); ++column)
      widths[column] = kTitles[column].size();
    for (const Line& line : lines_) {
      name_width = std::max(name_width, columns(line.name));
      const auto amount = [&](int64_t value) { return short_amount(picture_.resource, value); };
      numbers.push_back({amount(line.sums.used), amount(line.sums.placed),
                         amount(std::max<int64_t>(0, line.sums.free())), amount(line.sums.total)});
      for (size_t column = 0; column < widths.size(); ++column) {
        widths[column] = std::max(widths[column], numbers.back()[column].size());
      }
    }
    std::string out = picture_.resource + std::string(name_width - picture_.resource.size(), ' ') +
                      std::string(kBarWidth + 2, ' ');
    for (size_t column = 0; column < widths.size(); ++column) {
      out += "  " + pad_left(kTitles[column], widths[column]);
    }
    out += "\n";
    for (size_t index = 0; index < lines_.size(); ++index) {
      const Line& line = lines_[index];
      out += line.name + std::string(name_width - columns(line.name), ' ') + "  " +
             draw_bar(line.sums.used, line.sums.placed, line.sums.total, kBarWidth, style_);
      for (size_t column = 0; column < widths.size(); ++column) {
        std::string number = pad_left(numbers[index][column], widths[column]);
        if (column == 1 && line.sums.pods > 0) number = painted(kPlacedColor, std::move(number));
        out += "  " + number;
      }
      if (!line.note.empty()) out += "  " + line.note;
      out += "\n";
    }
    return out + legend();
  }

  [[nodiscard]] std::string legend() const {
    const Glyphs& glyph = glyphs(style_);
    return fmt::format("{} used   {} placed now   {} free\n",
                       painted(kUsedColor, std::string(glyph.used)),
                       painted(kPlacedColor, std::string(glyph.placed)),
                       painted(kFreeColor, std::string(glyph.free)));
  }

  const topology::Cluster& cluster_;
  const topology::DomainTree& tree_;
  const Picture& picture_;
  const PictureStyle& style_;
  std::vector<std::vector<Sums>> sums_;  // by level, domain
  Sums whole_;
  std::vector<Line> lines_;
};

}  // namespace

std::string pad_left(std::string_view text, size_t width) {
  const size_t shown = columns(text);
  return std::string(width > shown ? width - shown : 0, ' ') + std::string(text);
}

std::string short_amount(std::string_view resource, int64_t amount) {
  std::string exact = format_amount(resource, amount);
  const bool bytes =
      resource == "memory" || resource.starts_with("hugepages-") || resource.ends_with("storage");
  if (resource == "cpu" && amount >= 10'000) {
    const int64_t tenths = (amount + 50) / 100;
    return tenths % 10 == 0 ? fmt::format("{}", tenths / 10)
                            : fmt::format("{}.{}", tenths / 10, tenths % 10);
  }
  constexpr size_t kLong = 6;
  if (!bytes || exact.size() <= kLong) return exact;
  constexpr std::array<std::string_view, 5> kUnits{"Ki", "Mi", "Gi", "Ti", "Pi"};
  for (int unit = static_cast<int>(kUnits.size()) - 1; unit >= 0; --unit) {
    const int64_t size = int64_t{1} << (10 * (unit + 1));
    // At least two digits, so that the rounding stays small.
    if (amount / size >= 10) return fmt::format("{}{}", amount / size, kUnits[unit]);
  }
  return exact;
}

std::string draw_bar(int64_t used, int64_t placed, int64_t total, int width,
                     const PictureStyle& style) {
  const Glyphs& glyph = glyphs(style);
  if (total <= 0) return std::string(width, ' ');
  used = std::clamp<int64_t>(used, 0, total);
  placed = std::clamp<int64_t>(placed, 0, total - used);
  const std::array<int64_t, 3> amounts{used, placed, total - used - placed};
  std::array<int, 3> cells{};
  for (size_t part = 0; part < amounts.size(); ++part) {
    const double exact = static_cast<double>(amounts[part]) / static_cast<double>(total) * width;
    cells[part] = amounts[part] == 0 ? 0 : std::max(1, static_cast<int>(std::lround(exact)));
  }
  // Rounding is settled with the largest part, which shows it least.
  *std::ranges::max_element(cells) += width - std::accumulate(cells.begin(), cells.end(), 0);
  const std::array<std::string_view, 3> marks{glyph.used, glyph.placed, glyph.free};
  const std::array<std::string_view, 3> colors{kUsedColor, kPlacedColor, kFreeColor};
  std::string bar;
  for (size_t part = 0; part < cells.size(); ++part) {
    if (cells[part] <= 0) continue;
    const std::string run = repeat(marks[part], cells[part]);
    bar += style.color ? fmt::format("{}{}{}", colors[part], run, kPlain) : run;
  }
  return bar;
}

std::string draw_tree(const topology::Cluster& cluster, const topology::DomainTree& tree,
                      const Picture& picture, const PictureStyle& style) {
  return TreeDrawing(cluster, tree, picture, style).draw();
}

}  // namespace phalanx::cli

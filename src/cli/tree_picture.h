// A drawing of a domain tree in text: for every domain a bar of one resource with what is used,
// what was placed just now and what is free.
//
// The drawing has at most `max_lines` lines of tree, however large the cluster: domains that got
// nothing are one line each, and where even those are too many they share a line with their sum.
// If nothing was placed at all, whole levels are shown from the top as far as they fit.
// Cost: one pass over the leaves, plus a sort of the children of each domain that is opened.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/cluster.h"

namespace phalanx::cli {

struct PictureStyle {
  bool unicode = false;
  bool color = false;
  int max_lines = 40;
};

// Columns by leaf, in amounts of the resource that is drawn.
struct PictureAmounts {
  std::vector<int64_t> total;
  std::vector<int64_t> used;    // before
  std::vector<int64_t> placed;  // now
  std::vector<int64_t> pods;    // placed now; decides what is opened
  std::vector<bool> barred;     // no Job may use it, whatever is free there; empty: none
};

struct Picture {
  std::string resource;
  PictureAmounts amounts;
  std::vector<std::string> notes;  // by leaf, shown behind its numbers; empty: none at all
};

// The bar alone: `width` cells, where what is not zero gets at least one cell as far as there are
// enough. More used than there is draws as all used.
std::string draw_bar(int64_t used, int64_t placed, int64_t total, int width,
                     const PictureStyle& style);

// An amount as a person reads it: many bytes are rounded to a unit, many cores to a tenth.
std::string short_amount(std::string_view resource, int64_t amount);

// Pads on the left to a width.
std::string pad_left(std::string_view text, size_t width);

std::string draw_tree(const topology::Cluster& cluster, const topology::DomainTree& tree,
                      const Picture& picture, const PictureStyle& style);

}  // namespace phalanx::cli

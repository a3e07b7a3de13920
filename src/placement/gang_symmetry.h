// Which domains are interchangeable for a gang, and which situations were met before.
//
// Two leaves are alike if the gang sees the same capacity in them (what exceeds all it could ever
// use does not count) and the same node filters; two domains are alike if their children are alike
// one by one. A search that failed in one of several alike domains need not try the others, and a
// situation that is alike to one that failed fails, too. This is what keeps full clusters with many
// equal racks from being searched rack by rack. Classes are interned from exact descriptions, never
// hashed down, so that a "no" stays proven. Past a bound on memory new situations count as unlike
// all others, which costs time but no truth.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "placement/gang_items.h"

namespace phalanx::placement {

class GangSymmetry {
 public:
  // Works for gangs within one topology; `tree` is its index.
  GangSymmetry(const topology::DomainTree& tree, const GangItems& gang, int tree_index);

  // Brings the classes up to date with the tree. Returns how many domains it had to look at.
  int64_t refresh();

  [[nodiscard]] uint32_t domain_class(int level, uint32_t domain) const {
    return classes_[level][domain];
  }
  // Of the whole tree.
  [[nodiscard]] uint32_t root_class() const { return root_class_; }

 private:
  using Description = std::vector<int64_t>;

  uint32_t intern(Description description);
  uint32_t describe_leaf(uint32_t leaf);
  uint32_t describe_domain(int level, uint32_t domain);
  void describe_root();

  const topology::DomainTree& tree_;
  struct Relevant {
    ResourceId resource;
    int64_t most = 0;  // all that the gang could use of it
  };
  std::vector<Relevant> resources_;
  std::vector<const NodeFilter*> filters_;
  std::vector<bool> pinned_;  // leaves with running pods are like no other
  std::vector<std::vector<uint32_t>> classes_;
  uint32_t root_class_ = 0;
  uint64_t position_ = 0;
  uint32_t next_class_ = 0;
  size_t remembered_ = 0;  // numbers in all descriptions
  boost::unordered_flat_map<Description, uint32_t, boost::hash<Description>> known_;
};

}  // namespace phalanx::placement

// Every way to spread the pods of one pod set over some domains ("cells"), one after another: what
// the exact search for gangs (placement/gang_search.h) goes through when its first choice does not
// work out.
//
// Fullest first, in the order of the cells. Of cells of one kind only the first are used, the
// fuller before the emptier: the others would give the same again. Slices are cut off early: a
// domain of theirs is not left behind with a part of a slice.
//
// It keeps its own place, on the heap: there may be as many cells as there are nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace phalanx::placement {

class PodDistributions {
 public:
  struct Cell {
    uint32_t domain = 0;
    int32_t room = 0;   // pods
    uint64_t kind = 0;  // cells of one kind stand next to each other, and are interchangeable
  };
  // A layer of slices: the pods in each of its domains must be a multiple of `size`.
  struct Layer {
    int32_t size = 1;
    std::vector<uint32_t> domains;     // by cell; cells of one domain stand next to each other
    std::map<uint32_t, int64_t> pods;  // by domain; at first those that run already
  };
  struct Part {
    size_t cell = 0;  // index
    int32_t pods = 0;
  };

  PodDistributions(std::vector<Cell> cells, std::vector<Layer> layers, int32_t pods);

  // Whether there is another one. `spend` is asked before every change, and ends the walk if it
  // says no.
  bool next(const std::function<bool()>& spend);

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] const Cell& cell(const Part& part) const { return cells_[part.cell]; }

 private:
  // The next part, from this cell on.
  bool add_part(size_t from);
  // Makes the last part smaller, or moves it on; gives up parts that can do neither.
  bool change_last();
  void push(Part part);
  Part pop();
  void count(size_t cell, int32_t more_pods);
  [[nodiscard]] bool leaves_slice_open(size_t next_cell) const;

  std::vector<Cell> cells_;
  std::vector<Layer> layers_;
  std::vector<int64_t> room_from_;  // of this cell and all after it
  std::vector<Part> parts_;
  int32_t remaining_;
  int64_t broken_ = 0;  // domains, of all layers, whose pods are no whole slices
  bool started_ = false;
};

}  // namespace phalanx::placement

#include "placement/pod_distributions.h"

#include <algorithm>

namespace phalanx::placement {

PodDistributions::PodDistributions(std::vector<Cell> cells, std::vector<Layer> layers, int32_t pods)
    : cells_(std::move(cells)),
      layers_(std::move(layers)),
      room_from_(cells_.size() + 1, 0),
      remaining_(pods) {
  for (size_t index = cells_.size(); index-- > 0;) {
    room_from_[index] = room_from_[index + 1] + cells_[index].room;
  }
  for (const Layer& layer : layers_) {
    broken_ += std::ranges::count_if(
        layer.pods, [&](const auto& entry) { return entry.second % layer.size != 0; });
  }
}

bool PodDistributions::next(const std::function<bool()>& spend) {
  // The last distribution, if there was one, is complete: something in it must change.
  bool backwards = started_;
  started_ = true;
  for (;;) {
    if (!backwards && remaining_ == 0) {
      if (broken_ == 0) return true;
      backwards = true;
    }
    if (!spend() || (backwards && parts_.empty())) return false;
    const size_t after_last = parts_.empty() ? 0 : parts_.back().cell + 1;
    backwards = backwards ? !change_last() : !add_part(after_last);
  }
}

bool PodDistributions::add_part(size_t from) {
  const size_t start = parts_.empty() ? 0 : parts_.back().cell + 1;
  for (size_t cell = from; cell < cells_.size(); ++cell) {
    if (room_from_[cell] < remaining_ || leaves_slice_open(cell)) return false;
    const bool twin = cell > 0 && cells_[cell - 1].kind == cells_[cell].kind;
    const bool twin_used = !parts_.empty() && parts_.back().cell + 1 == cell;
    if (twin && !twin_used && cell > start) continue;  // the first unused one stood for it
    int32_t most = std::min(cells_[cell].room, remaining_);
    if (twin && twin_used) most = std::min(most, parts_.back().pods);
    push({cell, most});
    return true;
  }
  return false;
}

bool PodDistributions::change_last() {
  const Part last = pop();
  if (last.pods > 1) {
    push({last.cell, last.pods - 1});
    return true;
  }
  return add_part(last.cell + 1);
}

void PodDistributions::push(Part part) {
  parts_.push_back(part);
  count(part.cell, part.pods);
}

PodDistributions::Part PodDistributions::pop() {
  const Part part = parts_.back();
  parts_.pop_back();
  count(part.cell, -part.pods);
  return part;
}

void PodDistributions::count(size_t cell, int32_t more_pods) {
  remaining_ -= more_pods;
  for (Layer& layer : layers_) {
    int64_t& pods = layer.pods[layer.domains[cell]];
    broken_ -= pods % layer.size != 0 ? 1 : 0;
    pods += more_pods;
    broken_ += pods % layer.size != 0 ? 1 : 0;
  }
}

// Whether going on to this cell leaves a domain behind in which a slice is not whole. Those before
// it were looked at when they were left.
bool PodDistributions::leaves_slice_open(size_t next_cell) const {
  if (parts_.empty()) return false;
  const size_t last = parts_.back().cell;
  return std::ranges::any_of(layers_, [&](const Layer& layer) {
    const uint32_t domain = layer.domains[last];
    return domain != layer.domains[next_cell] && layer.pods.at(domain) % layer.size != 0;
  });
}

}  // namespace phalanx::placement

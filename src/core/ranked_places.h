// Who goes where when some ranks of a pod set have to find new places: each where the rest of its
// slice is, and a slice of which nobody is left where all of it has room. Without slices the
// lowest rank takes the first place.
//
//   RankedPlaces places({4});            // slices of 4 pods, one layer
//   places.add({"r0"}, 2);               // two free places in rack r0
//   places.put(5, places.add({"r1"}, 0));
//   places.take(4);                      // the first free place in r1, where rank 5 is
//
// Cost: a rank costs the places.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace phalanx::core {

class RankedPlaces {
 public:
  // Pods of a slice of each layer, the coarsest first.
  explicit RankedPlaces(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}

  // A place is in one domain of each layer. Returns its number, counted from 0.
  size_t add(std::vector<std::string> domains, int64_t free);
  // Somebody is there already.
  void put(int64_t rank, size_t place) { placed_.emplace(rank, place); }
  // Where the rank goes: takes the place. nullopt: there is none left.
  std::optional<size_t> take(int64_t rank);

 private:
  struct Place {
    std::vector<std::string> domains;
    int64_t free = 0;
  };
  using Domains = std::span<const std::string>;

  [[nodiscard]] Domains domain_of_slice(int64_t rank, size_t layer, Domains inside) const;
  [[nodiscard]] std::optional<size_t> free_place(Domains inside) const;
  [[nodiscard]] static bool is_in(const Place& place, Domains inside);

  std::vector<int64_t> sizes_;
  std::vector<Place> places_;
  std::map<int64_t, size_t> placed_;  // by rank
};

}  // namespace phalanx::core

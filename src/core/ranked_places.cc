#include "core/ranked_places.h"

#include <algorithm>

#include "base/check.h"

namespace phalanx::core {

size_t RankedPlaces::add(std::vector<std::string> domains, int64_t free) {
  CHECK(domains.size() == sizes_.size());
  places_.push_back({std::move(domains), free});
  return places_.size() - 1;
}

std::optional<size_t> RankedPlaces::take(int64_t rank) {
  Domains inside;
  for (size_t layer = 0; layer < sizes_.size(); ++layer) {
    inside = domain_of_slice(rank, layer, inside);
  }
  auto place = free_place(inside);
  if (!place) place = free_place({});
  if (!place) return std::nullopt;
  --places_[*place].free;
  put(rank, *place);
  return place;
}

bool RankedPlaces::is_in(const Place& place, Domains inside) {
  return std::ranges::equal(Domains(place.domains).first(inside.size()), inside);
}

RankedPlaces::Domains RankedPlaces::domain_of_slice(int64_t rank, size_t layer,
                                                    Domains inside) const {
  const int64_t size = std::max<int64_t>(sizes_[layer], 1);
  const int64_t first = rank / size * size;
  const auto fellow = placed_.lower_bound(first);
  if (fellow != placed_.end() && fellow->first < first + size) {
    return Domains(places_[fellow->second].domains).first(layer + 1);
  }
  std::map<std::vector<std::string>, int64_t> room;
  for (const Place& place : places_) {
    if (place.free <= 0 || !is_in(place, inside)) continue;
    const Domains domain = Domains(place.domains).first(layer + 1);
    int64_t& sum = room[{domain.begin(), domain.end()}];
    sum += place.free;
    if (sum >= size) return domain;
  }
  return inside;
}

std::optional<size_t> RankedPlaces::free_place(Domains inside) const {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].free > 0 && is_in(places_[i], inside)) return i;
  }
  return std::nullopt;
}

}  // namespace phalanx::core

#include "core/ranked_places.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

TEST(RankedPlacesTest, WithoutSlicesTheFirstFreePlaceIsTaken) {
  RankedPlaces places({});
  places.add({}, 0);
  places.add({}, 1);
  places.add({}, 1);
  EXPECT_EQ(places.take(3), 1);
  EXPECT_EQ(places.take(0), 2);
  EXPECT_EQ(places.take(1), std::nullopt);
}

TEST(RankedPlacesTest, ARankGoesWhereItsSliceIs) {
  RankedPlaces places({2});
  const size_t a = places.add({"r0"}, 1);
  const size_t b = places.add({"r1"}, 1);
  places.put(0, b);  // ranks 0 and 1 are one slice
  places.put(3, a);
  EXPECT_EQ(places.take(1), b);
  EXPECT_EQ(places.take(2), a);
}

TEST(RankedPlacesTest, AWholeSliceGoesWhereAllOfItHasRoom) {
  RankedPlaces places({2});
  const size_t a = places.add({"r0"}, 1);
  const size_t b = places.add({"r1"}, 1);
  const size_t c = places.add({"r1"}, 1);
  places.put(2, a);
  EXPECT_EQ(places.take(0), b);
  EXPECT_EQ(places.take(1), c);
  EXPECT_EQ(places.take(3), a);
}

TEST(RankedPlacesTest, LayersHoldTogether) {
  // Blocks of 4 pods, racks of 2.
  RankedPlaces places({4, 2});
  places.add({"b0", "b0/r0"}, 1);
  const size_t lone = places.add({"b1", "b1/r0"}, 1);
  const size_t pair = places.add({"b1", "b1/r1"}, 2);
  places.put(7, places.add({"b1", "b1/r2"}, 0));  // of the second block
  EXPECT_EQ(places.take(4), pair);
  EXPECT_EQ(places.take(5), pair);
  // Its rack has no place left: any of its block would break the slice, but it must go somewhere.
  EXPECT_NE(places.take(6), std::nullopt);
  EXPECT_EQ(places.take(0), lone);
}

}  // namespace
}  // namespace phalanx::core

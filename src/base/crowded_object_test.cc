#include "base/crowded_object.h"

#include <gtest/gtest.h>

namespace phalanx {
namespace {

TEST(CrowdedObject, IsFoundByItsPlace) {
  const auto found = [](std::string_view text) {
    return find_crowded_object(parse_json(text).value(), 2);
  };
  EXPECT_EQ(found(R"({"a":{"b":1,"c":2},"d":[1,2,3]})"), std::nullopt);
  EXPECT_EQ(found("[]"), std::nullopt);
  EXPECT_EQ(found("5"), std::nullopt);
  EXPECT_EQ(found(R"({"a":1,"b":2,"c":3})"), "");
  EXPECT_EQ(found(R"({"a":{"b":{"c":1,"d":2,"e":3}}})"), "a.b");
  EXPECT_EQ(found(R"({"a":[{},{"b":[[{"c":1,"d":2,"e":3}]]}]})"), "a[1].b[0][0]");
}

}  // namespace
}  // namespace phalanx

#include "core/known_objects.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

constexpr const char* kUuid = "0a1b2c3d-4e5f-4607-8899-aabbccddeeff";

api::ObjectKey pod(const std::string& name) {
  return {api::Kind::kPod, "ml", name};
}

TEST(KnownObjectsTest, WhatWasPutIsFound) {
  KnownObjects known;
  known.put(pod("a"), kUuid, 7);
  ASSERT_TRUE(known.find(pod("a")));
  EXPECT_EQ(known.find(pod("a"))->uid, kUuid);
  EXPECT_EQ(known.find(pod("a"))->resource_version, 7);
  EXPECT_EQ(known.version(pod("a")), 7);
}

TEST(KnownObjectsTest, WhatWasNotPutIsNot) {
  KnownObjects known;
  known.put(pod("a"), kUuid, 7);
  const api::ObjectKey other{api::Kind::kJob, "ml", "a"};  // another kind
  EXPECT_FALSE(known.contains(pod("b")));
  EXPECT_FALSE(known.contains(other));
  EXPECT_EQ(known.version(other), 0);
  EXPECT_EQ(known.uid(other), "");
  EXPECT_FALSE(known.erase(other));
}

// Nobody promised that a uid has the form of a UUID: every text comes back as it was.
TEST(KnownObjectsTest, AnyUidComesBackAsItWas) {
  for (const std::string uid :
       {kUuid, "0A1B2C3D-4E5F-4607-8899-AABBCCDDEEFF", "00000000-0000-0000-0000-000000000000",
        "0a1b2c3d-4e5f-4607-8899-aabbccddeef", "0a1b2c3d-4e5f-4607-8899-aabbccddeeffa",
        "0a1b2c3d+4e5f-4607-8899-aabbccddeeff", "0a1b2c3g-4e5f-4607-8899-aabbccddeeff", "u1", ""}) {
    KnownObjects known;
    known.put(pod("a"), uid, 1);
    EXPECT_EQ(known.uid(pod("a")), uid);
  }
}

TEST(KnownObjectsTest, TheNextOfANameTakesTheUidWithIt) {
  KnownObjects known;
  known.put(pod("a"), "odd", 1);
  known.put(pod("a"), kUuid, 2);
  EXPECT_EQ(known.uid(pod("a")), kUuid);
  known.put(pod("a"), "odd", 3);
  EXPECT_EQ(known.uid(pod("a")), "odd");
  EXPECT_TRUE(known.erase(pod("a")));
  known.put(pod("a"), "", 4);
  EXPECT_EQ(known.uid(pod("a")), "");
}

TEST(KnownObjectsTest, WhatIsToldIsNewerOrNotOrOfAnother) {
  const auto judged = [](const Known& known, const std::string& uid, uint64_t version) {
    return judge(known, {pod("a"), uid, version, Unreadable{}});
  };
  EXPECT_EQ(judged({"u", 7}, "u", 8), Arrival::kNewer);
  EXPECT_EQ(judged({"u", 7}, "u", 7), Arrival::kNotNewer);
  EXPECT_EQ(judged({"u", 7}, "u", 6), Arrival::kNotNewer);
  EXPECT_EQ(judged({"u", 7}, "u", 0), Arrival::kNewer) << "it has no version";
  EXPECT_EQ(judged({"u", 7}, "v", 8), Arrival::kAnother);
  EXPECT_EQ(judged({"u", 7}, "v", 6), Arrival::kNotNewer) << "the one before it, told late";
  EXPECT_EQ(judged({"", 7}, "v", 8), Arrival::kNewer) << "the uid was not known";
}

TEST(KnownObjectsTest, ADeletionOfAnotherConcernsTheKnownOneUnlessItIsNewer) {
  const Known known{"u", 7};
  EXPECT_TRUE(concerns({pod("a")}, known));
  EXPECT_TRUE(concerns({pod("a"), "u", 6}, known));
  EXPECT_FALSE(concerns({pod("a"), "v", 6}, known));
  EXPECT_TRUE(concerns({pod("a"), "v", 8}, known));
}

TEST(KnownObjectsTest, WhatAListLacksIsMissingUnlessItIsNewer) {
  KnownObjects known;
  for (const char* name : {"d", "b", "a", "c"}) known.put(pod(name), kUuid, 5);
  known.put(pod("newer"), kUuid, 11);
  known.put({api::Kind::kNode, "", "n"}, kUuid, 1);
  const Listed listed{api::Kind::kPod, 10, {pod("c")}};
  EXPECT_EQ(known.missing_from(listed),
            (std::vector<api::ObjectKey>{pod("a"), pod("b"), pod("d")}));
  EXPECT_TRUE(known.missing_from({api::Kind::kJob, 10, {}}).empty());
}

}  // namespace
}  // namespace phalanx::core

#include "kube/reflector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "jobs/batch_job.h"
#include "kube/testing.h"

namespace phalanx::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::string node(const std::string& name, int version, const std::string& uid = "") {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","uid":"{2}","resourceVersion":"{1}"}},"status":{{}}}})", name,
      version, uid.empty() ? "uid-" + name : uid);
}

std::string page(const std::vector<std::string>& items, int version,
                 const std::string& token = "") {
  std::string all;
  for (const std::string& item : items) all += (all.empty() ? "" : ",") + item;
  return fmt::format(
      R"({{"kind":"NodeList","apiVersion":"v1","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
      version, token, all);
}

std::string line(const std::string& type, const std::string& object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

// Follows nodes, and writes down what the core would hear: "+a@3", "-a@4", "=7[a b]", "listed".
class ReflectorTest : public testing::Test {
 protected:
  explicit ReflectorTest(api::Kind kind = api::Kind::kNode) : kind_(kind) { reflector_.start(); }

  void hear(const core::Event& event) {
    if (const auto* changed = std::get_if<core::ObjectChanged>(&event)) {
      heard_ += fmt::format("+{}@{} ", changed->object.key.name, changed->object.resource_version);
    } else if (const auto* deleted = std::get_if<core::ObjectDeleted>(&event)) {
      heard_ += fmt::format("-{}@{} ", deleted->key.name, deleted->resource_version);
    } else if (const auto* listed = std::get_if<core::Listed>(&event)) {
      std::string names;
      for (const api::ObjectKey& key : listed->keys) names += " " + key.name;
      const bool ever = listed->resource_version == std::numeric_limits<uint64_t>::max();
      heard_ +=
          fmt::format("={}[{}] ", ever ? "*" : std::to_string(listed->resource_version), names);
    }
  }
  std::string heard() { return std::exchange(heard_, ""); }

  const api::Kind kind_;
  FakeTransport transport_;
  core::Adapters adapters_ = jobs::all_adapters();
  ObjectDecoder decoder_{adapters_};
  std::string heard_;
  std::vector<std::string> troubles_;
  int deaths_ = 0;
  Reflector reflector_{
      transport_,
      decoder_,
      kind_,
      {[this](const core::Event& event) { hear(event); }, [this] { heard_ += "listed "; },
       [this](const std::string& problem) { troubles_.push_back(problem); }, [this] { ++deaths_; }},
      1};
};

TEST_F(ReflectorTest, ListsInPagesAndWatchesFromThere) {
  transport_.answer("limit=500", 200, page({node("a", 3), node("b", 4)}, 9, "next page"));
  EXPECT_EQ(transport_.request("limit=500").target, "/api/v1/nodes?limit=500&continue=next%20page");
  EXPECT_EQ(heard(), "+a@3 +b@4 ");
  transport_.answer("limit=500", 200, page({node("c", 5)}, 9));
  EXPECT_EQ(heard(), "+c@5 listed ");
  EXPECT_NE(transport_.request("watch=1").target.find("resourceVersion=9&"), std::string::npos);
  transport_.push("watch=1", line("ADDED", node("d", 11)) + line("MODIFIED", node("a", 12)));
  transport_.push("watch=1", line("DELETED", node("b", 13)));
  EXPECT_EQ(heard(), "+d@11 +a@12 -b@13 ");
  EXPECT_EQ(reflector_.seen(), 13U);
}

TEST_F(ReflectorTest, LinesMayComeInPieces) {
  transport_.answer("limit", 200, page({}, 9));
  const std::string text = line("ADDED", node("d", 11)) + line("MODIFIED", node("d", 12));
  for (const char byte : text) transport_.push("watch=1", std::string(1, byte));
  EXPECT_EQ(heard(), "listed +d@11 +d@12 ");
}

TEST_F(ReflectorTest, GoesOnWhereTheWatchEnded) {
  transport_.answer("limit", 200, page({node("a", 3)}, 9));
  transport_.push("watch=1",
                  line("BOOKMARK", R"({"kind":"Node","apiVersion":"v1","metadata":)"
                                   R"({"resourceVersion":"40","creationTimestamp":null}})"));
  transport_.pass(minutes(5));
  transport_.answer("watch=1", 200, "");
  EXPECT_NE(transport_.request("watch=1").target.find("resourceVersion=40&"), std::string::npos);
  EXPECT_EQ(heard(), "+a@3 listed ");
  EXPECT_TRUE(troubles_.empty());
}

std::string bookmark(int version) {
  return line("BOOKMARK", fmt::format(R"({{"kind":"Node","apiVersion":"v1","metadata":)"
                                      R"({{"resourceVersion":"{}","creationTimestamp":null}}}})",
                                      version));
}

TEST_F(ReflectorTest, AWatchThatIsSilentIsTakenUpOnAnotherConnection) {
  transport_.answer("limit", 200, page({node("a", 3)}, 9));
  const Transport::Id first = transport_.exchanges().front().id;
  // As long as there are bookmarks everything is well.
  for (int version = 10; version < 13; ++version) {
    transport_.pass(seconds(75));
    transport_.push("watch=1", bookmark(version));
  }
  EXPECT_EQ(transport_.exchanges().front().id, first);
  EXPECT_EQ(deaths_, 0);
  transport_.pass(seconds(90));
  ASSERT_EQ(transport_.count("watch=1"), 1U);
  EXPECT_NE(transport_.exchanges().front().id, first);
  EXPECT_NE(transport_.request("watch=1").target.find("resourceVersion=12&"), std::string::npos);
  EXPECT_EQ(deaths_, 1);
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(ReflectorTest, AWatchThatEndedIsNotTakenForASilentOne) {
  transport_.answer("limit", 200, page({}, 9));
  transport_.pass(seconds(80));
  transport_.answer("watch=1", 200, "");  // and the next one is silent from its own beginning on
  const Transport::Id second = transport_.exchanges().front().id;
  transport_.pass(seconds(80));
  EXPECT_EQ(transport_.exchanges().front().id, second);
  transport_.pass(seconds(10));
  EXPECT_NE(transport_.exchanges().front().id, second);
}

TEST_F(ReflectorTest, AWatchThatDoesNotTellWhatWasWrittenIsTakenUpAnew) {
  transport_.answer("limit", 200, page({}, 9));
  const Transport::Id first = transport_.exchanges().front().id;
  reflector_.expect(9);  // known
  reflector_.expect(20);
  transport_.pass(seconds(5));
  transport_.push("watch=1", line("ADDED", node("d", 20)));
  transport_.pass(seconds(5));
  EXPECT_EQ(transport_.exchanges().front().id, first);
  reflector_.expect(30);
  transport_.pass(seconds(5));
  reflector_.expect(31);  // the first one counts
  transport_.pass(seconds(5));
  const Transport::Id second = transport_.exchanges().front().id;
  EXPECT_NE(second, first);
  EXPECT_EQ(deaths_, 1);
  // A server that is slow gets more time.
  reflector_.expect(31);
  transport_.pass(seconds(19));
  EXPECT_EQ(transport_.exchanges().front().id, second);
  transport_.pass(seconds(1));
  EXPECT_NE(transport_.exchanges().front().id, second);
}

TEST_F(ReflectorTest, AWatchThatEndsAtOnceIsNotRepeatedAtOnce) {
  transport_.answer("limit", 200, page({}, 9));
  transport_.answer("watch=1", 200, "");
  EXPECT_TRUE(transport_.exchanges().empty());
  transport_.pass(milliseconds(200));
  EXPECT_EQ(transport_.count("watch=1"), 1U);
}

TEST_F(ReflectorTest, WaitsLongerEachTimeTheServerIsGone) {
  transport_.answer("limit", 200, page({}, 9));
  int attempts = 0;
  for (int i = 0; i < 300; ++i) {
    if (transport_.count("watch=1") > 0) {
      ++attempts;
      transport_.answer("watch=1", no_answer("connection refused"));
    }
    transport_.pass(seconds(1));
  }
  // 0.2, 0.4, ... 25.6 s and then one in 15 to 30 s.
  EXPECT_GE(attempts, 15);
  EXPECT_LE(attempts, 28);
  ASSERT_FALSE(troubles_.empty());
  EXPECT_NE(troubles_.back().find("nodes: cannot be watched: connection refused; next try in"),
            std::string::npos)
      << troubles_.back();
  EXPECT_TRUE(reflector_.blind_since());
  // Once it works again nobody waits.
  transport_.pass(seconds(30));
  transport_.push("watch=1", line("ADDED", node("d", 11)));
  EXPECT_FALSE(reflector_.blind_since());
}

TEST_F(ReflectorTest, RetryAfterIsHonoured) {
  transport_.answer("limit", 200, page({}, 9));
  HttpResponse busy;
  busy.status = 429;
  busy.retry_after = seconds(20);
  transport_.answer("watch=1", busy);
  transport_.pass(seconds(19));
  EXPECT_TRUE(transport_.exchanges().empty());
  transport_.pass(seconds(1));
  EXPECT_EQ(transport_.count("watch=1"), 1U);
}

// What happened meanwhile cannot be learned any more: what is not listed has gone.
TEST_F(ReflectorTest, ListsAgainWhenTheVersionIsTooOld) {
  transport_.answer("limit", 200, page({node("a", 3), node("b", 4)}, 9));
  heard();
  transport_.push(
      "watch=1",
      line("ERROR", R"({"kind":"Status","code":410,"message":"too old resource version"})"));
  EXPECT_EQ(transport_.count("watch=1"), 0U);
  transport_.answer("limit", 200, page({node("a", 3), node("c", 30)}, 50));
  EXPECT_EQ(heard(), "+a@3 +c@30 =50[ a c] ");
  EXPECT_NE(transport_.request("watch=1").target.find("resourceVersion=50&"), std::string::npos);

  transport_.answer("watch=1", 410, "");
  transport_.answer("limit", 200, page({}, 60));
  EXPECT_EQ(heard(), "=60[] ");
}

TEST_F(ReflectorTest, AListThatFailsHalfWayBeginsAnew) {
  transport_.answer("limit", 200, page({node("a", 3)}, 9));
  transport_.answer("watch=1", 410, "");
  transport_.answer("limit", 200, page({node("a", 3)}, 50, "more"));
  transport_.answer("continue=more", 410, "");  // the token has run out
  transport_.pass(seconds(1));
  heard();
  transport_.answer("limit", 200, page({node("b", 31)}, 60));
  EXPECT_EQ(heard(), "+b@31 =60[ b] ");
}

// What was deleted between the two is not known for ever.
TEST_F(ReflectorTest, TheFirstListThatFailsHalfWayLeavesNothingBehind) {
  transport_.answer("limit", 200, page({node("a", 3), node("b", 4)}, 9, "more"));
  transport_.answer("continue=more", 500, "");
  transport_.pass(seconds(1));
  heard();
  transport_.answer("limit", 200, page({node("b", 4)}, 12));
  EXPECT_EQ(heard(), "+b@4 =12[ b] listed ");
}

TEST_F(ReflectorTest, IsRefreshedByAListOfItsOwn) {
  transport_.answer("limit", 200, page({node("a", 3), node("b", 4)}, 9));
  heard();
  reflector_.refresh([this] { heard_ += "refreshed "; });
  EXPECT_EQ(transport_.count("watch=1"), 0U);
  transport_.answer("limit", 503, "");  // as often as it takes
  transport_.pass(seconds(1));
  transport_.answer("limit", 200, page({node("b", 10)}, 12));
  EXPECT_EQ(heard(), "+b@10 =12[ b] refreshed ");
  EXPECT_NE(transport_.request("watch=1").target.find("resourceVersion=12&"), std::string::npos);
  // Also while it still lists for the first time, or waits to try again.
  transport_.answer("watch=1", 410, "");
  reflector_.refresh([this] { heard_ += "refreshed "; });
  EXPECT_EQ(transport_.count("limit"), 1U);
  transport_.answer("limit", 200, page({node("b", 10)}, 13));
  EXPECT_EQ(heard(), "+b@10 =13[ b] refreshed ");
}

TEST_F(ReflectorTest, IsBlindUntilTheWatchHasBegunAndWhenItHasBeenSilentForLong) {
  transport_.answer("limit", 200, page({}, 9));
  EXPECT_FALSE(reflector_.blind_since());
  transport_.answer("watch=1", 503, "");
  EXPECT_TRUE(reflector_.blind_since());
  transport_.pass(seconds(1));
  EXPECT_TRUE(reflector_.blind_since());
  transport_.push("watch=1", "");  // the answer begins
  EXPECT_FALSE(reflector_.blind_since());
  const Instant heard_last = transport_.now();
  transport_.pass(seconds(74));
  EXPECT_FALSE(reflector_.blind_since());
  transport_.pass(seconds(2));
  EXPECT_EQ(reflector_.blind_since(), heard_last);
  transport_.pass(seconds(15));  // another connection, of which nothing is known yet
  EXPECT_EQ(deaths_, 1);
  EXPECT_EQ(reflector_.blind_since(), heard_last);
  transport_.push("watch=1", "");
  EXPECT_FALSE(reflector_.blind_since());
}

TEST_F(ReflectorTest, WhatMakesNoSenseIsToldAndLeftOut) {
  transport_.answer("limit", 200, page({node("a", 3), "17"}, 9));
  transport_.push("watch=1", "no json\n" + line("ADDED", "{}") + line("LOST", node("a", 4)) +
                                 line("ADDED", node("b", 5)));
  EXPECT_EQ(heard(), "+a@3 listed +b@5 ");
  EXPECT_EQ(troubles_.size(), 4U);
}

TEST_F(ReflectorTest, TheFirstListIsRepeatedUntilItSucceeds) {
  transport_.answer("limit", 403, R"({"kind":"Status","message":"nodes is forbidden"})");
  transport_.pass(seconds(1));
  transport_.answer("limit", 200, "<html>");
  transport_.pass(seconds(1));
  transport_.answer("limit", 200, page({}, 9));
  EXPECT_EQ(heard(), "listed ");
  ASSERT_EQ(troubles_.size(), 2U);
  EXPECT_NE(troubles_[0].find("nodes: cannot be listed: nodes is forbidden"), std::string::npos);
}

// Of a kind that a cluster may lack.
class OptionalKindTest : public ReflectorTest {
 protected:
  OptionalKindTest() : ReflectorTest(api::Kind::kProvisioningRequest) {}

  static std::string request(const std::string& name, int version) {
    return fmt::format(
        R"({{"metadata":{{"name":"{0}","namespace":"ml","uid":"u","resourceVersion":"{1}"}},)"
        R"("spec":{{"provisioningClassName":"c"}}}})",
        name, version);
  }
};

TEST_F(OptionalKindTest, WhatIsMissingHasNoObjectsAndIsLookedForAgain) {
  transport_.answer("provisioningrequests?limit", 404, "404 page not found");
  EXPECT_EQ(heard(), "=*[] listed ");
  EXPECT_TRUE(troubles_.empty());
  EXPECT_FALSE(reflector_.blind_since());
  transport_.pass(seconds(44));
  EXPECT_TRUE(transport_.exchanges().empty());
  transport_.pass(seconds(31));
  transport_.answer("limit", 404, "404 page not found");
  EXPECT_EQ(heard(), "");
  EXPECT_TRUE(troubles_.empty());
  // Somebody installs it.
  transport_.pass(seconds(75));
  transport_.answer("limit", 200, page({request("a", 30)}, 40));
  EXPECT_EQ(heard(), "+a@30 =40[ a] ");
  transport_.push("watch=1", line("ADDED", request("b", 41)));
  EXPECT_EQ(heard(), "+b@41 ");
}

TEST_F(OptionalKindTest, WhatGoesAwayTakesItsObjectsWithIt) {
  transport_.answer("limit", 200, page({request("a", 3)}, 9));
  EXPECT_EQ(heard(), "+a@3 listed ");
  transport_.answer("watch=1", 404, "404 page not found");
  transport_.pass(seconds(1));
  transport_.answer("limit", 404, "404 page not found");
  EXPECT_EQ(heard(), "=*[] ");
}

TEST_F(OptionalKindTest, OtherFailuresAreFailures) {
  transport_.answer("limit", 403, R"({"kind":"Status","message":"forbidden"})");
  EXPECT_EQ(heard(), "");
  EXPECT_EQ(troubles_.size(), 1U);
}

TEST_F(ReflectorTest, KindsThatMustBeThereAreWaitedFor) {
  transport_.answer("limit", 404, "404 page not found");
  EXPECT_EQ(heard(), "");
  EXPECT_EQ(troubles_.size(), 1U);
  EXPECT_TRUE(reflector_.blind_since());
}

}  // namespace
}  // namespace phalanx::kube

#include "kube/elector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "kube/testing.h"

namespace phalanx::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kLease = "leases/phalanx-manager";

// One API server's Lease, several replicas with a network and a clock each (clocks go on together).
class Replica {
 public:
  explicit Replica(const std::string& name)
      : elector(
            transport, {.identity = name},
            {[this] { log += "elected "; }, [this](const std::string&) { log += "lost "; },
             [this] { log += "renewed "; },
             [this](const std::string& holder) { log += "sees(" + holder + ") "; },
             [this](const std::string& problem) { troubles.push_back(problem); }},
            [] { return Time(seconds(1'800'000'000)); }, 1) {}

  FakeTransport transport;
  std::string log;
  std::vector<std::string> troubles;
  Elector elector;
};

class ElectorTest : public testing::Test {
 protected:
  // Answers what a replica asked, as the API server would.
  void serve(Replica& replica) {
    bool any = true;
    while (any) {
      any = false;
      for (const auto& exchange : replica.transport.exchanges()) {
        if (exchange.request.target.find("watch=1") != std::string::npos) continue;
        any = true;
        const HttpRequest request = exchange.request;
        respond(replica, request);
        break;
      }
    }
  }
  void serve_all() {
    for (Replica* replica : {&a_, &b_}) serve(*replica);
  }
  void pass(Duration duration) {
    for (Replica* replica : {&a_, &b_}) replica->transport.pass(duration);
  }
  // Both live on, with a network that works.
  void live(int steps, Duration step = milliseconds(100)) {
    for (int i = 0; i < steps; ++i) {
      pass(step);
      serve_all();
      EXPECT_FALSE(a_.elector.may_write() && b_.elector.may_write());
    }
  }
  std::string holder() const {
    if (lease_.is_null()) return "-";
    return std::string(lease_.at("spec").at("holderIdentity").as_string());
  }

  void respond(Replica& replica, const HttpRequest& request) {
    if (request.method == Method::kGet) {
      if (lease_.is_null()) return replica.transport.answer(request.target, 404, "");
      return replica.transport.answer(request.target, 200, json::serialize(lease_));
    }
    json::value written = json::parse(request.body);
    const json::value* version = written.at("metadata").as_object().if_contains("resourceVersion");
    if (lease_.is_null() && request.method == Method::kPut) {
      return replica.transport.answer(request.target, 404, "");
    }
    const bool current =
        request.method == Method::kPost
            ? lease_.is_null()
            : version != nullptr && *version == lease_.at("metadata").at("resourceVersion");
    if (!current) return replica.transport.answer(request.target, 409, "");
    written.at("metadata").as_object()["resourceVersion"] = std::to_string(++version_);
    lease_ = written;
    replica.transport.answer(request.target, 200, json::serialize(lease_));
    tell_watchers("MODIFIED");
  }
  void tell_watchers(const std::string& type) {
    for (Replica* each : {&a_, &b_}) {
      if (each->transport.count("watch=1") == 0 || cut_off_ == each) continue;
      each->transport.push(
          "watch=1", json::serialize(json::object{{"type", type}, {"object", lease_}}) + "\n");
    }
  }
  void delete_lease() {
    lease_.at("metadata").as_object()["resourceVersion"] = std::to_string(++version_);
    tell_watchers("DELETED");
    lease_ = nullptr;
  }

  json::value lease_;
  int version_ = 10;
  Replica* cut_off_ = nullptr;
  Replica a_{"a"};
  Replica b_{"b"};
};

TEST_F(ElectorTest, TheFirstOneLeadsAndTheOtherWaits) {
  a_.elector.start();
  serve(a_);
  EXPECT_TRUE(a_.elector.may_write());
  EXPECT_EQ(holder(), "a");
  b_.elector.start();
  live(600);
  EXPECT_TRUE(a_.elector.leads());
  EXPECT_FALSE(b_.elector.leads());
  EXPECT_EQ(b_.log, "sees(a) ");
  EXPECT_EQ(lease_.at("spec").at("leaseDurationSeconds").as_int64(), 15);
}

TEST_F(ElectorTest, WhoGivesItUpIsFollowedAtOnce) {
  a_.elector.start();
  serve(a_);
  b_.elector.start();
  live(50);
  bool done = false;
  a_.elector.resign(Duration(0), [&](bool told) { done = told; });
  EXPECT_FALSE(a_.elector.may_write());
  live(3);
  EXPECT_TRUE(done);
  EXPECT_TRUE(b_.elector.may_write());
  EXPECT_EQ(lease_.at("spec").at("leaseTransitions").as_int64(), 1);
}

TEST_F(ElectorTest, WhoGivesItUpWhileARenewalIsUnderWayIsFollowedAllTheSame) {
  a_.elector.start();
  serve(a_);
  b_.elector.start();
  live(5);
  while (a_.transport.count("leases/phalanx-manager") == a_.transport.count("watch=1")) {
    pass(milliseconds(100));
  }
  // It arrives, but its answer does not.
  lease_.at("metadata").as_object()["resourceVersion"] = std::to_string(++version_);
  bool done = false;
  a_.elector.resign(Duration(0), [&](bool told) { done = told; });
  live(3);
  EXPECT_TRUE(done);
  EXPECT_EQ(holder(), "b");
}

// An API server that is being replaced has no answer for a moment, and nobody else would lead until
// the lease runs out.
TEST_F(ElectorTest, GivingUpIsTriedAgainWhileThereIsTime) {
  a_.elector.start();
  serve(a_);
  std::optional<bool> told;
  a_.elector.resign(seconds(10), [&](bool result) { told = result; });
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(a_.transport.exchanges().size(), 1U) << i;
    a_.transport.answer(kLease, i == 0 ? 0 : 503, "");
    pass(seconds(1));
  }
  EXPECT_FALSE(told.has_value());
  serve(a_);
  EXPECT_EQ(told, true);
  EXPECT_EQ(holder(), "");
}

TEST_F(ElectorTest, WhoCannotGiveUpInTimeSaysSo) {
  a_.elector.start();
  serve(a_);
  std::optional<bool> told;
  a_.elector.resign(Duration(0), [&](bool result) { told = result; });
  a_.transport.answer(kLease, 503, "");
  EXPECT_EQ(told, false);
  EXPECT_EQ(holder(), "a") << "it runs out";
}

TEST_F(ElectorTest, AClaimThatIsUnderWayIsGivenUp) {
  a_.elector.start();
  a_.transport.answer(kLease, 404, "");
  const auto claim = a_.transport.exchanges();
  ASSERT_EQ(claim.size(), 1);
  // It arrives, but its answer does not.
  lease_ = json::parse(claim.front().request.body);
  lease_.at("metadata").as_object()["resourceVersion"] = std::to_string(++version_);
  ASSERT_EQ(holder(), "a");
  bool done = false;
  a_.elector.resign(Duration(0), [&](bool told) { done = told; });
  serve(a_);
  EXPECT_TRUE(done);
  EXPECT_EQ(holder(), "");
  EXPECT_FALSE(a_.elector.may_write());
}

TEST_F(ElectorTest, WhoCannotRenewStopsWritingBeforeAnybodyElseBegins) {
  a_.elector.start();
  serve(a_);
  b_.elector.start();
  live(20);
  cut_off_ = &a_;
  Duration without{};
  while (!b_.elector.leads()) {
    pass(milliseconds(100));
    without += milliseconds(100);
    serve(b_);
    ASSERT_FALSE(a_.elector.may_write() && b_.elector.may_write());
    ASSERT_LT(without, seconds(30));
  }
  EXPECT_FALSE(a_.elector.leads());
  EXPECT_NE(a_.log.find("lost"), std::string::npos);
  // Back on the network it follows.
  cut_off_ = nullptr;
  live(100);
  EXPECT_TRUE(b_.elector.leads());
  EXPECT_FALSE(a_.elector.leads());
}

// A process that was stopped (SIGSTOP) finds its time over before it can write anything.
TEST_F(ElectorTest, WhoSleptMayNotWrite) {
  a_.elector.start();
  serve(a_);
  b_.elector.start();
  live(5);
  cut_off_ = &a_;
  for (int i = 0; i < 200; ++i) {
    b_.transport.pass(milliseconds(100));
    serve(b_);
  }
  EXPECT_TRUE(b_.elector.leads());
  // It wakes up, and has not even looked at its timers yet.
  a_.transport.sleep(seconds(20));
  EXPECT_TRUE(a_.elector.leads());
  EXPECT_FALSE(a_.elector.may_write());
  a_.transport.pass(milliseconds(1));
  EXPECT_FALSE(a_.elector.leads());
}

TEST_F(ElectorTest, ALeaderWhoFindsSomebodyElseInItsLeaseStopsAtOnce) {
  a_.elector.start();
  serve(a_);
  lease_.at("spec").as_object()["holderIdentity"] = "c";
  lease_.at("metadata").as_object()["resourceVersion"] = std::to_string(++version_);
  a_.transport.pass(seconds(2));
  serve(a_);
  EXPECT_FALSE(a_.elector.leads());
  EXPECT_EQ(a_.log, "sees(a) elected sees(c) lost ");
}

// Whoever finds no Lease must not take it for one that was given up.
TEST_F(ElectorTest, ALeaseThatIsDeletedIsMadeAnewByItsLeader) {
  a_.elector.start();
  serve(a_);
  b_.elector.start();
  live(50);
  delete_lease();
  EXPECT_FALSE(a_.elector.may_write());
  live(1);
  EXPECT_TRUE(a_.elector.may_write());
  live(600);
  EXPECT_EQ(holder(), "a");
  EXPECT_EQ(a_.log.find("lost"), std::string::npos);
  EXPECT_FALSE(b_.elector.leads());
}

TEST_F(ElectorTest, ALeaseThatIsDeletedUnheardIsNotTakenBeforeItsTime) {
  a_.elector.start();
  serve(a_);
  b_.elector.start();
  live(50);
  cut_off_ = &a_;
  delete_lease();
  // Its leader hears nothing, and goes on until its deadline; nobody else begins before.
  int begun = 0;
  for (int i = 0; i < 200; ++i) {
    pass(milliseconds(100));
    serve(b_);
    EXPECT_FALSE(a_.elector.may_write() && b_.elector.may_write());
    begun += b_.elector.may_write() ? 1 : 0;
  }
  EXPECT_GT(begun, 0);
  EXPECT_EQ(holder(), "b");
  // A leader that does not hear of it finds out when it renews.
  cut_off_ = &b_;
  delete_lease();
  EXPECT_TRUE(b_.elector.may_write());
  for (int i = 0; i < 25; ++i) {
    pass(milliseconds(100));
    serve(b_);
  }
  EXPECT_EQ(holder(), "b");
  EXPECT_TRUE(b_.elector.may_write());
}

TEST_F(ElectorTest, TroubleIsToldAndTriedAgain) {
  a_.elector.start();
  a_.transport.answer(kLease, 403, R"({"kind":"Status","message":"leases is forbidden"})");
  ASSERT_EQ(a_.troubles.size(), 1U);
  EXPECT_EQ(a_.troubles[0], "the lease cannot be read: leases is forbidden");
  a_.transport.pass(seconds(5));
  serve(a_);
  EXPECT_TRUE(a_.elector.leads());
}

}  // namespace
}  // namespace phalanx::kube

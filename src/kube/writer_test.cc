#include "kube/writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jobs/batch_job.h"
#include "kube/testing.h"

namespace phalanx::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

core::Write pod_patch(const std::string& name, uint32_t id) {
  core::Write write;
  write.id = core::WriteId(id);
  write.key = {api::Kind::kPod, "ml", name};
  write.body = json::object{{"spec", json::object{{"schedulingGates", json::array{}}}}};
  write.uid = "uid-" + name;
  write.resource_version = 7;
  return write;
}

std::string pod(const std::string& name, int version) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"ml","name":"{}","uid":"uid-{}","resourceVersion":"{}"}}}})",
      name, name, version);
}

// Writes down what the core hears: "+name@version", "id:outcome".
class WriterTest : public testing::Test {
 protected:
  void make(const WriterOptions& options) {
    Writer::Surroundings surroundings;
    surroundings.may_write = [this] { return may_write_; };
    surroundings.seen = [this](api::Kind) { return seen_; };
    surroundings.finished = [this](const std::vector<core::Event>& events) {
      for (const core::Event& event : events) hear(event);
    };
    surroundings.observer.sent = [this](auto waited) { waited_.push_back(waited); };
    surroundings.observer.answered = [this](const std::string& what, int code, auto) {
      answered_ += fmt::format("{}={} ", what, code);
    };
    writer_ = std::make_unique<Writer>(transport_, decoder_, options, std::move(surroundings), 1);
  }
  void hear(const core::Event& event) {
    if (const auto* changed = std::get_if<core::ObjectChanged>(&event)) {
      heard_ += fmt::format("+{}@{} ", changed->object.key.name, changed->object.resource_version);
    } else if (const auto* finished = std::get_if<core::WriteFinished>(&event)) {
      heard_ += fmt::format("{}:{} ", finished->id.value, static_cast<int>(finished->outcome));
      finished_ = *finished;
    }
  }
  std::string heard() { return std::exchange(heard_, ""); }

  FakeTransport transport_;
  core::Adapters adapters_ = jobs::all_adapters();
  ObjectDecoder decoder_{adapters_};
  bool may_write_ = true;
  uint64_t seen_ = 0;
  std::string heard_;
  std::string answered_;
  std::vector<std::chrono::microseconds> waited_;
  core::WriteFinished finished_;
  std::unique_ptr<Writer> writer_;
};

TEST_F(WriterTest, APatchCarriesItsPreconditions) {
  make({});
  writer_->submit(pod_patch("a", 1));
  const HttpRequest& request = transport_.request("/api/v1/namespaces/ml/pods/a");
  EXPECT_EQ(request.method, Method::kPatch);
  EXPECT_EQ(request.content_type, "application/merge-patch+json");
  EXPECT_EQ(json::parse(request.body), json::parse(R"({"spec":{"schedulingGates":[]},
                            "metadata":{"uid":"uid-a","resourceVersion":"7"}})"));
  transport_.answer("pods/a", 200, pod("a", 8));
  EXPECT_EQ(heard(), "+a@8 1:0 ");
  EXPECT_EQ(answered_, "patch pods=200 ");
}

// The watch was faster, and may even have told that the object is gone: no ghost comes back.
TEST_F(WriterTest, WhatTheWatchHasToldIsNotToldAgain) {
  make({});
  writer_->submit(pod_patch("a", 1));
  seen_ = 8;
  transport_.answer("pods/a", 200, pod("a", 8));
  EXPECT_EQ(heard(), "1:0 ");
}

TEST_F(WriterTest, ADeletionCarriesItsPreconditionsAndIsToldByTheWatch) {
  make({});
  core::Write write = pod_patch("a", 1);
  write.verb = core::Verb::kDelete;
  writer_->submit(write);
  EXPECT_EQ(json::parse(transport_.request("pods/a").body),
            json::parse(R"({"apiVersion":"v1","kind":"DeleteOptions",
                "propagationPolicy":"Background",
                "preconditions":{"uid":"uid-a","resourceVersion":"7"}})"));
  transport_.answer("pods/a", 200, pod("a", 8));
  EXPECT_EQ(heard(), "1:0 ");
}

TEST_F(WriterTest, OnlySoManyAtATime) {
  make({.most_at_a_time = 3});
  for (uint32_t i = 0; i < 10; ++i) writer_->submit(pod_patch(fmt::format("p{}", i), i));
  EXPECT_EQ(transport_.exchanges().size(), 3U);
  EXPECT_EQ(writer_->unfinished(), 10U);
  transport_.pass(milliseconds(5));
  transport_.answer("pods/p1", 200, pod("p1", 8));
  EXPECT_EQ(transport_.exchanges().size(), 3U);
  EXPECT_EQ(transport_.count("pods/p3"), 1U);
  EXPECT_EQ(waited_.back(), milliseconds(5));
}

TEST_F(WriterTest, NothingIsSentWithoutTheLease) {
  make({});
  may_write_ = false;
  writer_->submit(pod_patch("a", 1));
  EXPECT_TRUE(transport_.exchanges().empty());
  may_write_ = true;
  writer_->wake();
  EXPECT_EQ(transport_.exchanges().size(), 1U);
}

TEST_F(WriterTest, ARateCanBeSet) {
  make({.most_at_a_time = 100, .per_second = 10, .burst = 5});
  for (uint32_t i = 0; i < 50; ++i) writer_->submit(pod_patch(fmt::format("p{}", i), i));
  EXPECT_EQ(transport_.exchanges().size(), 5U);
  transport_.pass(seconds(1));
  EXPECT_EQ(transport_.exchanges().size(), 15U);
  transport_.pass(seconds(1));
  EXPECT_EQ(transport_.exchanges().size(), 25U);
}

struct Case {
  int status;
  std::string body;
  core::WriteOutcome outcome;
};

TEST_F(WriterTest, AnswersMeanWhatTheyMean) {
  using core::WriteOutcome;
  const std::vector<Case> cases{
      {409, R"({"kind":"Status","reason":"Conflict","message":"changed"})",
       WriteOutcome::kConflict},
      {409, R"({"kind":"Status","reason":"AlreadyExists"})", WriteOutcome::kAlreadyExists},
      {404, R"({"kind":"Status","reason":"NotFound"})", WriteOutcome::kNotFound},
      {422, R"({"kind":"Status","reason":"Invalid"})", WriteOutcome::kRefused},
      {403, R"({"kind":"Status","reason":"Forbidden"})", WriteOutcome::kRefused},
      {400, "what?", WriteOutcome::kRefused},
      {401, "", WriteOutcome::kUnavailable},  // the token has run out; the next one has not
      {429, "", WriteOutcome::kUnavailable},
      {500, R"({"kind":"Status","reason":"InternalError"})", WriteOutcome::kUnavailable},
      {503, "", WriteOutcome::kUnavailable},
      {0, "", WriteOutcome::kUnavailable},
  };
  make({});
  for (const Case& each : cases) {
    writer_->submit(pod_patch("a", 1));
    transport_.answer("pods/a", each.status, each.body);
    EXPECT_EQ(finished_.outcome, each.outcome) << each.status << each.body;
  }
}

TEST_F(WriterTest, ABusyServerGetsThePatienceItAsksFor) {
  make({});
  writer_->submit(pod_patch("a", 1));
  HttpResponse busy;
  busy.status = 429;
  busy.retry_after = seconds(9);
  transport_.answer("pods/a", busy);
  EXPECT_EQ(finished_.retry_after, seconds(9));
}

// A server that answers others is no reason to ask for this one all the time.
TEST_F(WriterTest, AWriteThatFailsWaitsLongerEachTimeWhateverBecomesOfOthers) {
  make({});
  const auto fail_once = [&](const std::string& name, uint32_t id) {
    writer_->submit(pod_patch(name, id));
    transport_.answer("pods/" + name, 500, "");
    return finished_.retry_after;
  };
  Duration before(0);
  for (int i = 0; i < 12; ++i) {
    const Duration now = fail_once("a", 1);
    EXPECT_GE(now, std::min<Duration>(before, seconds(15)));
    before = now;
    writer_->submit(pod_patch("b", 2));
    transport_.answer("pods/b", 422, "");
  }
  EXPECT_GE(before, seconds(15));
  // One that failed along with many does not wait for them.
  for (uint32_t id = 10; id < 40; ++id) EXPECT_LE(fail_once("c", id), milliseconds(500));
}

TEST_F(WriterTest, EventsComeLastAndAreMadeAnewIfTheyAreGone) {
  make({.most_at_a_time = 1});
  writer_->submit(pod_patch("a", 1));
  EventWrite event;
  event.request.method = Method::kPatch;
  event.request.target = "/events/x";
  event.otherwise = HttpRequest{.method = Method::kPost, .target = "/events-again"};
  writer_->submit(event);
  writer_->submit(pod_patch("b", 2));
  transport_.answer("pods/a", 200, pod("a", 8));
  EXPECT_EQ(transport_.count("pods/b"), 1U);
  transport_.answer("pods/b", 200, pod("b", 9));
  transport_.answer("/events/x", 404, "");
  transport_.answer("/events-again", 201, "");
  EXPECT_EQ(answered_, "patch pods=200 patch pods=200 patch events=404 create events=201 ");
}

}  // namespace
}  // namespace phalanx::kube

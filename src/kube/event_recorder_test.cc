#include "kube/event_recorder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace phalanx::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time kStart{seconds(1'800'000'000)};

core::Notice notice(const std::string& message, const std::string& name = "train") {
  return {{api::Kind::kJob, "ml", name}, "uid-1", false, "Started", message};
}

json::value body_of(const std::optional<EventWrite>& write) {
  return json::parse(write->request.body);
}

TEST(EventRecorder, MakesAnEventThatKubectlShows) {
  EventRecorder recorder("phalanx", "replica-1", 0xABC);
  const auto write = recorder.record(notice("admitted by team-a"), kStart);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->request.method, Method::kPost);
  EXPECT_TRUE(write->request.target.starts_with("/api/v1/namespaces/ml/events"));
  const json::value event = body_of(write);
  EXPECT_EQ(event.at("metadata").at("name"), "train.0000000000000abc");
  EXPECT_EQ(event.at("involvedObject"),
            json::parse(R"({"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"uid-1",
                            "namespace":"ml"})"));
  EXPECT_EQ(event.at("count"), 1);
  EXPECT_EQ(event.at("type"), "Normal");
}

TEST(EventRecorder, EventsOfObjectsWithoutANamespaceAreInDefault) {
  EventRecorder recorder("phalanx", "replica-1", 1);
  const auto write =
      recorder.record({{api::Kind::kNode, "", "n1"}, "u", true, "LeftOut", "twice"}, kStart);
  EXPECT_TRUE(write->request.target.starts_with("/api/v1/namespaces/default/events"));
  EXPECT_EQ(body_of(write).at("type"), "Warning");
}

TEST(EventRecorder, TheSameSentenceIsCounted) {
  EventRecorder recorder("phalanx", "replica-1", 1);
  recorder.record(notice("waits"), kStart);
  const auto second = recorder.record(notice("waits"), kStart + minutes(9));
  EXPECT_EQ(second->request.method, Method::kPatch);
  EXPECT_EQ(body_of(second).at("count"), 2);
  ASSERT_TRUE(second->otherwise);
  EXPECT_EQ(second->otherwise->method, Method::kPost);
  // Ten minutes later it is news.
  const auto third = recorder.record(notice("waits"), kStart + minutes(20));
  EXPECT_EQ(third->request.method, Method::kPost);
  EXPECT_EQ(body_of(third).at("count"), 1);
}

TEST(EventRecorder, ManySimilarOnesBecomeOne) {
  EventRecorder recorder("phalanx", "replica-1", 1);
  for (int i = 0; i < 10; ++i) {
    const auto write = recorder.record(notice(fmt::format("sentence {}", i)), kStart);
    EXPECT_EQ(write->request.method, Method::kPost);
  }
  const auto eleventh = recorder.record(notice("sentence 10"), kStart);
  EXPECT_EQ(body_of(eleventh).at("message"), "(combined from similar events): sentence 10");
  const auto twelfth = recorder.record(notice("sentence 11"), kStart);
  EXPECT_EQ(twelfth->request.method, Method::kPatch);
  EXPECT_EQ(body_of(twelfth).at("message"), "(combined from similar events): sentence 11");
}

TEST(EventRecorder, AnObjectThatNeverStopsIsSlowedDown) {
  EventRecorder recorder("phalanx", "replica-1", 1);
  int written = 0;
  for (int i = 0; i < 100; ++i) written += recorder.record(notice("again"), kStart) ? 1 : 0;
  EXPECT_EQ(written, 25);
  EXPECT_TRUE(recorder.record(notice("again", "other"), kStart));
  EXPECT_FALSE(recorder.record(notice("again"), kStart + minutes(4)));
  EXPECT_TRUE(recorder.record(notice("again"), kStart + minutes(5)));
}

TEST(EventRecorder, LongMessagesAreCutBetweenCharacters) {
  EventRecorder recorder("phalanx", "replica-1", 1);
  std::string message;
  while (message.size() < 3000) message += "\xC3\xA4";  // two bytes
  const json::value event = body_of(recorder.record(notice(message), kStart));
  const std::string text(event.at("message").as_string());
  EXPECT_LE(text.size(), 1024U);
  EXPECT_TRUE(text.ends_with("\xC3\xA4..."));
}

TEST(EventRecorder, MemoryIsBounded) {
  EventRecorder recorder("phalanx", "replica-1", 1);
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_TRUE(recorder.record(notice("x", fmt::format("job-{}", i)), kStart + seconds(i)));
  }
  EXPECT_LT(recorder.bytes_kept(), size_t{4} << 20);
  // The latest are remembered.
  const auto again = recorder.record(notice("x", "job-19999"), kStart + seconds(20'000));
  EXPECT_EQ(again->request.method, Method::kPatch);
}

TEST(EventRecorder, LongMessagesAreNotKept) {
  EventRecorder recorder("phalanx", "replica-1", 1);
  for (int i = 0; i < 20; ++i) {
    const std::string message = std::to_string(i) + std::string(1 << 20, 'x');
    EXPECT_TRUE(recorder.record(notice(message), kStart));
  }
  EXPECT_LT(recorder.bytes_kept(), size_t{64} << 10);
}

}  // namespace
}  // namespace phalanx::kube

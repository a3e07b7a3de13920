#include "manager/webhook_handler.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "admission/webhook_testing.h"
#include "core/core.h"
#include "jobs/batch_job.h"

namespace phalanx::manager {
namespace {

using admission::testing::job;
using admission::testing::review_text;

class WebhookHandlerTest : public testing::Test {
 protected:
  using Answer = std::shared_ptr<std::optional<serve::Response>>;

  // Asks, and returns where the answer will be.
  Answer ask(std::string_view path, std::string body) {
    serve::Request request;
    request.method = "POST";
    request.path = path;
    request.body = std::move(body);
    auto answer = std::make_shared<std::optional<serve::Response>>();
    handler_.answer(request, [answer](serve::Response response) { *answer = std::move(response); });
    return answer;
  }
  // The same for a conversion, which another thread answers.
  std::future<serve::Response> convert(std::string body) {
    serve::Request request;
    request.method = "POST";
    request.path = admission::kConvertPath;
    request.body = std::move(body);
    auto answered = std::make_shared<std::promise<serve::Response>>();
    handler_.answer(std::move(request), [answered](serve::Response response) {
      answered->set_value(std::move(response));
    });
    return answered->get_future();
  }
  // What the deciding thread does with what it is asked.
  size_t decide(bool ready = true) {
    size_t questions = 0;
    for (Message& message : mailbox_.take(std::chrono::milliseconds(0))) {
      std::get<Question>(message).ask(core_, {.ready = ready, .role = Role::kLeader});
      ++questions;
    }
    return questions;
  }
  // What the server does with a response before it sends it.
  static std::string completed(const Answer& answer) {
    serve::Response response = std::move(**answer);
    answer->reset();
    const auto complete = std::exchange(response.complete, nullptr);
    if (complete) complete(response);
    return std::to_string(response.status) + " " + response.body;
  }

  const core::Adapters adapters_ = jobs::all_adapters();
  core::Core core_{core::Configuration{}, adapters_};
  Mailbox<Message> mailbox_{1000};
  WebhookHandler handler_{adapters_, mailbox_};
};

TEST_F(WebhookHandlerTest, TheDecidingThreadIsAskedForTheContextOnly) {
  const auto answer = ask(admission::kMutateJobPath, review_text({.object = job("")}));
  EXPECT_FALSE(answer->has_value());
  EXPECT_EQ(decide(), 1);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->body, "") << "what is said is the server's to make";
  EXPECT_EQ((*answer)->status, 200);
  const std::string text = completed(answer);
  EXPECT_TRUE(text.starts_with("200 ")) << text;
  EXPECT_TRUE(text.contains("\"patch\":")) << text;
}

TEST_F(WebhookHandlerTest, WhatDependsOnNothingIsAnsweredAtOnce) {
  const auto answer = ask(admission::kValidateJobPath, review_text({.object = job("")}));
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE(completed(answer).starts_with("200 "));
  EXPECT_TRUE(completed(ask(admission::kMutateJobPath, "nonsense")).starts_with("400 "));
  EXPECT_TRUE(completed(ask("/nowhere", "{}")).starts_with("404 "));
  EXPECT_EQ(decide(), 0);
}

// Two kilobytes that become a hundred thousand domains.
std::string long_conversion() {
  const std::string value(63, 'v');
  const std::string slice = R"({"domainCount":100000,"valuesPerLevel":[{"universal":")" + value +
                            R"("}],"podCounts":{"universal":1}})";
  return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"1",
      "desiredAPIVersion":"kueue.x-k8s.io/v1beta1","objects":[{"apiVersion":"kueue.x-k8s.io/v1beta2",
      "kind":"Workload","metadata":{"name":"a","namespace":"b"},"status":{"admission":{"clusterQueue":"q",
      "podSetAssignments":[{"name":"main","count":1,"topologyAssignment":{"levels":["l"],
      "slices":[)" +
         slice + "," + slice + "," + slice + R"(]}}]}}}]}})";
}

TEST_F(WebhookHandlerTest, JobsDoNotWaitForConversions) {
  std::vector<std::future<serve::Response>> conversions;
  for (int i = 0; i < 3; ++i) conversions.push_back(convert(long_conversion()));
  EXPECT_TRUE(ask(admission::kValidateJobPath, review_text({.object = job("")}))->has_value());
  EXPECT_NE(conversions.back().wait_for(std::chrono::seconds(0)), std::future_status::ready);
  for (auto& conversion : conversions) {
    const serve::Response response = conversion.get();
    EXPECT_EQ(response.status, 200) << response.body.substr(0, 500);
    EXPECT_GT(response.body.size(), size_t{10} << 20);
  }
}

TEST_F(WebhookHandlerTest, ConversionsThatWaitAreNotTooMany) {
  const std::string text = "{\"a\":\"" + std::string(size_t{40} << 20, 'x') + "\"}";
  std::vector<std::future<serve::Response>> first;
  for (int i = 0; i < 4; ++i) first.push_back(convert(long_conversion()));
  std::vector<std::future<serve::Response>> large;
  for (int i = 0; i < 4; ++i) large.push_back(convert(text));
  EXPECT_EQ(large.back().get().status, 503);
  for (auto& each : first) EXPECT_EQ(each.get().status, 200);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(large[i].get().status, 400);
}

TEST_F(WebhookHandlerTest, NobodyIsAnsweredBeforeTheQueuesAreKnown) {
  const auto answer = ask(admission::kMutateJobPath, review_text({.object = job("")}));
  decide(false);
  EXPECT_EQ((*answer)->status, 503);
  EXPECT_TRUE(completed(answer).contains("does not know the queues yet"));
}

// By what they take as documents: a value of two bytes takes many times that.
TEST_F(WebhookHandlerTest, WhatWaitsIsBounded) {
  json::value large = job("");
  large.at("spec").as_object()["numbers"] = json::array(300'000, 0);
  const std::string body = review_text({.object = large});
  std::vector<Answer> answers;
  while (answers.empty() || !answers.back()->has_value()) {
    ASSERT_LT(answers.size(), 100) << "they are " << body.size() << " bytes each";
    answers.push_back(ask(admission::kMutateJobPath, body));
  }
  EXPECT_GT(answers.size(), 1);
  EXPECT_EQ((*answers.back())->status, 503);
  answers.pop_back();
  EXPECT_EQ(decide(), answers.size());
  // Also while the answers wait to be sent.
  EXPECT_TRUE(completed(ask(admission::kMutateJobPath, body)).starts_with("503 "));
  for (const Answer& answer : answers) EXPECT_TRUE(completed(answer).starts_with("200 "));
  EXPECT_FALSE(ask(admission::kMutateJobPath, body)->has_value());
}

}  // namespace
}  // namespace phalanx::manager

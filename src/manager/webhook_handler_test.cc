#include "manager/webhook_handler.h"

#include <gtest/gtest.h>

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

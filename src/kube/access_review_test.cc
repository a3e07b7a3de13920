#include "kube/access_review.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "kube/testing.h"

namespace phalanx::kube {
namespace {

constexpr std::string_view kTokens = "tokenreviews";
constexpr std::string_view kRights = "subjectaccessreviews";

class AccessReviewTest : public testing::Test {
 protected:
  // Asks, and returns where the verdict will be.
  std::shared_ptr<std::optional<AccessVerdict>> ask(const std::string& token,
                                                    const std::string& path = "/metrics") {
    auto verdict = std::make_shared<std::optional<AccessVerdict>>();
    reviewer_.review({token, "get", path},
                     [verdict](AccessVerdict decided) { *verdict = std::move(decided); });
    return verdict;
  }
  void authenticate() {
    transport_.answer(kTokens, 201, R"({"status":{"authenticated":true,"user":{
        "username":"system:serviceaccount:monitoring:prometheus","uid":"u",
        "groups":["system:serviceaccounts"],"extra":{"a":["b"]}}}})");
  }

  FakeTransport transport_;
  AccessReviewer reviewer_{transport_};
};

TEST_F(AccessReviewTest, TheApiServerSaysWhoItIsAndWhatItMay) {
  const auto verdict = ask("secret");
  EXPECT_EQ(json::parse(transport_.request(kTokens).body),
            json::parse(R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview",
                            "spec":{"token":"secret"}})"));
  authenticate();
  EXPECT_EQ(json::parse(transport_.request(kRights).body),
            json::parse(R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",
                "spec":{"user":"system:serviceaccount:monitoring:prometheus","uid":"u",
                        "groups":["system:serviceaccounts"],"extra":{"a":["b"]},
                        "nonResourceAttributes":{"path":"/metrics","verb":"get"}}})"));
  EXPECT_FALSE(verdict->has_value());
  transport_.answer(kRights, 201, R"({"status":{"allowed":true}})");
  EXPECT_EQ((*verdict)->answer, AccessAnswer::kAllowed);
}

TEST_F(AccessReviewTest, WithoutATokenNobodyIsAsked) {
  EXPECT_EQ((*ask(""))->answer, AccessAnswer::kUnknown);
  EXPECT_EQ((*ask(std::string(20'000, 'x')))->answer, AccessAnswer::kUnknown);
  EXPECT_TRUE(transport_.exchanges().empty());
}

TEST_F(AccessReviewTest, ATokenOfNobody) {
  for (const char* answer : {R"({"status":{"authenticated":false}})", R"({"status":{}})",
                             R"({"status":{"authenticated":true}})", R"({})"}) {
    const auto verdict = ask(std::string("forged ") + answer);
    transport_.answer(kTokens, 201, answer);
    EXPECT_EQ((*verdict)->answer, AccessAnswer::kUnknown) << answer;
  }
}

TEST_F(AccessReviewTest, SomebodyWithoutTheRight) {
  for (const char* answer :
       {R"({"status":{"allowed":false}})", R"({"status":{"allowed":true,"denied":true}})"}) {
    const auto verdict = ask(std::string("mine ") + answer);
    authenticate();
    transport_.answer(kRights, 201, answer);
    EXPECT_EQ((*verdict)->answer, AccessAnswer::kForbidden) << answer;
    EXPECT_EQ((*verdict)->message,
              "system:serviceaccount:monitoring:prometheus may not get /metrics: it takes a "
              "ClusterRole with nonResourceURLs [\"/metrics\"] and verbs [\"get\"]");
  }
}

TEST_F(AccessReviewTest, NobodyIsLetInWithoutAnAnswer) {
  auto verdict = ask("a");
  transport_.answer(kTokens, no_answer("connection refused"));
  EXPECT_EQ((*verdict)->answer, AccessAnswer::kUnavailable);
  verdict = ask("a");  // it is not remembered
  authenticate();
  transport_.answer(kRights, 500, "");
  EXPECT_EQ((*verdict)->answer, AccessAnswer::kUnavailable);
  verdict = ask("a");
  transport_.answer(kTokens, 200, "nonsense");
  EXPECT_EQ((*verdict)->answer, AccessAnswer::kUnavailable);
}

TEST_F(AccessReviewTest, AnswersAreRememberedForAWhile) {
  auto verdict = ask("a");
  authenticate();
  transport_.answer(kRights, 201, R"({"status":{"allowed":true}})");
  EXPECT_TRUE(ask("a")->has_value());
  EXPECT_FALSE(ask("a", "/debug/account")->has_value()) << "another right";
  transport_.answer(kTokens, 201, R"({"status":{"authenticated":false}})");
  transport_.pass(AccessReviewer::kRememberYes - Duration(1));
  EXPECT_TRUE(ask("a")->has_value());
  transport_.pass(Duration(1));
  EXPECT_FALSE(ask("a")->has_value()) << "rights may have been taken away";
}

TEST_F(AccessReviewTest, ANoIsForgottenSooner) {
  auto verdict = ask("a");
  transport_.answer(kTokens, 201, R"({"status":{"authenticated":false}})");
  EXPECT_TRUE(ask("a")->has_value());
  transport_.pass(AccessReviewer::kRememberNo);
  EXPECT_FALSE(ask("a")->has_value());
}

TEST_F(AccessReviewTest, AFloodOfTokensIsBounded) {
  for (size_t i = 0; i < AccessReviewer::kMostUnderWay; ++i) {
    EXPECT_FALSE(ask("token " + std::to_string(i))->has_value());
  }
  EXPECT_EQ((*ask("one more"))->answer, AccessAnswer::kUnavailable);
  EXPECT_EQ(transport_.exchanges().size(), AccessReviewer::kMostUnderWay);
  while (!transport_.exchanges().empty()) transport_.answer(kTokens, 201, "{}");
  for (size_t i = 0; i < 2 * AccessReviewer::kMostRemembered; ++i) {
    transport_.pass(AccessReviewer::kInterval);
    const auto verdict = ask("other " + std::to_string(i));
    transport_.answer(kTokens, 201, "{}");
    EXPECT_TRUE(verdict->has_value());
  }
}

TEST_F(AccessReviewTest, StrangersAreAskedAboutAtARate) {
  // However fast they come, and however fast the API server answers.
  size_t asked = 0;
  const auto crowd = [&](Duration duration) {
    for (Duration passed{0}; passed < duration; passed += std::chrono::milliseconds(1)) {
      const auto verdict = ask("token " + std::to_string(asked) + " " +
                               std::to_string(transport_.now().time_since_epoch().count()));
      if (verdict->has_value()) {
        EXPECT_EQ((*verdict)->answer, AccessAnswer::kUnavailable);
      } else {
        ++asked;
        transport_.answer(kTokens, 201, "{}");
      }
      transport_.pass(std::chrono::milliseconds(1));
    }
  };
  crowd(std::chrono::seconds(10));
  EXPECT_EQ(asked,
            AccessReviewer::kMostAtOnce - 1 + std::chrono::seconds(10) / AccessReviewer::kInterval);
}

TEST_F(AccessReviewTest, WhoWasLetInIsNotKeptOutByACrowd) {
  ask("prometheus");
  authenticate();
  transport_.answer(kRights, 201, R"({"status":{"allowed":true}})");
  // As many noes as are remembered do not make it forgotten.
  for (size_t i = 0; i <= AccessReviewer::kMostRemembered; ++i) {
    transport_.pass(AccessReviewer::kInterval);
    ask("stranger " + std::to_string(i));
    transport_.answer(kTokens, 201, "{}");
  }
  EXPECT_LT(AccessReviewer::kInterval * (AccessReviewer::kMostRemembered + 1),
            AccessReviewer::kRememberYes);
  EXPECT_TRUE(ask("prometheus")->has_value());
  // And when it has to be asked for again, the crowd does not stand before it.
  transport_.pass(AccessReviewer::kRememberYes);
  for (size_t i = 0; i < AccessReviewer::kMostUnderWay; ++i) ask("more " + std::to_string(i));
  EXPECT_EQ((*ask("one more"))->answer, AccessAnswer::kUnavailable);
  const auto again = ask("prometheus");
  EXPECT_FALSE(again->has_value());
  while (!again->has_value() && transport_.count(kTokens) > 1) {
    transport_.answer(kTokens, 201, "{}");
  }
  transport_.answer(kTokens, 201, R"({"status":{"authenticated":false}})");
  EXPECT_EQ((*again)->answer, AccessAnswer::kUnknown) << "its token was taken back";
  // It is a stranger now.
  transport_.pass(AccessReviewer::kRememberNo);
  for (size_t i = 0; i < AccessReviewer::kMostUnderWay; ++i) ask("last " + std::to_string(i));
  EXPECT_EQ((*ask("prometheus"))->answer, AccessAnswer::kUnavailable);
}

TEST(BearerToken, IsTakenFromItsHeader) {
  EXPECT_EQ(bearer_token("Bearer abc"), "abc");
  EXPECT_EQ(bearer_token("bearer  abc "), "abc");
  for (const char* none : {"", "Bearer", "Bearer ", "Basic abc", "abc", "Bearerabc"}) {
    EXPECT_EQ(bearer_token(none), "") << none;
  }
}

}  // namespace
}  // namespace phalanx::kube

#include "core/hosting.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

TEST(Hosting, WhatARefusalMeans) {
  for (const int code : {0, 401, 408, 429, 500, 503, 504}) {
    EXPECT_EQ(outcome_of(code, ""), WriteOutcome::kUnavailable) << code;
  }
  EXPECT_EQ(outcome_of(409, "Conflict"), WriteOutcome::kConflict);
  EXPECT_EQ(outcome_of(409, ""), WriteOutcome::kConflict);
  EXPECT_EQ(outcome_of(409, "AlreadyExists"), WriteOutcome::kAlreadyExists);
  EXPECT_EQ(outcome_of(404, "NotFound"), WriteOutcome::kNotFound);
  EXPECT_EQ(outcome_of(422, "Invalid"), WriteOutcome::kRefused);
  EXPECT_EQ(outcome_of(403, "Forbidden"), WriteOutcome::kRefused);
}

TEST(Hosting, PreconditionsTravelInThePatch) {
  Write write;
  write.verb = Verb::kMergePatch;
  write.body = json::object{{"spec", json::object{{"suspend", true}}}};
  EXPECT_EQ(json::serialize(patch_of(write)), R"({"spec":{"suspend":true},"metadata":{}})");
  write.body = json::object{{"metadata", json::object{{"labels", json::object{{"a", "b"}}}}}};
  write.uid = "u1";
  write.resource_version = 7;
  EXPECT_EQ(json::serialize(patch_of(write)),
            R"({"metadata":{"labels":{"a":"b"},"uid":"u1","resourceVersion":"7"}})");
}

TEST(Hosting, AnEventFitsWhateverItIsAbout) {
  Notice notice{.about = {api::Kind::kNode, "", std::string(253, 'n')},
                .uid = "u1",
                .warning = true,
                .reason = "Odd",
                .message = std::string(1020, 'm') + "\u00e4\u00f6\u00fc"};
  const std::string name = event_name(notice, 0xabc);
  EXPECT_EQ(name, std::string(230, 'n') + ".0000000000000abc");
  const json::object event =
      event_of(notice, {.name = name, .component = "phalanx", .instance = "", .count = 2});
  EXPECT_EQ(event.at("metadata").at("namespace"), "default");
  EXPECT_FALSE(event.at("involvedObject").as_object().contains("namespace"));
  EXPECT_EQ(event.at("type"), "Warning");
  EXPECT_EQ(event.at("count"), 2);
  // Never within a character.
  EXPECT_EQ(event.at("message").as_string(), std::string(1020, 'm') + "...");
  EXPECT_FALSE(event.contains("reportingInstance"));
}

}  // namespace
}  // namespace phalanx::core

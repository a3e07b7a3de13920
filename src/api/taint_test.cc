#include "api/taint.h"

#include <gtest/gtest.h>

namespace phalanx::api {
namespace {

TEST(Taint, OnlyNoScheduleAndNoExecuteRepel) {
  EXPECT_TRUE((Taint{"k", "v", "NoSchedule"}).repels());
  EXPECT_TRUE((Taint{"k", "v", "NoExecute"}).repels());
  EXPECT_FALSE((Taint{"k", "v", "PreferNoSchedule"}).repels());
}

TEST(Taint, ReadsAsKubectlWritesIt) {
  EXPECT_EQ((Taint{"k", "v", "NoSchedule"}).text(), "k=v:NoSchedule");
  EXPECT_EQ((Taint{"k", "", "NoExecute"}).text(), "k:NoExecute");
}

TEST(Toleration, AnswersByKeyValueAndEffect) {
  const Taint taint{"team", "a", "NoSchedule"};
  EXPECT_TRUE((Toleration{"team", false, "a", "NoSchedule"}).tolerates(taint));
  EXPECT_TRUE((Toleration{"team", false, "a", ""}).tolerates(taint));
  EXPECT_TRUE((Toleration{"team", true, "", ""}).tolerates(taint));
  EXPECT_TRUE((Toleration{"", true, "", ""}).tolerates(taint));
  EXPECT_TRUE((Toleration{"", true, "", "NoSchedule"}).tolerates(taint));
  EXPECT_FALSE((Toleration{"team", false, "b", ""}).tolerates(taint));
  EXPECT_FALSE((Toleration{"other", true, "", ""}).tolerates(taint));
  EXPECT_FALSE((Toleration{"team", true, "", "NoExecute"}).tolerates(taint));
  EXPECT_FALSE((Toleration{"", true, "", "NoExecute"}).tolerates(taint));
  EXPECT_FALSE((Toleration{"", false, "a", ""}).tolerates(taint));
  // Equal without a value answers a taint without one.
  EXPECT_TRUE((Toleration{"team", false, "", ""}).tolerates({"team", "", "NoExecute"}));
}

TEST(Toleration, TheFirstUnansweredTaintCounts) {
  const std::vector<Taint> taints = {
      {"wish", "", "PreferNoSchedule"}, {"a", "", "NoSchedule"}, {"b", "", "NoExecute"}};
  EXPECT_EQ(first_untolerated(taints, {})->key, "a");
  EXPECT_EQ(first_untolerated(taints, {{"a", true, "", ""}})->key, "b");
  EXPECT_EQ(first_untolerated(taints, {{"b", true, "", ""}, {"a", true, "", ""}}), nullptr);
  EXPECT_EQ(first_untolerated({}, {}), nullptr);
}

class TaintReading : public ::testing::Test {
 protected:
  JsonReader reader(const char* text) {
    document_ = *parse_json(text);
    return JsonReader(&document_, "spec", status_);
  }
  std::string problem() { return status_.error() ? status_.error()->message : ""; }

  json::value document_;
  DecodeStatus status_;
};

TEST_F(TaintReading, ReadsBothKinds) {
  const JsonReader spec = reader(
      R"({"taints":[{"key":"k","value":"v","effect":"NoExecute","timeAdded":"2026-01-02T03:04:05Z"}],
          "tolerations":[{"operator":"Exists"},{"key":"k","value":"v","effect":"NoSchedule"},
                         {"key":"k","operator":"Exists","tolerationSeconds":300}]})");
  const auto taints = read_taints(spec, "taints");
  EXPECT_EQ(taints, (std::vector<Taint>{{"k", "v", "NoExecute"}}));
  EXPECT_EQ(format_time(taints[0].added.value()), "2026-01-02T03:04:05Z");
  EXPECT_EQ(read_tolerations(spec, "tolerations"),
            (std::vector<Toleration>{
                {"", true, "", ""}, {"k", false, "v", "NoSchedule"}, {"k", true, "", "", 300}}));
  EXPECT_TRUE(read_taints(spec, "absent").empty());
  EXPECT_EQ(problem(), "");
}

TEST_F(TaintReading, UnknownEffectsAndOperatorsAreNamed) {
  (void)read_taints(reader(R"({"t":[{"key":"k","effect":"Never"}]})"), "t");
  EXPECT_EQ(problem(),
            "spec.t[0].effect: \"Never\" is not NoSchedule, PreferNoSchedule or NoExecute");
}

TEST_F(TaintReading, ATolerationWithoutKeyMustSayExists) {
  (void)read_tolerations(reader(R"({"t":[{"key":"a"},{"value":"x"}]})"), "t");
  EXPECT_EQ(problem(), "spec.t[1].key: is required unless the operator is Exists");
}

TEST_F(TaintReading, UnknownOperatorsAreNamed) {
  (void)read_tolerations(reader(R"({"t":[{"key":"a","operator":"In"}]})"), "t");
  EXPECT_EQ(problem(), "spec.t[0].operator: \"In\" is not Equal or Exists");
}

}  // namespace
}  // namespace phalanx::api

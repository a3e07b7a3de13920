#include "core/object.h"

#include <gtest/gtest.h>

#include "core/adapter.h"

namespace phalanx::core {
namespace {

Pod read_pod(const std::string& workload, const std::string& controller = "j") {
  const json::value document{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", "p"},
        {"namespace", "ml"},
        {"annotations", {{"kueue.x-k8s.io/workload", workload}}},
        {"ownerReferences", json::array{json::object{{"apiVersion", "batch/v1"},
                                                     {"kind", "Job"},
                                                     {"name", "j"},
                                                     {"uid", controller},
                                                     {"controller", true}}}}}}};
  const auto object = decode_object(document, Adapters());
  EXPECT_TRUE(object.has_value());
  return std::get<Pod>(object->body);
}

TEST(ObjectTest, APodNamesItsWorkload) {
  EXPECT_EQ(read_pod("job-a-12345").workload, "ml/job-a-12345");
  EXPECT_EQ(read_pod("job-a.b-12345").controller, "j");
}

// Nobody checks annotations, and pods are kept by the hundred thousand.
TEST(ObjectTest, WhatCannotBeAWorkloadsNameIsNone) {
  for (const std::string& name : {std::string(), std::string(254, 'a'), std::string(200'000, 'a'),
                                  std::string("a/b"), std::string("A"), std::string("a..b"),
                                  std::string("a.-b"), std::string("-a"), std::string("a-")}) {
    EXPECT_EQ(read_pod(name).workload, "") << name.substr(0, 10);
  }
  EXPECT_EQ(read_pod(std::string(253, 'a')).workload.size(), 256U);
  EXPECT_EQ(read_pod("a", std::string(200'000, 'a')).controller, "");
}

}  // namespace
}  // namespace phalanx::core

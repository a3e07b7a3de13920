#include "core/provisioning_names.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

TEST(ProvisioningNamesTest, NamesSayWhatTheyAreFor) {
  EXPECT_EQ(provisioning_request_name("w", "c", 3), "w-c-3");
  EXPECT_EQ(provisioning_template_name("w-c-3", "main"), "ppt-w-c-3-main");
  const std::string long_name(200, 'w');
  EXPECT_EQ(provisioning_request_name(long_name, "check", 1), long_name + "-check-1");
}

// 247 characters and a hash, as Kueue has it.
TEST(ProvisioningNamesTest, NamesThatAreTooLongStayApart) {
  const std::string fits(239, 'w');
  EXPECT_EQ(provisioning_request_name(fits, "check", 1), fits + "-check-1");
  const std::string workload(245, 'w');
  const std::string first = provisioning_request_name(workload, "check", 1);
  const std::string second = provisioning_request_name(workload, "check", 2);
  EXPECT_EQ(first.size(), 253U);
  EXPECT_TRUE(first.starts_with(workload + "-c-")) << first;
  EXPECT_EQ(second.size(), 253U);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, provisioning_request_name(workload, "check", 1));
  EXPECT_LE(provisioning_template_name(first, std::string(63, 'p')).size(), 253U);
}

TEST(ProvisioningNamesTest, WhatIsLeftOfALongNameCanStandBeforeAHash) {
  const std::string dotted =
      provisioning_request_name(std::string(230, 'w') + std::string(20, '.') + "x", "c", 1);
  EXPECT_TRUE(dotted.starts_with(std::string(230, 'w') + "-")) << dotted;
  EXPECT_EQ(dotted.size(), 236U);
}

TEST(ProvisioningNamesTest, WhatIsToldApartIsNoLonger) {
  const std::string name = told_apart("a-b-1-1", "a-b/1/1");
  EXPECT_TRUE(name.starts_with("a-b-1-1-")) << name;
  EXPECT_EQ(name.size(), 16U);
  EXPECT_NE(name, told_apart("a-b-1-1", "a/b-1/1"));
  EXPECT_EQ(told_apart(std::string(253, 'w'), "p").size(), 253U);
}

}  // namespace
}  // namespace phalanx::core

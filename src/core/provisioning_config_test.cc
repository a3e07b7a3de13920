#include "core/provisioning_config.h"

#include "core/provisioning_testing.h"

namespace phalanx::core {
namespace {

class ProvisioningConfigTest : public ProvisioningFixture {
 protected:
  // The condition Active as it is to be written: "True/Active: message"; "" if it is not written.
  std::string active() {
    const Verdict verdict = reconcile_admission_check(core_.state(), "check");
    if (!verdict.write) return "";
    EXPECT_TRUE(verdict.write->status);
    const json::value& written = verdict.write->body.at("status").at("conditions").at(0);
    return fmt::format("{}/{}: {}", std::string_view(written.at("status").as_string()),
                       std::string_view(written.at("reason").as_string()),
                       std::string_view(written.at("message").as_string()));
  }
};

TEST_F(ProvisioningConfigTest, ACheckIsActiveIfItsConfigIsThere) {
  EXPECT_EQ(active(), "True/Active: The admission check is active");
  tell_check("{apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: config}",
             "{conditions: [{type: Active, status: 'True', reason: Active, message: The admission "
             "check is active}]}");
  EXPECT_EQ(active(), "");  // it says so already
  tell_deleted({api::Kind::kProvisioningRequestConfig, "", "config"});
  EXPECT_EQ(active(),
            "False/ParametersNotFound: ProvisioningRequestConfig config does not exist; create it");
}

TEST_F(ProvisioningConfigTest, ACheckWithoutParametersOfOursIsNotActive) {
  tell_check("null");
  EXPECT_EQ(active(),
            "False/ParametersMissing: spec.parameters must name a ProvisioningRequestConfig");
  tell_check("{apiGroup: example.com, kind: Config, name: config}");
  EXPECT_EQ(active(),
            "False/ParametersUnsupported: spec.parameters names a Config of example.com, but must "
            "name a ProvisioningRequestConfig of kueue.x-k8s.io");
}

TEST_F(ProvisioningConfigTest, ChecksOfOthersAreLeftAlone) {
  tell(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: check}, "
      "spec: {controllerName: example.com/budget}}");
  EXPECT_EQ(active(), "");
}

}  // namespace
}  // namespace phalanx::core

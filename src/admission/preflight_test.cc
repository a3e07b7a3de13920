#include "admission/preflight.h"

#include <gtest/gtest.h>

#include "admission/deploy_files.h"
#include "admission/testing.h"
#include "core/configuration.h"

namespace phalanx::admission {
namespace {

using testing::good_with;
using testing::yaml;

Result<std::vector<std::string>> read_configuration(const std::string& text) {
  ASSIGN_OR_RETURN(core::ConfigurationFile file,
                   core::parse_configuration(text, "its Configuration"));
  return std::move(file.warnings);
}

std::string shown(const PreflightDocuments& documents) {
  std::string text;
  for (const Finding& finding : preflight(documents, read_configuration)) {
    text += std::string(word_of(finding.kind)) + " " + finding.subject + ": " + finding.text + "\n";
  }
  return text;
}

json::value workload(std::string_view name, std::string_view owner) {
  return good_with("Workload", "{metadata: {name: " + std::string(name) +
                                   ", namespace: ml, ownerReferences: [" + std::string(owner) +
                                   "]}}");
}

constexpr std::string_view kJob = "{apiVersion: batch/v1, kind: Job, name: a, uid: u}";
constexpr std::string_view kJobSet =
    "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: a, uid: u}";

TEST(PreflightTest, JobsAndQueuesAreNoObstacle) {
  PreflightDocuments documents;
  documents.objects["Workload"] = {workload("job-a", kJob)};
  for (const std::string_view kind :
       {"Topology", "ResourceFlavor", "ClusterQueue", "Cohort", "LocalQueue",
        "WorkloadPriorityClass", "AdmissionCheck", "ProvisioningRequestConfig"}) {
    documents.objects[std::string(kind)] = {good_with(kind, "")};
  }
  documents.objects["Job"] = {yaml("{metadata: {name: a, namespace: ml}}")};
  for (const EmbeddedFile& crd : crds()) documents.crds.push_back(yaml(crd.text()));
  EXPECT_EQ(shown(documents), "");
}

TEST(PreflightTest, WorkloadsOfOtherKindsAreTold) {
  PreflightDocuments documents;
  for (const char* name : {"a", "b", "c", "d"}) {
    documents.objects["Workload"].push_back(workload(name, kJobSet));
  }
  documents.objects["Workload"].push_back(workload("orphan", ""));
  json::value ended = workload("ended", kJobSet);
  testing::merge(ended, yaml("{status: {conditions: [{type: Finished, status: 'True', reason: r, "
                             "message: m, lastTransitionTime: '2026-01-31T08:00:00Z'}]}}"));
  documents.objects["Workload"].push_back(ended);
  EXPECT_EQ(shown(documents),
            "obstacle 4 Workloads: owned by a jobset.x-k8s.io/v1alpha2 JobSet, and Phalanx manages "
            "batch/v1 Jobs only: let it end and submit no more of its kind, or stay with Kueue "
            "(ml/a, ml/b, ml/c, ...)\n"
            "obstacle 1 Workload: owned by no job: nobody would start or end what is behind it "
            "(ml/orphan)\n");
}

TEST(PreflightTest, JobsThatNeedMoreThanPhalanxHas) {
  PreflightDocuments documents;
  documents.objects["Job"] = {
      yaml("{metadata: {name: grows, annotations: {kueue.x-k8s.io/elastic-job: 'true'}}}"),
      yaml("{metadata: {name: done, annotations: {kueue.x-k8s.io/elastic-job: 'true'}}, "
           "status: {conditions: [{type: Complete, status: 'True'}]}}"),
      yaml("{metadata: {name: made, labels: {kueue.x-k8s.io/prebuilt-workload-name: w}}}")};
  documents.managed_pods = {yaml("{metadata: {name: single}, status: {phase: Pending}}"),
                            yaml("{metadata: {name: over}, status: {phase: Succeeded}}")};
  documents.objects["AdmissionCheck"] = {
      good_with("AdmissionCheck", "{spec: {controllerName: kueue.x-k8s.io/multikueue}}")};
  const std::string text = shown(documents);
  EXPECT_NE(text.find("obstacle 1 Job: elastic (kueue.x-k8s.io/elastic-job)"), std::string::npos);
  EXPECT_NE(text.find("(made)"), std::string::npos);
  EXPECT_NE(text.find("obstacle 1 Pod: queued by itself"), std::string::npos);
  EXPECT_NE(text.find("obstacle 1 AdmissionCheck: of MultiKueue"), std::string::npos);
  EXPECT_EQ(text.find("done"), std::string::npos);
  EXPECT_EQ(text.find("over"), std::string::npos);
}

TEST(PreflightTest, WhatOurSchemasLackWouldBeLost) {
  PreflightDocuments documents;
  documents.objects["ClusterQueue"] = {good_with("ClusterQueue", "{spec: {newField: 1}}")};
  const std::string text = shown(documents);
  EXPECT_NE(text.find("obstacle 1 ClusterQueue: would lose a field, or could not be written any "
                      "more: spec.newField"),
            std::string::npos)
      << text;
}

TEST(PreflightTest, CrdsOfKindsAndVersionsThatWeDoNotHave) {
  PreflightDocuments documents;
  documents.crds = {
      yaml("{metadata: {name: multikueueclusters.kueue.x-k8s.io}, "
           "spec: {names: {plural: multikueueclusters}}}"),
      yaml("{metadata: {name: multikueueconfigs.kueue.x-k8s.io}, "
           "spec: {names: {plural: multikueueconfigs}}}"),
      yaml("{metadata: {name: topologies.kueue.x-k8s.io}, spec: {names: {plural: topologies}}, "
           "status: {storedVersions: [v1alpha1, v1beta1]}}")};
  documents.other_objects = {{"multikueueclusters", 2}, {"multikueueconfigs", 0}};
  const std::string text = shown(documents);
  EXPECT_NE(text.find("obstacle CustomResourceDefinition multikueueclusters.kueue.x-k8s.io: "
                      "Phalanx does not have this kind; there are 2 objects"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("note CustomResourceDefinition multikueueconfigs.kueue.x-k8s.io"),
            std::string::npos);
  EXPECT_NE(text.find("obstacle CustomResourceDefinition topologies.kueue.x-k8s.io: objects may be "
                      "stored as v1alpha1"),
            std::string::npos);
  EXPECT_EQ(text.find("stored as v1beta1"), std::string::npos);
}

json::value config_map(std::string_view name, std::string_view fields) {
  return json::object{
      {"metadata", json::object{{"name", name}, {"namespace", "kueue-system"}}},
      {"data", json::object{{"controller_manager_config.yaml",
                             "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" +
                                 std::string(fields)}}}};
}

// Stopped, so that nothing else is said about it.
json::value deployment(std::string_view container, std::string_view volumes = "[]") {
  return yaml(
      "{metadata: {name: k, namespace: kueue-system}, spec: {replicas: 0, template: "
      "{spec: {volumes: " +
      std::string(volumes) + ", containers: [" + std::string(container) + "]}}}}");
}

TEST(PreflightTest, TheConfigurationIsReadAsTheManagerWould) {
  PreflightDocuments documents;
  documents.config_maps = {
      json::object{{"metadata", json::object{{"name", "other"}, {"namespace", "kueue-system"}}},
                   {"data", json::object{{"a.yaml", "a: 1"}}}},
      config_map("config", "integrations: {frameworks: [batch/job]}\n")};
  EXPECT_EQ(shown(documents),
            "note ConfigMap kueue-system/config: its Configuration: integrations: is not used "
            "here\n");
  EXPECT_EQ(configuration_in(documents.config_maps[0]), "");
  documents.config_maps[1] = config_map("config", "waitForPodsReady: {timeout: soon}\n");
  EXPECT_TRUE(shown(documents).starts_with(
      "obstacle ConfigMap kueue-system/config: its Configuration: waitForPodsReady.timeout: "));
}

TEST(PreflightTest, OfSeveralConfigurationsTheOneInItsPodsCounts) {
  PreflightDocuments documents;
  documents.config_maps = {config_map("new", "fairSharing: {}\n"),
                           config_map("old", "multiKueue: {}\n")};
  documents.kueue.deployments = {deployment("{args: [--config=/c.yaml]}")};
  EXPECT_NE(shown(documents).find("obstacle ConfigMap kueue-system/new: is one of 2 with a "
                                  "Configuration"),
            std::string::npos);
  documents.kueue.deployments = {
      deployment("{args: [--config=/c.yaml]}", "[{name: c, configMap: {name: new}}]")};
  EXPECT_EQ(shown(documents), "");
  EXPECT_TRUE(files_to_keep(documents).at("configuration.yaml").ends_with("fairSharing: {}\n"));
}

TEST(PreflightTest, AConfigurationThatIsNowhereToBeSeenWouldBeLost) {
  PreflightDocuments documents;
  documents.kueue.deployments = {deployment("{args: [--config=/c.yaml]}")};
  EXPECT_TRUE(shown(documents).starts_with(
      "obstacle Deployment kueue-system/k: reads --config=/c.yaml, and no ConfigMap"));
}

TEST(PreflightTest, GatesOfTheCommandLineAreReadLikeThoseOfTheFile) {
  for (const std::string_view container :
       {"{args: ['--feature-gates=TASProfileMixed=false, New=True,FlavorFungibility=0']}",
        "{args: [-v=2, --feature-gates, 'TASProfileMixed=f,New=true,FlavorFungibility=false']}",
        "{command: [/manager, "
        "'-feature-gates=TASProfileMixed=false,New=1,FlavorFungibility=F']}"}) {
    PreflightDocuments documents;
    documents.kueue.deployments = {deployment(container)};
    const std::string text = shown(documents);
    EXPECT_NE(text.find("note Deployment kueue-system/k: feature gate New is not known here, and "
                        "changes nothing\n"),
              std::string::npos)
        << container << text;
    EXPECT_NE(text.find("note Deployment kueue-system/k: feature gate FlavorFungibility=false "
                        "changes nothing here\n"),
              std::string::npos)
        << container << text;
    EXPECT_EQ(text.find("TASProfileMixed"), std::string::npos) << text;
    const std::string kept = files_to_keep(documents).at("configuration.yaml");
    EXPECT_EQ(yaml(kept), yaml("{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, "
                               "featureGates: {TASProfileMixed: false, New: true, "
                               "FlavorFungibility: false}}"))
        << kept;
  }
  PreflightDocuments unreadable;
  unreadable.kueue.deployments = {deployment("{args: [--feature-gates=$(GATES)]}")};
  EXPECT_EQ(shown(unreadable),
            "obstacle Deployment kueue-system/k: --feature-gates: \"$(GATES)\" is not like "
            "Name=true; what it says would be lost\n");
}

TEST(PreflightTest, GatesOfTheCommandLineGoOnTopOfTheFile) {
  PreflightDocuments documents;
  documents.config_maps = {config_map(
      "config",
      "fairSharing: {}\nfeatureGates: {TASProfileMixed: true, ReclaimablePods: false}\n")};
  documents.kueue.deployments = {deployment("{args: [--feature-gates=TASProfileMixed=false]}")};
  EXPECT_EQ(
      yaml(files_to_keep(documents).at("configuration.yaml")),
      yaml("{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, fairSharing: {}, "
           "featureGates: {TASProfileMixed: false, ReclaimablePods: false}}"));
}

// Asked again when Kueue is stopped, it does not spoil what was kept before.
TEST(PreflightTest, KeepsTheNumberOfReplicasWhileThereAreAny) {
  PreflightDocuments documents;
  documents.kueue.deployments = {
      yaml("{metadata: {name: k, namespace: kueue-system}, spec: {replicas: 3}}")};
  EXPECT_EQ(files_to_keep(documents).at("replicas"), "3\n");
  documents.kueue.deployments = {deployment("{}")};
  const auto files = files_to_keep(documents);
  EXPECT_FALSE(files.contains("replicas"));
  EXPECT_FALSE(files.contains("callers.yaml"));
  EXPECT_FALSE(files.contains("crds.yaml"));
}

TEST(PreflightTest, WhatRunsIsAStep) {
  PreflightDocuments documents;
  documents.kueue.deployments = {
      yaml("{metadata: {name: k, namespace: kueue-system}, spec: {replicas: 1}}")};
  EXPECT_TRUE(shown(documents).starts_with("step Deployment kueue-system/k: has 1 replica;"));
}

TEST(PreflightTest, KeepsWhatKueueNeedsToComeBack) {
  PreflightDocuments documents;
  documents.crds = {
      yaml("{metadata: {name: c.kueue.x-k8s.io, uid: u, resourceVersion: '7'}, "
           "spec: {group: kueue.x-k8s.io}, status: {storedVersions: [v1beta1]}}")};
  documents.kueue.webhook_configurations = {
      yaml("{kind: MutatingWebhookConfiguration, metadata: {name: kueue, generation: 3}, "
           "webhooks: [{clientConfig: {service: {path: /mutate-kueue-x-k8s-io-v1beta2-workload}}}, "
           "{clientConfig: {url: "
           "'https://127.0.0.1/mutate-kueue-x-k8s-io-v1beta2-clusterqueue'}}]}"),
      yaml("{kind: MutatingWebhookConfiguration, metadata: {name: other}, webhooks: []}")};
  documents.kueue.api_services = {yaml(
      "{metadata: {name: v1.visibility.kueue.x-k8s.io}, spec: {group: visibility.kueue.x-k8s.io, "
      "service: {name: s}}, status: {conditions: []}}")};
  const auto files = files_to_keep(documents);
  EXPECT_FALSE(files.contains("configuration.yaml"));
  EXPECT_EQ(yaml(files.at("crds.yaml")),
            yaml("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, "
                 "metadata: {name: c.kueue.x-k8s.io}, spec: {group: kueue.x-k8s.io}}"));
  const auto callers = parse_documents(files.at("callers.yaml"));
  ASSERT_TRUE(callers.has_value());
  ASSERT_EQ(callers->size(), 2U);
  EXPECT_EQ((*callers)[0].value.at("metadata"), yaml("{name: kueue}"));
  EXPECT_EQ((*callers)[1].value.at("kind"), json::value("APIService"));
  EXPECT_FALSE((*callers)[1].value.as_object().contains("status"));
}

}  // namespace
}  // namespace phalanx::admission

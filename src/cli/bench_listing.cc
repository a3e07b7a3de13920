// phalanx bench listing: what a manager goes through when it starts on a large cluster. Pages of
// nodes and pods, as an API server sends them, are decoded and taken in by a core.
#include <fmt/format.h>

#include <iostream>

#include "base/check.h"
#include "base/process.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "core/core.h"
#include "jobs/batch_job.h"
#include "kube/object_decoder.h"

namespace phalanx::cli {
namespace {

constexpr uint32_t kPageSize = 500;
constexpr uint32_t kNodesOfRack = 16;
constexpr uint32_t kRacksOfBlock = 32;
constexpr uint32_t kPodsOfJob = 100;

constexpr std::string_view kTopology =
    R"({"metadata":{"name":"default","uid":"t","resourceVersion":"1","generation":1},"spec":{"levels":[{"nodeLabel":"cloud.provider.com/topology-block"},{"nodeLabel":"cloud.provider.com/topology-rack"},{"nodeLabel":"kubernetes.io/hostname"}]}})";
constexpr std::string_view kFlavor =
    R"({"metadata":{"name":"gpu","uid":"f","resourceVersion":"1","generation":1},"spec":{"topologyName":"default","nodeLabels":{"cloud.provider.com/node-group":"tas"}}})";

// Who wrote which field: about as much as on a real cluster, and of no interest to anybody here.
std::string managed_fields(uint32_t managers) {
  std::string text;
  for (uint32_t i = 0; i < managers; ++i) {
    text += fmt::format(
        R"({}{{"manager":"manager-{}","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:annotations":{{".":{{}},"f:kueue.x-k8s.io/workload":{{}}}},"f:labels":{{".":{{}},"f:batch.kubernetes.io/controller-uid":{{}},"f:job-name":{{}}}}}},"f:spec":{{"f:containers":{{"k:{{\"name\":\"worker\"}}":{{".":{{}},"f:image":{{}},"f:resources":{{".":{{}},"f:limits":{{}},"f:requests":{{}}}}}}}},"f:dnsPolicy":{{}},"f:restartPolicy":{{}}}}}}}})",
        i == 0 ? "" : ",", i);
  }
  return text;
}

std::string node_name(uint32_t index) {
  return fmt::format("gke-training-cluster-pool-{:06d}", index);
}

void add_node(std::string& text, uint32_t index) {
  const uint32_t rack = index / kNodesOfRack;
  text += fmt::format(
      R"({{"metadata":{{"name":"{0}","uid":"00000000-0000-4000-8000-{1:012x}","resourceVersion":"{2}","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"kubernetes.io/hostname":"{0}","cloud.provider.com/topology-block":"b{3:03d}","cloud.provider.com/topology-rack":"b{3:03d}-r{4:02d}","cloud.provider.com/node-group":"tas","kubernetes.io/os":"linux","kubernetes.io/arch":"amd64"}},"annotations":{{"node.alpha.kubernetes.io/ttl":"0"}},"managedFields":[{5}]}},"spec":{{"podCIDR":"10.0.0.0/24"}},"status":{{"capacity":{{"cpu":"96","memory":"1024Gi","nvidia.com/gpu":"8","pods":"110"}},"allocatable":{{"cpu":"96","memory":"1024Gi","nvidia.com/gpu":"8","pods":"110"}},"conditions":[{{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:00Z","reason":"KubeletReady"}}],"images":[{{"names":["registry.example.com/train@sha256:0123456789abcdef","registry.example.com/train:1"],"sizeBytes":12345678901}}]}}}})",
      node_name(index), index, index + 1, rack / kRacksOfBlock, rack % kRacksOfBlock,
      managed_fields(2));
}

// What tells a pod of a workload that was admitted and un-gated.
std::string managed_metadata(uint32_t job, uint32_t rank) {
  return fmt::format(
      R"("annotations":{{"kueue.x-k8s.io/workload":"job-training-{0:05d}-1a2b3","batch.kubernetes.io/job-completion-index":"{1}"}},"labels":{{"kueue.x-k8s.io/podset":"main","kueue.x-k8s.io/tas":"true","batch.kubernetes.io/controller-uid":"33333333-0000-4000-8000-{0:012x}","batch.kubernetes.io/job-completion-index":"{1}","batch.kubernetes.io/job-name":"training-{0:05d}","job-name":"training-{0:05d}"}},)",
      job, rank);
}

constexpr std::string_view kForeignMetadata =
    R"("annotations":{"example.com/config":"0123456789abcdef0123456789abcdef"},"labels":{"app":"agent","controller-revision-hash":"5d4f8c7b9","pod-template-generation":"1"},)";

struct PodMaker {
  uint32_t nodes = 0;
  uint32_t managed = 0;  // the last ones

  void add(std::string& text, uint32_t index, uint32_t pods) const;
};

void PodMaker::add(std::string& text, uint32_t index, uint32_t pods) const {
  const bool is_managed = index >= pods - managed;
  const uint32_t job = index / kPodsOfJob;
  const uint32_t rank = index % kPodsOfJob;
  const std::string node = node_name(index % nodes);
  const std::string name =
      is_managed ? fmt::format("training-{:05d}-{:03d}-{:05x}", job, rank, index % 0xFFFFF)
                 : fmt::format("node-agent-{:08x}-{:05x}", job, index % 0xFFFFF);
  text += fmt::format(
      R"({{"metadata":{{"name":"{0}","generateName":"x-","namespace":"{1}",{2}"uid":"11111111-0000-4000-8000-{3:012x}","resourceVersion":"{4}","creationTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"x","uid":"22222222-0000-4000-8000-000000000000","controller":true}}],"managedFields":[{5}]}},"spec":{{"volumes":[{{"name":"kube-api-access","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}}]}}}}],"containers":[{{"name":"worker","image":"registry.example.com/train:1","command":["/bin/train","--steps=1000"],"env":[{{"name":"NCCL_DEBUG","value":"INFO"}},{{"name":"RANK","value":"0"}}],"resources":{{"requests":{{"cpu":"1","memory":"2Gi"}},"limits":{{"memory":"2Gi"}}}},"volumeMounts":[{{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}]}}],{6}"restartPolicy":"Always","nodeName":"{7}","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute"}}]}},"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}}],"hostIP":"10.0.0.1","podIP":"10.1.0.1"}}}})",
      name, is_managed ? "ml" : "agents",
      is_managed ? managed_metadata(job, rank) : kForeignMetadata, index, index + nodes + 1,
      managed_fields(3),
      is_managed ? fmt::format(R"("nodeSelector":{{"kubernetes.io/hostname":"{}"}},)", node) : "",
      node);
}

// Pages as they come, one after another.
class Lister {
 public:
  Lister() : core_({}, adapters_) {}

  template <typename Add>
  void take(api::Kind kind, uint32_t count, const Add& add) {
    std::string page;
    for (uint32_t begin = 0; begin < count; begin += kPageSize) {
      page = R"({"metadata":{"resourceVersion":"1"},"items":[)";
      for (uint32_t i = begin; i < std::min(count, begin + kPageSize); ++i) {
        if (i != begin) page += ',';
        add(page, i);
      }
      page += "]}";
      take_page(kind, page);
    }
  }

  // Everything was told: the trees are built, and the core decides.
  void finish() {
    const auto begun = BenchClock::now();
    [[maybe_unused]] const core::Output output = core_.step(Time{}, {core::Synced{}});
    const auto tree = core_.state().account.tree_of("gpu");
    CHECK(tree && core_.state().account.cluster().tree(*tree).leaf_count() > 0);
    seconds_ += static_cast<double>(nanoseconds_since(begun)) * 1e-9;
  }

  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void take_page(api::Kind kind, const std::string& page) {
    bytes_ += page.size();
    const auto begun = BenchClock::now();
    std::vector<core::Object> objects;
    std::vector<std::string> problems;
    const auto read = decoder_.list(page, kind, objects, problems);
    CHECK(read.has_value() && problems.empty());
    std::vector<core::Event> events;
    for (core::Object& object : objects)
      events.emplace_back(core::ObjectChanged{std::move(object)});
    [[maybe_unused]] const core::Output output = core_.step(Time{}, std::move(events));
    seconds_ += static_cast<double>(nanoseconds_since(begun)) * 1e-9;
  }

  core::Adapters adapters_ = jobs::all_adapters();
  kube::ObjectDecoder decoder_{adapters_};
  core::Core core_;
  uint64_t bytes_ = 0;
  double seconds_ = 0;
};

}  // namespace

int bench_listing(const BenchListingArguments& arguments) {
  const PodMaker maker{arguments.nodes, std::min(arguments.managed, arguments.pods)};
  Lister lister;
  lister.take(api::Kind::kTopology, 1, [](std::string& text, uint32_t) { text += kTopology; });
  lister.take(api::Kind::kResourceFlavor, 1, [](std::string& text, uint32_t) { text += kFlavor; });
  lister.take(api::Kind::kNode, arguments.nodes, add_node);
  lister.take(api::Kind::kPod, arguments.pods,
              [&](std::string& text, uint32_t index) { maker.add(text, index, arguments.pods); });
  lister.finish();
  const int64_t held = resident_bytes();
  const int64_t peak = peak_resident_bytes();
  if (arguments.json) {
    std::cout << json::object{{"nodes", arguments.nodes},      {"pods", arguments.pods},
                              {"managed_pods", maker.managed}, {"bytes_read", lister.bytes()},
                              {"seconds", lister.seconds()},   {"rss_bytes", held},
                              {"peak_rss_bytes", peak}}
              << "\n";
  } else {
    std::cout << fmt::format(
        "{} nodes and {} pods, {} of them of workloads: {:.0f} MB of JSON taken in within {:.2f} "
        "s, "
        "held in {:.0f} MB, at most {:.0f} MB\n",
        arguments.nodes, arguments.pods, maker.managed, static_cast<double>(lister.bytes()) / 1e6,
        lister.seconds(), static_cast<double>(held) / 1e6, static_cast<double>(peak) / 1e6);
  }
  return kDone;
}

}  // namespace phalanx::cli

// Small random worlds for property tests of queueing: nodes, flavors, queues in cohorts, a
// configuration, and Jobs to throw at them. A seed decides everything.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "core/configuration.h"

namespace phalanx::sim {

class RandomWorld {
 public:
  explicit RandomWorld(uint64_t seed) : random_(seed) {
    make_configuration();
    make_nodes();
    make_flavors();
    make_queues();
    // Then nothing ends by itself while the stream lasts, and whoever has to wait preempts or
    // waits.
    long_jobs_ = chance(40);
  }

  // Of everything but Jobs, as YAML documents.
  [[nodiscard]] const std::string& manifests() const { return manifests_; }
  [[nodiscard]] const core::Configuration& configuration() const { return configuration_; }
  [[nodiscard]] bool long_jobs() const { return long_jobs_; }
  [[nodiscard]] const std::vector<std::string>& cluster_queues() const { return queues_; }
  [[nodiscard]] const std::vector<std::string>& local_queues() const { return local_queues_; }
  [[nodiscard]] const std::vector<std::string>& flavors() const { return flavors_; }
  Random& random() { return random_; }
  bool chance(uint64_t percent) { return random_.below(100) < percent; }
  template <typename T>
  const T& pick(const std::vector<T>& of) {
    return of[random_.below(of.size())];
  }

  std::string job() {
    const int64_t pods = random_.between(1, 4);
    std::vector<std::string> annotations;
    if (pods > 1 && chance(20)) {
      annotations.push_back(
          fmt::format("kueue.x-k8s.io/job-min-parallelism: \"{}\"", random_.between(1, pods - 1)));
    }
    std::vector<std::string> of_pods{fmt::format("phalanx.dev/run-for: {}", run_for())};
    if (chance(30)) of_pods.push_back("phalanx.dev/terminates-after: 7s");
    const std::string topology = pick(std::vector<std::string>{
        "", "", "podset-required-topology: rack", "podset-required-topology: rack",
        "podset-preferred-topology: rack", "podset-required-topology: kubernetes.io/hostname",
        "podset-unconstrained-topology: \"true\""});
    if (!topology.empty()) of_pods.push_back("kueue.x-k8s.io/" + topology);
    const std::string selector =
        chance(10) ? fmt::format("nodeSelector: {{pool: {}}}", pick(pools_)) : "nodeSelector: {}";
    return fmt::format(
        R"(---
apiVersion: batch/v1
kind: Job
metadata:
  name: j{0}
  namespace: ml
  labels: {{kueue.x-k8s.io/queue-name: {1}, kueue.x-k8s.io/priority-class: {2}}}
  annotations: {{{3}}}
spec:
  parallelism: {4}
  completions: {4}
  completionMode: {5}
  backoffLimit: 0
  template:
    metadata: {{annotations: {{{6}}}}}
    spec:
      restartPolicy: Never
      {7}
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: {8}}}}}}}]
)",
        jobs_++, pick(local_queues_), pick(std::vector<std::string>{"low", "low", "mid", "high"}),
        fmt::join(annotations, ", "), pods, chance(50) ? "Indexed" : "NonIndexed",
        fmt::join(of_pods, ", "), selector, random_.between(1, 4));
  }

  // One more host in a rack.
  std::string node() {
    const int64_t rack = random_.between(0, 1);
    return node_yaml(fmt::format("r{}-new{}", rack, nodes_++), rack == 0 ? "first" : "rest",
                     fmt::format("placed: \"yes\", rack: r{}", rack), 4);
  }

  // "nominalQuota: 3, borrowingLimit: 1", with limits only where there is somebody to share with.
  std::string quota(int64_t most, bool shares) {
    const int64_t nominal = random_.between(0, most);
    std::string text = fmt::format("nominalQuota: {}", nominal);
    if (shares && chance(30)) text += fmt::format(", borrowingLimit: {}", random_.between(0, 6));
    if (shares && chance(30))
      text += fmt::format(", lendingLimit: {}", random_.between(0, nominal));
    return text;
  }

 private:
  std::string run_for() {
    if (long_jobs_) return fmt::format("{}m", random_.between(25, 45));
    return fmt::format("{}s", random_.between(5, 90));
  }

  void make_configuration() {
    using core::FairPreemptionStrategy;
    if (chance(35)) {
      manifests_ += "# fair sharing\n";
      configuration_.fair_sharing.emplace();
      if (chance(50)) {
        configuration_.fair_sharing->strategies = {
            chance(50) ? FairPreemptionStrategy::kLessThanOrEqualToFinalShare
                       : FairPreemptionStrategy::kLessThanInitialShare};
        manifests_ += fmt::format("# strategy {}\n",
                                  static_cast<int>(configuration_.fair_sharing->strategies[0]));
      }
    }
    if (chance(25)) {
      configuration_.admission_fair_sharing = {
          std::chrono::minutes(random_.between(0, 5)), std::chrono::minutes(1), {}};
    }
    if (chance(30)) {
      configuration_.head_reservation_after = std::chrono::seconds(random_.between(5, 60));
    }
  }

  void make_nodes() {
    for (const char* priority : {"low 10", "mid 20", "high 30"}) {
      const std::string_view text(priority);
      add(
          fmt::format("{{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, "
                      "metadata: {{name: {}}}, value: {}}}",
                      text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)));
    }
    add("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: racks}, spec: "
        "{levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}}");
    const int64_t racks = random_.between(2, 3);
    const int64_t hosts = random_.between(2, 3);
    for (int64_t rack = 0; rack < racks; ++rack) {
      for (int64_t host = 0; host < hosts; ++host) {
        add_node(fmt::format("r{}-h{}", rack, host), rack == 0 ? "first" : "rest",
                 fmt::format("placed: \"yes\", rack: r{}", rack), 4);
      }
    }
    // For flavors without a topology: nodes are never what is short.
    for (const char* name : {"p0", "p1"}) add_node(name, "plain", "placed: \"no\"", 200);
  }

  void add_node(const std::string& name, std::string_view pool, const std::string& labels,
                int cpu) {
    add(node_yaml(name, pool, labels, cpu));
  }

  static std::string node_yaml(const std::string& name, std::string_view pool,
                               const std::string& labels, int cpu) {
    return fmt::format(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {0}, labels: {{pool: {1}, {2}, "
        "kubernetes.io/hostname: {0}}}}}, status: {{allocatable: {{cpu: {3}, pods: 100}}}}}}",
        name, pool, labels, cpu);
  }

  void make_flavors() {
    const std::vector<std::string> all{"everywhere placed: \"yes\"", "first pool: first",
                                       "rest pool: rest", "plain pool: plain", "other pool: plain"};
    const size_t wanted = 1 + random_.below(2);
    while (flavors_.size() < wanted) {
      const std::string& flavor = pick(all);
      const std::string name = flavor.substr(0, flavor.find(' '));
      if (std::ranges::find(flavors_, name) != flavors_.end()) continue;
      const bool placed = name != "plain" && name != "other";
      add(fmt::format(
          "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: "
          "{{name: {}}}, spec: {{nodeLabels: {{{}}}{}}}}}",
          name, flavor.substr(flavor.find(' ') + 1), placed ? ", topologyName: racks" : ""));
      flavors_.push_back(name);
    }
  }

  void make_queues() {
    const uint64_t kind = random_.below(4);  // none, flat, flat, a tree
    const size_t queues = 1 + random_.below(3);
    std::vector<std::string> cohorts;
    if (kind == 1 || kind == 2) cohorts = {"all"};
    if (kind == 3) cohorts = {"all", "left", "right"};
    for (const std::string& name : cohorts) {
      if (name == "all" && chance(50)) continue;  // it is there without an object, too
      add(fmt::format(
          "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {{name: {}}}, "
          "spec: {{{}{}}}}}",
          name, name == "all" ? "" : "parentName: all, ", weight_and_groups(4, name != "all")));
    }
    for (size_t i = 0; i < queues; ++i) add_queue(fmt::format("q{}", i), cohorts);
  }

  void add_queue(const std::string& name, const std::vector<std::string>& cohorts) {
    std::vector<std::string> spec;
    if (!cohorts.empty()) spec.push_back("cohortName: " + pick(cohorts));
    if (configuration_.admission_fair_sharing && chance(70)) {
      spec.emplace_back("admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}");
    }
    spec.push_back(
        fmt::format("queueingStrategy: {}", chance(30) ? "StrictFIFO" : "BestEffortFIFO"));
    spec.push_back(preemption(!cohorts.empty()));
    spec.push_back(fungibility());
    add(
        fmt::format("{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: "
                    "{}}}, spec: {{namespaceSelector: {{}}, {}, {}}}}}",
                    name, fmt::join(spec, ", "), weight_and_groups(16, !cohorts.empty())));
    queues_.push_back(name);
    for (size_t i = 0; i < 1 + random_.below(2); ++i) {
      const std::string local = fmt::format("{}-{}", name, i);
      add(
          fmt::format("{{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {{name: "
                      "{}, namespace: ml}}, spec: {{clusterQueue: {}}}}}",
                      local, name));
      local_queues_.push_back(local);
    }
  }

  std::string preemption(bool shares) {
    const auto within =
        pick(std::vector<std::string>{"Never", "LowerPriority", "LowerOrNewerEqualPriority"});
    std::string text = "preemption: {withinClusterQueue: " + within;
    if (shares) {
      const auto reclaim = pick(std::vector<std::string>{"Never", "LowerPriority", "Any", "Any"});
      text += ", reclaimWithinCohort: " + reclaim;
      if (reclaim != "Never" && chance(40)) {
        text += ", borrowWithinCohort: {policy: LowerPriority";
        if (chance(50)) text += ", maxPriorityThreshold: 10";
        text += "}";
      }
    }
    return text + "}";
  }

  std::string fungibility() {
    const std::string next = "TryNextFlavor";
    if (chance(20)) {  // only flavors that were all tried can be compared
      return "flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: TryNextFlavor, "
             "preference: PreemptionOverBorrowing}";
    }
    return fmt::format("flavorFungibility: {{whenCanBorrow: {}, whenCanPreempt: {}}}",
                       chance(60) ? "MayStopSearch" : next, chance(40) ? "MayStopSearch" : next);
  }

  std::string weight_and_groups(int64_t most, bool shares) {
    std::vector<std::string> quotas;
    for (const std::string& flavor : flavors_) {
      quotas.push_back(
          fmt::format("{{name: {}, resources: [{{name: cpu, {}}}]}}", flavor, quota(most, shares)));
    }
    std::string text = fmt::format("resourceGroups: [{{coveredResources: [cpu], flavors: [{}]}}]",
                                   fmt::join(quotas, ", "));
    if (configuration_.fair_sharing && chance(50)) {
      text += fmt::format(", fairSharing: {{weight: {}}}", random_.between(0, 3));
    }
    return text;
  }

  void add(const std::string& document) { manifests_ += "---\n" + document + "\n"; }

  Random random_;
  core::Configuration configuration_;
  std::string manifests_;
  std::vector<std::string> pools_{"first", "rest", "plain"};
  std::vector<std::string> flavors_;
  std::vector<std::string> queues_;
  std::vector<std::string> local_queues_;
  bool long_jobs_ = false;
  int jobs_ = 0;
  int nodes_ = 0;  // that joined
};

}  // namespace phalanx::sim

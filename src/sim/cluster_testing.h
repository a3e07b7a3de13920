// What the tests of the actors share: a cluster in virtual time, and objects written as YAML.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/api_server_testing.h"
#include "sim/cluster_actors.h"
#include "sim/object_fields.h"

namespace phalanx::sim {

class ClusterTest : public testing::Test {
 protected:
  explicit ClusterTest(const ClusterOptions& options = {})
      : options_(options), actors_(add_cluster_actors(simulation_, options_)) {}

  // Creates the object; the test fails if it is refused.
  Stored make(std::string_view text) {
    auto created = server_.create(from_yaml(text));
    EXPECT_TRUE(created) << created.error().message;
    return created.value_or(std::make_shared<const json::value>());
  }
  // A node with this much, for example "cpu: 4"; `extra` goes into its metadata.
  void add_node(const std::string& name, const std::string& allocatable = "cpu: 4",
                const std::string& extra = "") {
    make("{apiVersion: v1, kind: Node, metadata: {name: " + name + ", " + extra + "}}");
    set_status(node_key(name), "{status: {allocatable: {" + allocatable + "}}}");
  }
  // A pod with this spec besides its container, and these annotations. Its requests are its limits.
  void add_pod(const std::string& name, const std::string& spec = "",
               const std::string& annotations = "", const std::string& requests = "") {
    make("{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", annotations: {" + annotations +
         "}}, spec: {restartPolicy: Never, " + spec + (spec.empty() ? "" : ", ") +
         "containers: [{name: main, image: i, resources: {requests: {" + requests + "}, limits: {" +
         requests + "}}}]}}");
  }
  // A Job with this in its spec; its pods have these annotations and ask for one cpu each.
  void add_job(const std::string& name, const std::string& spec,
               const std::string& annotations = "phalanx.dev/run-for: 10s",
               const std::string& restart_policy = "Never") {
    make("{apiVersion: batch/v1, kind: Job, metadata: {name: " + name + "}, spec: {" + spec +
         ", template: {metadata: {annotations: {" + annotations +
         "}}, spec: {restartPolicy: " + restart_policy +
         ", containers: [{name: main, image: i, resources: {requests: {cpu: 1}}}]}}}}");
  }
  void merge(const api::ObjectKey& key, std::string_view patch) {
    const auto done = server_.patch(key, PatchType::kMerge, from_yaml(patch));
    EXPECT_TRUE(done) << done.error().message;
  }
  void set_status(const api::ObjectKey& key, std::string_view patch) {
    const auto done = server_.patch(key, PatchType::kMerge, from_yaml(patch), {.status = true});
    EXPECT_TRUE(done) << done.error().message;
  }
  void remove(const api::ObjectKey& key, Propagation propagation = Propagation::kBackground) {
    DeleteOptions options;
    options.propagation = propagation;
    const auto done = server_.remove(key, options);
    EXPECT_TRUE(done) << done.error().message;
  }

  void settle() {
    const auto done = simulation_.settle();
    EXPECT_TRUE(done) << done.error().message;
  }
  void run_for(Duration duration) {
    const auto done = simulation_.run_for(duration);
    EXPECT_TRUE(done) << done.error().message;
    settle();
  }
  void run_for_seconds(int64_t seconds) { run_for(std::chrono::seconds(seconds)); }
  void restart() { restart_cluster_actors(simulation_, actors_, options_); }

  [[nodiscard]] bool exists(const api::ObjectKey& key) const { return server_.get(key) != nullptr; }
  // The object; an empty one if there is none.
  [[nodiscard]] Stored get(const api::ObjectKey& key) const {
    Stored found = server_.get(key);
    return found != nullptr ? found : std::make_shared<const json::value>();
  }
  [[nodiscard]] std::string phase(const std::string& pod) const {
    return std::string(string_at(*get(pod_key(pod)), {"status", "phase"}));
  }
  [[nodiscard]] std::string node_of(const std::string& pod) const {
    return std::string(string_at(*get(pod_key(pod)), {"spec", "nodeName"}));
  }
  // A field of a Job's status, as JSON; "" if it is absent.
  [[nodiscard]] std::string job_status(const std::string& job, std::string_view field) const {
    const Stored found = get(job_key(job));
    const json::value* value = find_at(*found, {"status", field});
    return value == nullptr ? "" : json::serialize(*value);
  }
  // "Type=Status(reason)" of all conditions, in their order.
  [[nodiscard]] std::vector<std::string> conditions(const api::ObjectKey& key) const {
    std::vector<std::string> texts;
    const Stored found = get(key);
    for (const json::value& condition : list_field(*found, {"status", "conditions"})) {
      texts.push_back(std::string(string_at(condition, {"type"})) + "=" +
                      std::string(string_at(condition, {"status"})) + "(" +
                      std::string(string_at(condition, {"reason"})) + ")");
    }
    return texts;
  }
  [[nodiscard]] std::string condition(const api::ObjectKey& key, std::string_view type,
                                      std::string_view field = "status") const {
    const Stored found = get(key);
    const json::object* read = find_condition(*found, type);
    return read == nullptr ? "" : std::string(string_field(*read, field));
  }
  [[nodiscard]] std::vector<Stored> pods() const { return server_.list(api::Kind::kPod).items; }

  static api::ObjectKey pod_key(const std::string& name) {
    return {api::Kind::kPod, "default", name};
  }
  static api::ObjectKey job_key(const std::string& name) {
    return {api::Kind::kJob, "default", name};
  }
  static api::ObjectKey node_key(const std::string& name) { return {api::Kind::kNode, "", name}; }

  Simulation simulation_{*parse_time("2026-01-31T08:00:00Z"), 1};
  ApiServer& server_ = simulation_.server();
  ClusterOptions options_;
  ClusterActors actors_;
};

}  // namespace phalanx::sim

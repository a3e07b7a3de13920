// What people hand to the offline commands: files, folders or standard input with the objects of a
// cluster as kubectl prints them, YAML or JSON.
//
// Lists are unwrapped. Objects of kinds that nobody here reads are counted and skipped. An object
// that is read must be well formed: the error names file, line, object, field and reason. An object
// may stand only once in all of the input, so that nothing is counted twice by mistake.
//
// Cost: one pass; a file's documents are dropped as soon as they are decoded. 10 000 nodes take
// half a second as JSON, and some thirty times that as YAML.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/topology.h"
#include "api/topology_assignment.h"
#include "api/workload.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/live_cluster.h"

namespace phalanx::cli {

// A document that is passed on undecoded, and where it stood: "file: line 3: Gang ml/llm".
struct SourcedDocument {
  json::value value;
  std::string origin;
};

// A pod set of an admitted workload: so many pods with these requests in these domains.
struct BookedPodSet {
  std::string pod_set;
  api::ResourceAmounts requests;  // per pod
  api::TopologyAssignment assignment;
};

struct InputWorkload {
  api::Workload object;
  // Only of workloads that hold capacity, and only pod sets that have a topology assignment.
  std::vector<BookedPodSet> booked;
};

struct ClusterInput {
  std::vector<api::Node> nodes;
  std::vector<api::Pod> pods;
  std::vector<api::Topology> topologies;
  std::vector<InputWorkload> workloads;
  std::vector<api::Job> jobs;  // in input order
  std::vector<SourcedDocument> gangs;
  std::map<std::string, size_t> skipped;  // kinds that nobody reads, with how many there were
};

// "namespace/name".
template <typename Object>
std::string full_name(const Object& object) {
  return object.namespace_ + "/" + object.name;
}

// Reads everything the paths name: files, folders (their .yaml, .yml and .json files, gzipped or
// not, in name order, without subfolders), "-" for standard input. `progress` is told about each
// file before it is read.
Result<ClusterInput> read_cluster_input(const std::vector<std::string>& paths,
                                        const std::function<void(const std::string&)>& progress);

// The nodes, pods, topologies and workloads of a running cluster, together with what the paths
// name.
Result<ClusterInput> read_cluster_input(const LiveArguments& live,
                                        const std::vector<std::string>& paths,
                                        const std::function<void(const std::string&)>& progress);

// The same for a text at hand; `name` stands for it in errors.
Result<ClusterInput> parse_cluster_input(std::string_view text, const std::string& name);

// "skipped 3 objects that placement does not read: 2 Service, 1 Secret"; empty if there are none.
std::string skipped_remark(const ClusterInput& input);

}  // namespace phalanx::cli

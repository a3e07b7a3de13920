#include "cli/cluster_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <type_traits>

#include "base/file.h"
#include "base/yaml.h"
#include "topology/assignment_encoding.h"

namespace phalanx::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNotAnObject =
    "every document must be a Kubernetes object, as kubectl get -o yaml prints it";

bool is_manifest(const fs::path& path) {
  fs::path extension = path.extension();
  if (extension == ".gz") extension = path.stem().extension();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

Result<std::vector<std::string>> files_of_folder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (is_manifest(entry->path()) && !entry->is_directory(ignored)) {
      files.push_back(entry->path().string());
    }
  }
  if (code) return fail(fmt::format("{}: cannot list the folder: {}", folder, code.message()));
  if (files.empty()) {
    return fail(fmt::format(
        "{}: the folder holds no .yaml, .yml or .json file; name the files (subfolders are not "
        "looked into)",
        folder));
  }
  std::ranges::sort(files);
  return files;
}

Result<std::vector<std::string>> expand(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path != "-" && fs::is_directory(path, ignored)) {
      ASSIGN_OR_RETURN(const std::vector<std::string> inside, files_of_folder(path));
      files.insert(files.end(), inside.begin(), inside.end());
    } else if (path == "-" && std::ranges::find(files, "-") != files.end()) {
      return fail("-: standard input is named twice, but can be read only once");
    } else if (path != "-" && !fs::exists(path, ignored)) {
      return fail(fmt::format(
          "{}: there is no such file or folder; name one, or - for standard input", path));
    } else {
      files.push_back(path);
    }
  }
  return files;
}

std::string string_field(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

// What is read of an object before it is known what it is.
struct Header {
  std::string api_version;
  std::string kind;
  std::string namespace_;
  std::string name;

  [[nodiscard]] std::string group() const {
    const size_t slash = api_version.find('/');
    return slash == std::string::npos ? "" : api_version.substr(0, slash);
  }
  // "Node gpu-1" or "Job ml/train".
  [[nodiscard]] std::string text() const {
    if (name.empty()) return kind;
    return namespace_.empty() ? fmt::format("{} {}", kind, name)
                              : fmt::format("{} {}/{}", kind, namespace_, name);
  }
};

Header header_of(const json::object& object) {
  Header header{string_field(object, "apiVersion"), string_field(object, "kind"), "", ""};
  if (const json::value* metadata = object.if_contains("metadata");
      metadata != nullptr && metadata->is_object()) {
    header.name = string_field(metadata->get_object(), "name");
    header.namespace_ = string_field(metadata->get_object(), "namespace");
  }
  return header;
}

class DocumentReader {
 public:
  explicit DocumentReader(ClusterInput& input) : input_(input) {}

  // `fallback` is what an element of a typed list (NodeList) is if it does not say so itself.
  Result<void> add(const json::value& value, const std::string& place, const Header& fallback) {
    if (!value.is_object()) return fail(fmt::format("{}: {}", place, kNotAnObject));
    Header header = header_of(value.get_object());
    if (header.kind.empty()) header.kind = fallback.kind;
    if (header.api_version.empty()) header.api_version = fallback.api_version;
    if (header.kind.empty()) {
      return fail(fmt::format("{}: kind: is required; {}", place, kNotAnObject));
    }
    if (header.api_version.empty()) {
      return fail(
          fmt::format("{}: {}: apiVersion: is required; {}", place, header.text(), kNotAnObject));
    }
    if (header.kind.ends_with("List") && value.get_object().contains("items")) {
      return add_items(value.get_object(), place, header);
    }
    return add_object(value, place + ": " + header.text(), header);
  }

 private:
  Result<void> add_items(const json::object& list, const std::string& place, const Header& header) {
    const json::value& items = list.at("items");
    if (items.is_null()) return {};
    if (!items.is_array()) {
      return fail(fmt::format("{}: {}: items: must be a list", place, header.kind));
    }
    Header element;
    if (header.kind != "List") {
      element.kind = header.kind.substr(0, header.kind.size() - std::string_view("List").size());
      element.api_version = header.api_version;
    }
    size_t index = 0;
    for (const json::value& item : items.get_array()) {
      RETURN_IF_ERROR(add(item, fmt::format("{}: items[{}]", place, index++), element));
    }
    return {};
  }

  Result<void> add_object(const json::value& value, const std::string& place,
                          const Header& header) {
    const std::string group = header.group();
    if (group.empty() && header.kind == "Node") {
      return read(value, place, api::read_node, [&](api::Node node) {
        return once("Node " + node.name, place, node.name, input_.nodes, std::move(node));
      });
    }
    if (group.empty() && header.kind == "Pod") {
      return read(value, place, api::read_pod, [&](api::Pod pod) {
        return once("Pod " + full_name(pod), place, pod.name, input_.pods, std::move(pod));
      });
    }
    if (group == "batch" && header.kind == "Job") {
      return read(value, place, api::read_job, [&](api::Job job) {
        if (job.name_is_prefix) {
          job.name += std::to_string(++generated_["Job " + full_name(job)]);
        }
        return once("Job " + full_name(job), place, job.name, input_.jobs, std::move(job));
      });
    }
    if (header.kind == "Topology" && (group == "kueue.x-k8s.io" || group == "kai.scheduler")) {
      return read(value, place, api::read_topology,
                  [&](api::Topology topology) { return add_topology(std::move(topology), place); });
    }
    if (group == "kueue.x-k8s.io" && header.kind == "Workload") {
      return read(value, place, api::read_workload,
                  [&](api::Workload workload) { return add_workload(std::move(workload), place); });
    }
    if (group == "phalanx.dev" && header.kind == "Gang") {
      return once(header.text(), place, header.name, input_.gangs, {value, place});
    }
    ++input_.skipped[header.kind];
    return {};
  }

  template <typename Read, typename Add>
  static Result<void> read(const json::value& value, const std::string& place, Read read_object,
                           Add add) {
    DecodeStatus status;
    auto object = read_object(JsonReader(&value, "", status));
    if (status.error()) return within(place, *status.error());
    return add(std::move(object));
  }

  // Takes the object by reference, so that `name` may be a part of it.
  template <typename Object>
  Result<void> once(const std::string& key, const std::string& place, const std::string& name,
                    std::vector<Object>& objects, std::type_identity_t<Object>&& object) {
    if (name.empty()) return fail(place + ": metadata.name: is required");
    if (const auto [entry, is_new] = seen_.emplace(key, place); !is_new) {
      return fail(fmt::format("{}: stands twice in the input, first at {}; remove one of them",
                              place, entry->second));
    }
    objects.push_back(std::move(object));
    return {};
  }

  // Kueue and KAI may describe the same topology on one cluster: that is one, not two.
  Result<void> add_topology(api::Topology topology, const std::string& place) {
    const auto known = std::ranges::find(input_.topologies, topology.name, &api::Topology::name);
    if (known != input_.topologies.end() && known->levels == topology.levels) return {};
    return once("Topology " + topology.name, place, topology.name, input_.topologies,
                std::move(topology));
  }

  Result<void> add_workload(api::Workload workload, const std::string& place) {
    InputWorkload result{std::move(workload), {}};
    const api::Workload& object = result.object;
    if (object.holds_capacity()) {
      for (const api::PodSetAssignment& assignment : *object.admission) {
        if (!assignment.topology_assignment) continue;
        const api::WorkloadPodSet* pod_set = object.find_pod_set(assignment.pod_set);
        if (pod_set == nullptr) {
          return fail(
              fmt::format("{}: {}: belongs to the pod set \"{}\", which spec.podSets does not hold",
                          place, assignment.path, assignment.pod_set));
        }
        auto decoded =
            topology::decode_assignment(*assignment.topology_assignment, assignment.path);
        if (!decoded) return within(place, decoded.error());
        result.booked.push_back(
            {assignment.pod_set, pod_set->pod_template.spec.requests, std::move(*decoded)});
      }
    }
    return once("Workload " + full_name(object), place, object.name, input_.workloads,
                std::move(result));
  }

  ClusterInput& input_;
  std::map<std::string, std::string> seen_;  // "Kind namespace/name" to its place
  std::map<std::string, size_t> generated_;  // Jobs that have a generateName, by prefix
};

Result<void> add_text(DocumentReader& reader, std::string_view text, const std::string& name) {
  auto documents = parse_documents(text);
  if (!documents) return within(name, documents.error());
  for (const Document& document : *documents) {
    RETURN_IF_ERROR(
        reader.add(document.value, fmt::format("{}: line {}", name, document.line), {}));
  }
  return {};
}

}  // namespace

Result<ClusterInput> read_cluster_input(const std::vector<std::string>& paths,
                                        const std::function<void(const std::string&)>& progress) {
  ClusterInput input;
  DocumentReader reader(input);
  ASSIGN_OR_RETURN(const std::vector<std::string> files, expand(paths));
  for (const std::string& file : files) {
    progress(file);
    ASSIGN_OR_RETURN(const std::string text, read_file(file));
    RETURN_IF_ERROR(add_text(reader, text, file == "-" ? "standard input" : file));
  }
  return input;
}

Result<ClusterInput> parse_cluster_input(std::string_view text, const std::string& name) {
  ClusterInput input;
  DocumentReader reader(input);
  RETURN_IF_ERROR(add_text(reader, text, name));
  return input;
}

std::string skipped_remark(const ClusterInput& input) {
  constexpr size_t kMaxKinds = 8;
  size_t total = 0;
  size_t named = 0;
  std::string kinds;
  for (const auto& [kind, count] : input.skipped) {
    total += count;
    if (named++ < kMaxKinds) {
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
    }
  }
  if (total == 0) return "";
  if (named > kMaxKinds) kinds += fmt::format(" and {} other kinds", named - kMaxKinds);
  return fmt::format("skipped {} object{} that placement does not read: {}", total,
                     total == 1 ? "" : "s", kinds);
}

}  // namespace phalanx::cli

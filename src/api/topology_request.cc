#include "api/topology_request.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <set>

namespace phalanx::api {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
constexpr size_t kMaxLayers = 3;

void check_exclusive(const TopologyRequest& request, const std::string& path,
                     DecodeStatus& status) {
  const int modes =
      (request.required ? 1 : 0) + (request.preferred ? 1 : 0) + (request.unconstrained ? 1 : 0);
  if (modes > 1) {
    status.report(path, "required, preferred and unconstrained exclude one another; keep one");
  }
  if (!request.slice_constraints.empty() &&
      (request.slice_required_topology || request.slice_size)) {
    status.report(path,
                  "the multi-layer slice constraints and the single slice topology and size "
                  "exclude one another; keep one form");
  }
}

std::vector<SliceConstraint> read_constraints(const JsonReader& reader, std::string_view field,
                                              int64_t least_size) {
  std::vector<SliceConstraint> constraints;
  reader.each(field, [&](const json::value& value, const std::string& path) {
    const JsonReader layer(&value, path, reader.status());
    layer.allow_only({"topology", "size"});
    if (!layer.has("size")) layer.report("size", "is required");
    constraints.push_back({layer.required_string("topology"),
                           static_cast<int32_t>(layer.integer("size", 0, least_size, kMaxSize))});
  });
  return constraints;
}

}  // namespace

std::vector<SliceConstraint> TopologyRequest::constraints() const {
  if (!slice_constraints.empty()) return slice_constraints;
  if (slice_required_topology) return {{*slice_required_topology, slice_size.value_or(0)}};
  return {};
}

TopologyRequest read_topology_request(const JsonReader& reader) {
  reader.allow_only({"required", "preferred", "unconstrained", "podSetSliceRequiredTopology",
                     "podSetSliceSize", "podsetSliceRequiredTopologyConstraints", "podSetGroupName",
                     "podIndexLabel", "subGroupIndexLabel", "subGroupCount"});
  TopologyRequest request;
  request.required = reader.optional_string("required");
  request.preferred = reader.optional_string("preferred");
  request.unconstrained = reader.boolean("unconstrained", false);
  request.slice_required_topology = reader.optional_string("podSetSliceRequiredTopology");
  if (auto size = reader.optional_integer("podSetSliceSize", 0, kMaxSize)) {
    request.slice_size = static_cast<int32_t>(*size);
  }
  request.slice_constraints = read_constraints(reader, "podsetSliceRequiredTopologyConstraints", 0);
  request.group_name = reader.optional_string("podSetGroupName");
  check_exclusive(request, reader.path(), reader.status());
  return request;
}

std::optional<TopologyRequest> topology_request_from_annotations(
    const std::map<std::string, std::string>& annotations, const std::string& path,
    DecodeStatus& status) {
  TopologyRequest request;
  bool any = false;
  const auto find = [&](std::string_view key) -> const std::string* {
    const auto found = annotations.find(std::string(key));
    if (found == annotations.end()) return nullptr;
    any = true;
    return &found->second;
  };
  const auto at = [&](std::string_view key) { return fmt::format("{}[{}]", path, key); };

  if (const auto* value = find("kueue.x-k8s.io/podset-required-topology"))
    request.required = *value;
  if (const auto* value = find("kueue.x-k8s.io/podset-preferred-topology")) {
    request.preferred = *value;
  }
  constexpr std::string_view kUnconstrained = "kueue.x-k8s.io/podset-unconstrained-topology";
  if (const auto* value = find(kUnconstrained)) {
    if (*value != "true" && *value != "false") {
      status.report(at(kUnconstrained), fmt::format("\"{}\" is not true or false", *value));
    }
    request.unconstrained = *value == "true";
  }
  if (const auto* value = find("kueue.x-k8s.io/podset-slice-required-topology")) {
    request.slice_required_topology = *value;
  }
  constexpr std::string_view kSize = "kueue.x-k8s.io/podset-slice-size";
  if (const auto* value = find(kSize)) {
    int32_t size = 0;
    const char* end = value->data() + value->size();
    const auto [rest, code] = std::from_chars(value->data(), end, size);
    if (code != std::errc() || rest != end || size < 1) {
      status.report(at(kSize), fmt::format("\"{}\" is not a whole number of at least 1", *value));
    }
    request.slice_size = size;
    if (!request.slice_required_topology) {
      status.report(at(kSize), "needs kueue.x-k8s.io/podset-slice-required-topology beside it");
    }
  } else if (request.slice_required_topology) {
    status.report(at("kueue.x-k8s.io/podset-slice-required-topology"),
                  "needs kueue.x-k8s.io/podset-slice-size beside it");
  }
  constexpr std::string_view kLayers = "kueue.x-k8s.io/podset-slice-required-topology-constraints";
  if (const auto* value = find(kLayers)) {
    auto parsed = parse_json(*value);
    if (!parsed) {
      status.report(at(kLayers), parsed.error().message);
    } else {
      const json::value wrapped = json::object{{"layers", *parsed}};
      const JsonReader reader(&wrapped, at(kLayers), status);
      request.slice_constraints = read_constraints(reader, "layers", 1);
      const size_t count = request.slice_constraints.size();
      if (status.ok() && (count < 1 || count > kMaxLayers)) {
        status.report(at(kLayers), fmt::format("holds {} layers, but must hold 1 to 3", count));
      }
      std::set<std::string> seen;
      for (const SliceConstraint& layer : request.slice_constraints) {
        if (!seen.insert(layer.topology).second) {
          status.report(at(kLayers), fmt::format("names the level {} twice", layer.topology));
        }
      }
    }
  }
  if (const auto* value = find("kueue.x-k8s.io/podset-group-name")) request.group_name = *value;
  constexpr std::string_view kPlacement = "phalanx.dev/placement";
  if (const auto* value = find(kPlacement)) {
    if (*value != "balanced") {
      status.report(at(kPlacement), fmt::format("\"{}\" is not balanced", *value));
    }
    request.balanced = true;
  }
  check_exclusive(request, path, status);
  if (!any) return std::nullopt;
  return request;
}

}  // namespace phalanx::api

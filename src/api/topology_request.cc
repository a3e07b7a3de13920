#include "api/topology_request.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <set>

#include "base/printable.h"

namespace phalanx::api {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
constexpr size_t kMaxLayers = 3;
constexpr size_t kLongestName = 253 + 1 + 63;  // of a label's key

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

json::object topology_request_json(const TopologyRequest& request) {
  json::object object;
  if (request.required) object["required"] = *request.required;
  if (request.preferred) object["preferred"] = *request.preferred;
  if (request.unconstrained) object["unconstrained"] = true;
  if (request.group_name) object["podSetGroupName"] = *request.group_name;
  if (request.slice_required_topology) {
    object["podSetSliceRequiredTopology"] = *request.slice_required_topology;
  }
  if (request.slice_size) object["podSetSliceSize"] = *request.slice_size;
  if (!request.slice_constraints.empty()) {
    json::array layers;
    for (const SliceConstraint& layer : request.slice_constraints) {
      layers.push_back(json::object{{"topology", layer.topology}, {"size", layer.size}});
    }
    object["podsetSliceRequiredTopologyConstraints"] = std::move(layers);
  }
  return object;
}

namespace {

// The annotations of one pod template, on their way to a request.
class AnnotationReader {
 public:
  AnnotationReader(const std::map<std::string, std::string>& annotations, const std::string& path,
                   DecodeStatus& status)
      : annotations_(annotations), path_(path), status_(status) {}

  std::optional<TopologyRequest> read() {
    request_.required = name("kueue.x-k8s.io/podset-required-topology");
    request_.preferred = name("kueue.x-k8s.io/podset-preferred-topology");
    request_.group_name = name("kueue.x-k8s.io/podset-group-name");
    read_unconstrained();
    read_slices();
    read_layers();
    read_placement();
    check_exclusive(request_, path_, status_);
    if (!any_) return std::nullopt;
    return request_;
  }

 private:
  std::optional<std::string> value(std::string_view key) {
    const auto found = annotations_.find(std::string(key));
    if (found == annotations_.end()) return std::nullopt;
    any_ = true;
    return found->second;
  }

  // Levels are keys of labels and groups have names: nothing longer can be meant, and whatever is
  // kept is quoted by whoever does not find it.
  std::optional<std::string> name(std::string_view key) {
    auto text = value(key);
    if (!text || text->size() <= kLongestName) return text;
    report(key, fmt::format("\"{}\" is too long for a name: it has {} characters, {} are the most",
                            excerpt(*text), text->size(), kLongestName));
    return std::nullopt;
  }

  void report(std::string_view key, const std::string& reason) {
    status_.report(fmt::format("{}[{}]", path_, key), reason);
  }

  void read_unconstrained() {
    constexpr std::string_view kKey = "kueue.x-k8s.io/podset-unconstrained-topology";
    const auto text = value(kKey);
    if (!text) return;
    if (*text != "true" && *text != "false") {
      report(kKey, fmt::format("\"{}\" is not true or false", excerpt(*text)));
    }
    request_.unconstrained = *text == "true";
  }

  void read_slices() {
    constexpr std::string_view kTopology = "kueue.x-k8s.io/podset-slice-required-topology";
    constexpr std::string_view kSize = "kueue.x-k8s.io/podset-slice-size";
    request_.slice_required_topology = name(kTopology);
    const auto text = value(kSize);
    if (!text) {
      if (request_.slice_required_topology) {
        report(kTopology, fmt::format("needs {} beside it", kSize));
      }
      return;
    }
    int32_t size = 0;
    const char* end = text->data() + text->size();
    const auto [rest, code] = std::from_chars(text->data(), end, size);
    if (code != std::errc() || rest != end || size < 1) {
      report(kSize, fmt::format("\"{}\" is not a whole number of at least 1", excerpt(*text)));
    }
    request_.slice_size = size;
    if (!request_.slice_required_topology) {
      report(kSize, fmt::format("needs {} beside it", kTopology));
    }
  }

  void read_layers() {
    constexpr std::string_view kKey = "kueue.x-k8s.io/podset-slice-required-topology-constraints";
    const auto text = value(kKey);
    if (!text) return;
    auto parsed = parse_json(*text);
    if (!parsed) return report(kKey, parsed.error().message);
    const json::value wrapped = json::object{{"layers", *parsed}};
    const JsonReader reader(&wrapped, fmt::format("{}[{}]", path_, kKey), status_);
    request_.slice_constraints = read_constraints(reader, "layers", 1);
    const size_t count = request_.slice_constraints.size();
    if (status_.ok() && (count < 1 || count > kMaxLayers)) {
      report(kKey, fmt::format("holds {} layers, but must hold 1 to {}", count, kMaxLayers));
    }
    std::set<std::string> seen;
    for (const SliceConstraint& layer : request_.slice_constraints) {
      if (layer.topology.size() > kLongestName) {
        report(kKey, fmt::format("names the level \"{}\", which is too long for the key of a label",
                                 excerpt(layer.topology)));
      }
      if (!seen.insert(layer.topology).second) {
        report(kKey, fmt::format("names the level {} twice", excerpt(layer.topology)));
      }
    }
  }

  void read_placement() {
    constexpr std::string_view kKey = kPlacementAnnotation;
    const auto text = value(kKey);
    if (!text) return;
    if (*text != kBalancedPlacement)
      report(kKey, fmt::format("\"{}\" is not balanced", excerpt(*text)));
    request_.balanced = true;
  }

  const std::map<std::string, std::string>& annotations_;
  const std::string& path_;
  DecodeStatus& status_;
  TopologyRequest request_;
  bool any_ = false;
};

}  // namespace

std::optional<TopologyRequest> topology_request_from_annotations(
    const std::map<std::string, std::string>& annotations, const std::string& path,
    DecodeStatus& status) {
  return AnnotationReader(annotations, path, status).read();
}

}  // namespace phalanx::api

// Random documents of the kinds of deploy/crds, from the schemas themselves: whatever field a
// version has, some document has it. Included by tests only.
//
// The documents are valid in their own version. Those of document() hold no value that the other
// version forbids where it has the same field: what remains are the differences of the versions.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admission/deploy_files.h"
#include "admission/names.h"
#include "admission/testing.h"
#include "base/json_path.h"
#include "topology/assignment_encoding.h"

namespace phalanx::admission::testing {

using OpenApiSchemas = std::map<std::pair<std::string, std::string>, json::value>;

// By kind and version, of the kinds that have a conversion webhook.
inline const OpenApiSchemas& open_api_schemas() {
  static const OpenApiSchemas kSchemas = [] {
    OpenApiSchemas schemas;
    for (const EmbeddedFile& file : crds()) {
      const json::value crd = yaml(file.text());
      if (find_at(crd, {"spec", "conversion"}) == nullptr) continue;
      const std::string kind(string_at(crd, {"spec", "names", "kind"}));
      for (const json::value& version : *array_at(crd, {"spec", "versions"})) {
        schemas[{kind, std::string(string_at(version, {"name"}))}] =
            *find_at(version, {"schema", "openAPIV3Schema"});
      }
    }
    return schemas;
  }();
  return kSchemas;
}

class RandomDocuments {
 public:
  explicit RandomDocuments(uint64_t seed) : random_(seed) {}

  json::value document(const std::string& kind, const std::string& version) {
    const std::string other = version == "v1beta1" ? "v1beta2" : "v1beta1";
    return document_within(kind, version, &open_api_schemas().at({kind, other}));
  }

  // One that may be too long, too large or of other words for the other version.
  json::value document_of_one_version(const std::string& kind, const std::string& version) {
    return document_within(kind, version, nullptr);
  }

  size_t below(size_t limit) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(random_);
  }

  template <typename Value>
  Value pick(std::vector<Value> values) {
    return values[below(values.size())];
  }

 private:
  json::value document_within(const std::string& kind, const std::string& version,
                              const json::value* other) {
    fullness_ = pick<int>({1, 3, 7, 10});
    json::value document = value(open_api_schemas().at({kind, version}), other, "");
    document.get_object()["apiVersion"] = "kueue.x-k8s.io/" + version;
    document.get_object()["kind"] = kind;
    json::value metadata = json::object{{"name", "sample"}, {"uid", "1"}};
    if (below(3) == 0) {
      metadata.get_object()["annotations"] = json::object{{"example.com/a", words(kTexts)}};
    }
    document.get_object()["metadata"] = std::move(metadata);
    return document;
  }

  static constexpr std::string_view kLongText =
      "example.com/a-name-that-is-longer-than-the-63-characters-of-v1beta2";
  static constexpr std::string_view kTexts[] = {"a",
                                                "b",
                                                "c",
                                                "gpu",
                                                "team-a",
                                                "x.example.com",
                                                "example.com/rack",
                                                "Some",
                                                "main",
                                                "7",
                                                "a\"quote\\ and ü",
                                                "a text with spaces",
                                                kLongText};
  static constexpr std::string_view kQuantities[] = {"1", "500m", "16Gi", "0", "2.5", "1e3"};
  static constexpr std::string_view kTimes[] = {"2026-01-01T00:00:00Z", "2026-11-18T03:04:05Z"};

  template <size_t kCount>
  std::string words(const std::string_view (&texts)[kCount]) {
    return std::string(texts[below(kCount)]);
  }

  static const json::value* keyword(const json::value& schema, std::string_view name) {
    return find_field(schema.as_object(), name);
  }

  // The stricter one of a limit that both versions may have.
  static int64_t limit(const json::value& schema, const json::value* other, std::string_view name,
                       bool highest) {
    const int64_t none = highest ? 1000 : -1000;
    const int64_t own = integer_at(schema, {name}).value_or(none);
    const int64_t its = other == nullptr ? own : integer_at(*other, {name}).value_or(own);
    return highest ? std::min(own, its) : std::max(own, its);
  }

  json::value value(const json::value& schema, const json::value* other, std::string_view name) {
    const json::value* allowed = keyword(schema, "enum");
    if (allowed == nullptr && other != nullptr) allowed = keyword(*other, "enum");
    if (allowed != nullptr) return allowed->as_array()[below(allowed->as_array().size())];
    if (keyword(schema, "x-kubernetes-int-or-string") != nullptr) {
      if (below(3) == 0) return static_cast<int64_t>(below(100));
      return json::value(words(kQuantities));
    }
    const std::string_view type = string_at(schema, {"type"});
    if (type == "object") return object(schema, other, name);
    if (type == "array") return list(schema, other, name);
    if (type == "boolean") return below(2) == 0;
    if (type == "integer" || type == "number") {
      const int64_t low = std::max<int64_t>(limit(schema, other, "minimum", false), 0);
      const int64_t high = std::min<int64_t>(limit(schema, other, "maximum", true), low + 5);
      return low + static_cast<int64_t>(below(static_cast<size_t>(high - low + 1)));
    }
    return json::value(text(schema, other));
  }

  std::string text(const json::value& schema, const json::value* other) {
    if (string_at(schema, {"format"}) == "date-time") return words(kTimes);
    const Pattern* pattern = find_pattern(string_at(schema, {"pattern"}));
    const auto longest = static_cast<size_t>(limit(schema, other, "maxLength", true));
    for (;;) {
      std::string candidate = words(kTexts);
      if (candidate.size() > longest) continue;
      if (pattern == nullptr || pattern->matches(candidate)) return candidate;
    }
  }

  json::value object(const json::value& schema, const json::value* other, std::string_view name) {
    if (name == "topologyAssignment" && below(2) == 0) return assignment(schema);
    json::object result;
    std::set<std::string, std::less<>> required;
    for (const json::value* from : {&schema, other}) {
      const json::array* names = from == nullptr ? nullptr : array_at(*from, {"required"});
      if (names == nullptr) continue;
      for (const json::value& one : *names) required.emplace(one.as_string());
    }
    if (const json::object* properties = object_at(schema, {"properties"})) {
      for (const auto& [key, inner] : *properties) {
        const bool wanted =
            required.contains(std::string_view(key)) || below(10) < static_cast<size_t>(fullness_);
        if (!wanted) continue;
        const json::value* counterpart =
            other == nullptr ? nullptr : find_at(*other, {"properties", key});
        result[key] = value(inner, counterpart, key);
      }
    }
    if (const json::value* inner = keyword(schema, "additionalProperties");
        inner != nullptr && inner->is_object()) {
      for (size_t i = below(3); i > 0; --i) {
        result["key-" + std::to_string(i)] = value(*inner, nullptr, "");
      }
    }
    return result;
  }

  json::value list(const json::value& schema, const json::value* other, std::string_view name) {
    const auto low =
        std::max(static_cast<size_t>(std::max<int64_t>(limit(schema, other, "minItems", false), 0)),
                 // An empty list of conditions is the same as none.
                 size_t{name == "conditions" ? 1U : 0U});
    const auto high =
        std::min(static_cast<size_t>(limit(schema, other, "maxItems", true)), low + 3);
    const json::value* inner_other = other == nullptr ? nullptr : find_at(*other, {"items"});
    json::array result;
    std::set<std::string> seen;
    const size_t count = low + below(high - low + 1);
    for (int attempt = 0; result.size() < count && attempt < 100; ++attempt) {
      json::value element = value(schema.at("items"), inner_other, "");
      if (seen.insert(identity(schema, other, element)).second) {
        result.push_back(std::move(element));
      }
    }
    return result;
  }

  // By what an element may not stand twice in its list.
  static std::string identity(const json::value& schema, const json::value* other,
                              const json::value& element) {
    for (const json::value* from : {&schema, other}) {
      const json::array* keys =
          from == nullptr ? nullptr : array_at(*from, {"x-kubernetes-list-map-keys"});
      if (keys == nullptr) continue;
      std::string text;
      for (const json::value& key : *keys) {
        const json::value* field = find_at(element, {std::string_view(key.as_string())});
        text += field == nullptr ? "\n" : json::serialize(*field) + "\n";
      }
      return text;
    }
    const std::string_view name = string_at(element, {"name"});
    return name.empty() ? json::serialize(element) : std::string(name);
  }

  // A good one; what the schema alone says is malformed most of the time.
  json::value assignment(const json::value& schema) {
    api::TopologyAssignment assignment;
    for (size_t i = 1 + below(3); i > 0; --i) {
      assignment.levels.push_back("level-" + std::to_string(i));
    }
    for (size_t i = 1 + below(6); i > 0; --i) {
      api::DomainAssignment domain;
      for (size_t level = 0; level < assignment.levels.size(); ++level) {
        domain.values.push_back("host-" + std::to_string(below(20)) + "-" + std::to_string(i));
      }
      domain.count = static_cast<int32_t>(1 + below(9));
      assignment.domains.push_back(std::move(domain));
    }
    if (find_at(schema, {"properties", "domains"}) != nullptr) {
      return topology::encode_v1beta1(assignment);
    }
    // Others may slice otherwise than we do.
    const auto slicing = below(2) == 0 ? topology::Slicing::kFewest : topology::Slicing::kSmallest;
    return topology::encode_v1beta2(assignment, slicing).value();
  }

  std::mt19937_64 random_;
  int fullness_ = 5;  // of ten optional fields this many are there
};

}  // namespace phalanx::admission::testing

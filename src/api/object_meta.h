// metadata of an object: who it is, which version of it this is, and whom it belongs to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace phalanx::api {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
};

struct ObjectMeta {
  std::string name;
  std::string namespace_;
  std::string uid;
  uint64_t resource_version = 0;  // 0: not from an API server
  int64_t generation = 0;
  Time created{};
  std::optional<Time> deleted;  // deletionTimestamp: it is going
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> finalizers;
  std::vector<OwnerReference> owners;

  [[nodiscard]] const std::string* label(std::string_view key) const;
  [[nodiscard]] const std::string* annotation(std::string_view key) const;
  [[nodiscard]] bool has_finalizer(std::string_view finalizer) const;
  [[nodiscard]] const OwnerReference* controller() const;
  // "namespace/name", or the name alone.
  [[nodiscard]] std::string full_name() const;
};

// Of a whole object, not of its metadata field.
ObjectMeta read_object_meta(const JsonReader& object);

// Whether an object can be called that: a DNS name of at most 253 characters. For names that are
// read from where nobody checks them, such as annotations.
bool is_object_name(std::string_view text);

// Versions are numbers that grow, whatever the kind.
std::optional<uint64_t> parse_resource_version(std::string_view text);

// A time in a field; nullopt if it is absent.
std::optional<Time> read_time(const JsonReader& reader, std::string_view field);

}  // namespace phalanx::api

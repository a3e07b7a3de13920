#include "api/object_meta.h"

#include <algorithm>
#include <charconv>
#include <memory>

namespace phalanx::api {
namespace {

const std::string* find(const std::map<std::string, std::string>& map, std::string_view key) {
  const auto found = map.find(std::string(key));
  return found == map.end() ? nullptr : &found->second;
}

uint64_t read_resource_version(const JsonReader& metadata) {
  const std::string text = metadata.string("resourceVersion");
  if (text.empty()) return 0;
  const auto version = parse_resource_version(text);
  if (!version) metadata.report("resourceVersion", "\"" + text + "\" is no number");
  return version.value_or(0);
}

}  // namespace

bool is_object_name(std::string_view text) {
  constexpr size_t kLongest = 253;
  if (text.empty() || text.size() > kLongest) return false;
  const auto is_inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  char before = '.';
  for (const char c : text) {
    if (!is_inner(c) && (c != '-' || before == '.') && (c != '.' || !is_inner(before))) {
      return false;
    }
    before = c;
  }
  return is_inner(before);
}

std::optional<uint64_t> parse_resource_version(std::string_view text) {
  uint64_t version = 0;
  const char* begin = std::to_address(text.begin());
  const char* end = std::to_address(text.end());
  const auto [stop, code] = std::from_chars(begin, end, version);
  if (code != std::errc() || stop != end) return std::nullopt;
  return version;
}

const std::string* ObjectMeta::label(std::string_view key) const {
  return find(labels, key);
}

const std::string* ObjectMeta::annotation(std::string_view key) const {
  return find(annotations, key);
}

bool ObjectMeta::has_finalizer(std::string_view finalizer) const {
  return std::ranges::find(finalizers, finalizer) != finalizers.end();
}

const OwnerReference* ObjectMeta::controller() const {
  const auto found = std::ranges::find_if(owners, &OwnerReference::controller);
  return found == owners.end() ? nullptr : &*found;
}

std::string ObjectMeta::full_name() const {
  return namespace_.empty() ? name : namespace_ + "/" + name;
}

std::optional<Time> read_time(const JsonReader& reader, std::string_view field) {
  const auto text = reader.optional_string(field);
  if (!text) return std::nullopt;
  const auto time = parse_time(*text);
  if (time) return *time;
  reader.report(field, time.error().message);
  return std::nullopt;
}

ObjectMeta read_object_meta(const JsonReader& object) {
  const JsonReader metadata = object.object("metadata");
  ObjectMeta meta;
  meta.name = metadata.required_string("name");
  meta.namespace_ = metadata.string("namespace");
  meta.uid = metadata.string("uid");
  meta.resource_version = read_resource_version(metadata);
  meta.generation = metadata.integer("generation", 0, 0, INT64_MAX);
  meta.created = read_time(metadata, "creationTimestamp").value_or(Time{});
  meta.deleted = read_time(metadata, "deletionTimestamp");
  meta.labels = metadata.string_map("labels");
  meta.annotations = metadata.string_map("annotations");
  meta.finalizers = metadata.strings("finalizers");
  metadata.each("ownerReferences", [&](const json::value& value, const std::string& path) {
    const JsonReader owner(&value, path, object.status());
    meta.owners.push_back({owner.string("apiVersion"), owner.string("kind"), owner.string("name"),
                           owner.string("uid"), owner.boolean("controller", false)});
  });
  return meta;
}

}  // namespace phalanx::api

#include "sim/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/document.h"
#include "sim/names.h"

namespace phalanx::sim {
namespace {

constexpr size_t kMaxAnnotations = size_t{256} * 1024;
constexpr size_t kMaxObject = size_t{1536} * 1024;

// The longest prefix of a generated name: the suffix must still fit.
constexpr size_t kMaxGenerateName = 253 - 5;

void check_name(api::Kind kind, const json::object& metadata, Problems& problems) {
  const std::string_view name = string_field(metadata, "name");
  // Namespaces become parts of DNS names.
  const std::string problem =
      kind == api::Kind::kNamespace ? problem_of_dns_label(name) : problem_of_dns_subdomain(name);
  if (!problem.empty()) problems.add("metadata.name", problem);
}

// {string: string}, each pair looked at by `check`.
template <typename Check>
void check_strings(const json::object& metadata, const std::string& field, Problems& problems,
                   Check check) {
  const json::value* value = find_field(metadata, field);
  if (value == nullptr) return;
  const json::object* strings = value->if_object();
  if (strings == nullptr) {
    problems.add("metadata." + field, "must be an object of strings");
    return;
  }
  for (const auto& [key, text] : *strings) {
    const std::string path = fmt::format("metadata.{}[{}]", field, std::string_view(key));
    if (!text.is_string()) {
      problems.add(path, "must be a string; put the value in quotes");
      continue;
    }
    check(path, std::string_view(key), std::string_view(text.get_string()));
  }
}

void check_labels(const json::object& metadata, Problems& problems) {
  check_strings(metadata, "labels", problems,
                [&](const std::string& path, std::string_view key, std::string_view value) {
                  std::string problem = problem_of_qualified_name(key);
                  if (problem.empty()) problem = problem_of_label_value(value);
                  if (!problem.empty()) problems.add(path, problem);
                });
}

void check_annotations(const json::object& metadata, Problems& problems) {
  size_t total = 0;
  check_strings(metadata, "annotations", problems,
                [&](const std::string& path, std::string_view key, std::string_view value) {
                  // Unlike the keys of labels, those of annotations may have upper-case prefixes.
                  std::string lower(key);
                  std::ranges::transform(lower, lower.begin(), [](char c) {
                    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
                  });
                  const std::string problem = problem_of_qualified_name(lower);
                  if (!problem.empty()) problems.add(path, problem);
                  total += key.size() + value.size();
                });
  if (total > kMaxAnnotations) {
    problems.add("metadata.annotations",
                 fmt::format("hold {} bytes, but at most {} fit; keep large data elsewhere", total,
                             kMaxAnnotations));
  }
}

void check_finalizers(const json::object& metadata, Problems& problems) {
  const json::value* value = find_field(metadata, "finalizers");
  if (value == nullptr) return;
  const json::array* finalizers = value->if_array();
  if (finalizers == nullptr) {
    problems.add("metadata.finalizers", "must be a list of names");
    return;
  }
  for (size_t index = 0; index < finalizers->size(); ++index) {
    const std::string path = fmt::format("metadata.finalizers[{}]", index);
    const json::value& name = (*finalizers)[index];
    if (!name.is_string()) {
      problems.add(path, "must be a string");
      continue;
    }
    const std::string problem = problem_of_qualified_name(std::string_view(name.get_string()));
    if (!problem.empty()) problems.add(path, problem);
  }
}

void check_owners(const json::object& metadata, Problems& problems) {
  const json::value* value = find_field(metadata, "ownerReferences");
  if (value == nullptr) return;
  const json::array* owners = value->if_array();
  if (owners == nullptr) {
    problems.add("metadata.ownerReferences", "must be a list");
    return;
  }
  size_t controllers = 0;
  for (size_t index = 0; index < owners->size(); ++index) {
    const std::string path = fmt::format("metadata.ownerReferences[{}]", index);
    const json::object* owner = (*owners)[index].if_object();
    if (owner == nullptr) {
      problems.add(path, "must be an object");
      continue;
    }
    for (const std::string_view field : {"apiVersion", "kind", "name", "uid"}) {
      if (string_field(*owner, field).empty()) {
        problems.add(fmt::format("{}.{}", path, field), "is required");
      }
    }
    const json::value* controller = find_field(*owner, "controller");
    if (controller != nullptr && controller->is_bool() && controller->get_bool()) ++controllers;
  }
  if (controllers > 1) {
    problems.add("metadata.ownerReferences",
                 "only one owner can be the controller; set controller: true once");
  }
}

// Only the server changes these, and never after it has set them.
constexpr std::array<std::string_view, 4> kImmutable = {"name", "namespace", "uid",
                                                        "creationTimestamp"};
constexpr std::array<std::string_view, 2> kDeletion = {"deletionTimestamp",
                                                       "deletionGracePeriodSeconds"};

void check_new_finalizers(const json::value& old_document, const json::value& document,
                          Problems& problems) {
  const json::array* finalizers = array_at(document, {"metadata", "finalizers"});
  if (!is_deleted(old_document) || finalizers == nullptr) return;
  const json::array* known = array_at(old_document, {"metadata", "finalizers"});
  for (const json::value& finalizer : *finalizers) {
    if (known != nullptr && std::ranges::find(*known, finalizer) != known->end()) continue;
    problems.add("metadata.finalizers",
                 fmt::format("{} cannot be added, because the object is being deleted; finalizers "
                             "can only be removed now",
                             json::serialize(finalizer)));
  }
}

}  // namespace

void check_metadata(api::Kind kind, const json::value& document, Problems& problems) {
  const json::object* metadata = object_at(document, {"metadata"});
  if (metadata == nullptr) {
    problems.add("metadata", "must be an object with a name");
    return;
  }
  check_name(kind, *metadata, problems);
  if (!api::info(kind).namespaced && find_field(*metadata, "namespace") != nullptr) {
    problems.add("metadata.namespace",
                 fmt::format("a {} belongs to no namespace; remove it", api::info(kind).name));
  }
  if (string_field(*metadata, "generateName").size() > kMaxGenerateName) {
    problems.add("metadata.generateName",
                 fmt::format("is too long; use at most {} characters", kMaxGenerateName));
  }
  check_labels(*metadata, problems);
  check_annotations(*metadata, problems);
  check_finalizers(*metadata, problems);
  check_owners(*metadata, problems);
}

void check_metadata_update(const json::value& old_document, const json::value& document,
                           Problems& problems) {
  for (const std::string_view field : kImmutable) {
    if (same_value(find_at(old_document, {"metadata", field}),
                   find_at(document, {"metadata", field}))) {
      continue;
    }
    problems.add(fmt::format("metadata.{}", field),
                 "cannot be changed; create a new object instead");
  }
  for (const std::string_view field : kDeletion) {
    if (same_value(find_at(old_document, {"metadata", field}),
                   find_at(document, {"metadata", field}))) {
      continue;
    }
    problems.add(fmt::format("metadata.{}", field),
                 "is set by deleting the object, not by a write");
  }
  check_new_finalizers(old_document, document, problems);
}

void keep_system_metadata(const json::value& old_document, json::value& document) {
  json::object& metadata = ensure_object(document, {"metadata"});
  const auto keep_if_absent = [&](std::string_view field) {
    const json::value* old_value = find_at(old_document, {"metadata", field});
    if (old_value != nullptr && find_field(metadata, field) == nullptr) {
      metadata[field] = *old_value;
    }
  };
  for (const std::string_view field : kImmutable) keep_if_absent(field);
  for (const std::string_view field : kDeletion) keep_if_absent(field);
  for (const std::string_view field : {"generation", "resourceVersion", "managedFields"}) {
    set_or_erase(metadata, field, find_at(old_document, {"metadata", field}));
  }
  metadata.stable_erase("selfLink");
}

void drop_system_metadata(json::value& document) {
  json::object& metadata = ensure_object(document, {"metadata"});
  for (const std::string_view field :
       {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp",
        "deletionGracePeriodSeconds", "generation", "managedFields", "selfLink"}) {
    metadata.stable_erase(field);
  }
}

bool specification_changed(const json::value& old_document, const json::value& document) {
  const json::object& before = old_document.get_object();
  const json::object& after = document.get_object();
  const auto counts = [](std::string_view field) {
    return field != "metadata" && field != "status";
  };
  const auto differs = [&](const json::object& a, const json::object& b) {
    return std::ranges::any_of(a, [&](const json::key_value_pair& field) {
      return counts(field.key()) && !same_value(&field.value(), b.if_contains(field.key()));
    });
  };
  return differs(before, after) || differs(after, before);
}

void grow_generation(json::value& document) {
  const int64_t generation = integer_at(document, {"metadata", "generation"}).value_or(0);
  ensure_object(document, {"metadata"})["generation"] = generation + 1;
}

ApiResult<void> check_size(const api::ObjectKey& key, const json::value& document) {
  const std::optional<size_t> size = json_size(document);
  if (!size) return bad_request(key.text() + ": is nested too deeply to be an object of the API");
  if (*size <= kMaxObject) return {};
  return std::unexpected(
      ApiError{413, "RequestEntityTooLarge",
               fmt::format("{}: takes {} bytes, but at most {} can be stored; make it smaller",
                           key.text(), *size, kMaxObject)});
}

}  // namespace phalanx::sim

#include "admission/kueue_admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/conversion.h"
#include "admission/deploy_files.h"
#include "admission/document.h"
#include "admission/lossless_conversion.h"
#include "admission/rules.h"
#include "base/check.h"
#include "base/json_path.h"
#include "base/yaml.h"
#include "core/names.h"

namespace phalanx::admission {
namespace {

std::vector<Problem> one_problem(std::string path, std::string message) {
  return {Problem{std::move(path), std::move(message)}};
}

// What is wrong with the header of a document that claims to be of the kind.
std::vector<Problem> check_header(std::string_view kind, const json::value& object) {
  if (!object.is_object()) return one_problem("", "must be an object");
  const Place place(&object);
  if (place["kind"].text() != kind) {
    return one_problem("kind",
                       fmt::format("is \"{}\", but must be {}", place["kind"].text(), kind));
  }
  const std::string_view version = version_of(object);
  if (version != kStoredVersion && version != kOlderVersion) {
    return one_problem("apiVersion",
                       fmt::format("\"{}\" is not supported; use {}/{} or {}/{}",
                                   place["apiVersion"].text(), core::names::kKueueGroup,
                                   kStoredVersion, core::names::kKueueGroup, kOlderVersion));
  }
  return {};
}

// A document before it was changed, and what is wrong with it.
struct Before {
  json::value document;
  std::vector<Problem> problems;
};

// The problems that are new, or of a value that is. `find_before` is asked only if there are any.
template <typename FindBefore>
std::vector<Problem> only_new(std::vector<Problem> problems, const json::value& object,
                              const json::value* old_object, FindBefore find_before) {
  // Of more problems than are listed nobody knows which ones are new.
  if (old_object == nullptr || problems.empty() || problems.size() >= ProblemList::kMost) {
    return problems;
  }
  const Before before = find_before(*old_object);
  std::erase_if(problems, [&](const Problem& problem) {
    return std::ranges::find(before.problems, problem) != before.problems.end() &&
           same_value(value_at(before.document, problem.path), value_at(object, problem.path));
  });
  return problems;
}

std::vector<Problem> apply_schema(const Schema& schema, json::value& object, bool strict_fields) {
  ProblemList problems;
  if (strict_fields) problems.add_all(schema.unknown_fields(object));
  schema.prune(object);
  schema.default_fields(object);
  problems.add_all(schema.validate(object));
  return std::move(problems).take();
}

}  // namespace

Result<LoadedCrd> load_crd(std::string_view yaml) {
  ASSIGN_OR_RETURN(const std::vector<Document> documents, parse_documents(yaml));
  if (documents.size() != 1) return fail("a file of deploy/crds must hold one document");
  const Place spec = Place(&documents.front().value)["spec"];
  LoadedCrd crd{std::string(spec["names"]["kind"].text()), {}};
  if (crd.kind.empty()) return fail("spec.names.kind: is required");
  for (const Place& version : spec["versions"].elements()) {
    const Place open_api = version["schema"]["openAPIV3Schema"];
    if (!open_api.present()) return fail(open_api.path() + ": is required");
    auto schema = Schema::load(*open_api.value());
    if (!schema)
      return within(fmt::format("{} {}", crd.kind, version["name"].text()), schema.error());
    crd.schemas.emplace(version["name"].text(), std::move(*schema));
  }
  return crd;
}

const KueueAdmission::Schemas& KueueAdmission::all_schemas() {
  static const Schemas kSchemas = [] {
    Schemas all;
    for (const EmbeddedFile& text : crds()) {
      auto crd = load_crd(text.text());
      CHECK(crd.has_value());
      for (auto& [version, schema] : crd->schemas) {
        all.emplace(SchemaKey{crd->kind, version}, std::move(schema));
      }
    }
    return all;
  }();
  return kSchemas;
}

KueueAdmission::KueueAdmission() : schemas_(all_schemas()) {}

const Schema* KueueAdmission::find_schema(std::string_view kind, std::string_view version) const {
  const auto found = schemas_.find(SchemaKey{kind, version});
  return found == schemas_.end() ? nullptr : &found->second;
}

bool KueueAdmission::covers(std::string_view kind) const {
  return find_schema(kind, kStoredVersion) != nullptr;
}

bool KueueAdmission::covers(api::Kind kind) const {
  const api::KindInfo& about = api::info(kind);
  return about.group == core::names::kKueueGroup && covers(about.name);
}

Admitted KueueAdmission::admit(api::Kind kind, const json::value* old_object, json::value object,
                               AdmitOptions options) const {
  return admit(api::info(kind).name, old_object, std::move(object), options);
}

json::value KueueAdmission::as_written(std::string_view kind, const json::value& document,
                                       std::string_view version) const {
  const Schema* schema = find_schema(kind, version);
  auto converted = convert(kind, document, version);
  CHECK(schema != nullptr && converted.has_value());
  schema->default_fields(*converted);
  return std::move(*converted);
}

Admitted KueueAdmission::upgrade(std::string_view kind, json::value object, bool strict_fields,
                                 const json::value* old_object) const {
  if (auto problems = check_header(kind, object); !problems.empty()) {
    return std::unexpected(std::move(problems));
  }
  const Schema* schema = find_schema(kind, version_of(object));
  CHECK(schema != nullptr);
  const auto check_schema = [&](const Schema& of_version, bool strict) {
    return only_new(apply_schema(of_version, object, strict), object, old_object,
                    [&](const json::value& old) {
                      json::value before = as_written(kind, old, version_of(object));
                      auto problems = of_version.validate(before);
                      return Before{std::move(before), std::move(problems)};
                    });
  };
  if (auto problems = check_schema(*schema, strict_fields); !problems.empty()) {
    return std::unexpected(std::move(problems));
  }
  if (version_of(object) != kStoredVersion) {
    if (auto problems = problems_of_written(kind, object, old_object); !problems.empty()) {
      return std::unexpected(std::move(problems));
    }
    const Schema* stored = find_schema(kind, kStoredVersion);
    CHECK(stored != nullptr);
    object = convert_without_loss(kind, std::move(object), kStoredVersion, *schema, *stored);
    if (auto problems = check_schema(*stored, false); !problems.empty()) {
      return std::unexpected(std::move(problems));
    }
  }
  return object;
}

std::vector<Problem> KueueAdmission::problems_of_written(std::string_view kind,
                                                         const json::value& older,
                                                         const json::value* old_object) const {
  return only_new(problems_of_older(kind, older), older, old_object, [&](const json::value& old) {
    json::value before = as_written(kind, old, kOlderVersion);
    auto problems = problems_of_older(kind, before);
    return Before{std::move(before), std::move(problems)};
  });
}

Admitted KueueAdmission::admit(std::string_view kind, const json::value* old_object,
                               json::value object, AdmitOptions options) const {
  ASSIGN_OR_RETURN(object, upgrade(kind, std::move(object), options.strict_fields, old_object));
  ProblemList problems;
  // An API server has converted what it sends us. What somebody wrote in the older version and must
  // not be written is then among the notes.
  if (!same_notes(old_object, &object)) {
    const auto written = convert(kind, object, kOlderVersion);
    if (written) problems.add_all(problems_of_written(kind, *written, old_object));
  }
  check_rules(kind, {Place(old_object), Place(&object), options.status}, problems);
  auto refused =
      only_new(std::move(problems).take(), object, old_object, [&](const json::value& old) {
        json::value before = as_written(kind, old, kStoredVersion);
        ProblemList of_old;
        check_rules(kind, {Place(nullptr), Place(&before), false}, of_old);
        return Before{std::move(before), std::move(of_old).take()};
      });
  if (!refused.empty()) return std::unexpected(std::move(refused));
  return object;
}

void default_kueue_object(std::string_view kind, json::value& object) {
  const bool is_kept = kind == "Topology" || kind == "ResourceFlavor" || kind == "ClusterQueue";
  if (!is_kept || !object.is_object()) return;
  json::value& metadata = object.get_object()["metadata"];
  if (metadata.is_null()) metadata = json::object();
  if (!metadata.is_object()) return;
  json::value& finalizers = metadata.get_object()["finalizers"];
  if (finalizers.is_null()) finalizers = json::array();
  if (!finalizers.is_array()) return;
  const json::value ours(core::names::kInUseFinalizer);
  json::array& list = finalizers.get_array();
  if (std::ranges::find(list, ours) == list.end()) list.push_back(ours);
}

Result<json::value> KueueAdmission::convert(std::string_view kind, json::value document,
                                            std::string_view version) const {
  const Schema* schema = find_schema(kind, version);
  if (schema == nullptr) {
    return fail(fmt::format("{} has no version \"{}\"; use {} or {}", kind, version, kStoredVersion,
                            kOlderVersion));
  }
  const Schema* own_schema = find_schema(kind, version_of(document));
  if (own_schema == nullptr || own_schema == schema) {
    schema->prune(document);
    return document;
  }
  return convert_without_loss(kind, std::move(document), version, *own_schema, *schema);
}

}  // namespace phalanx::admission

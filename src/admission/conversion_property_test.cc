// Whatever the schemas of deploy/crds allow is converted there and back without loss, edits of the
// other version are kept, and notes that somebody made up do no harm.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "admission/conversion.h"
#include "admission/conversion_notes.h"
#include "admission/lossless_conversion.h"
#include "admission/random_documents.h"

namespace phalanx::admission {
namespace {

using testing::admission;
using testing::RandomDocuments;

const std::vector<std::string> kKinds{"AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue",
                                      "Workload"};

std::string other_version(std::string_view version) {
  return std::string(version == kOlderVersion ? kStoredVersion : kOlderVersion);
}

json::value convert(const json::value& document, std::string_view version) {
  auto converted = admission().convert(string_at(document, {"kind"}), document, version);
  RC_ASSERT(converted.has_value());
  return std::move(*converted);
}

// The document with its good topology assignments in one spelling, and with defaults that the other
// version does not have.
json::value canonical(json::value document) {
  if (json::object* spec = object_at(document, {"spec"}); version_of(document) == kOlderVersion) {
    const std::string_view kind = string_at(document, {"kind"});
    if (kind == "AdmissionCheck" && spec != nullptr) spec->emplace("retryDelayMinutes", 15);
    if (kind == "Workload" && spec != nullptr) spec->emplace("priorityClassSource", "");
  }
  json::array* list = array_at(document, {"status", "admission", "podSetAssignments"});
  if (list == nullptr) return document;
  for (json::value& element : *list) {
    json::value* assignment = find_at(element, {"topologyAssignment"});
    if (assignment == nullptr) continue;
    topology::AssignmentSize left = kMostAssignments;
    if (auto spelled = convert_assignment(*assignment, version_of(document), "", left)) {
      *assignment = std::move(*spelled);
    }
  }
  return document;
}

// The document without what the conversion noted on it.
json::value without_notes(json::value document) {
  if (json::object* annotations = object_at(document, {"metadata", "annotations"})) {
    annotations->erase(kConversionAnnotation);
    if (annotations->empty()) erase_at(document, {"metadata", "annotations"});
  }
  if (json::array* conditions = array_at(document, {"status", "conditions"})) {
    auto* found = std::ranges::find_if(*conditions, [](const json::value& condition) {
      return string_at(condition, {"type"}) == kConversionCondition;
    });
    if (found != conditions->end()) conditions->erase(found);
    if (conditions->empty()) erase_at(document, {"status", "conditions"});
  }
  return document;
}

const Schema& schema_of(const json::value& document) {
  using Key = std::pair<std::string, std::string>;
  static const std::map<Key, Schema> kLoaded = [] {
    std::map<Key, Schema> loaded;
    for (const auto& [key, open_api] : testing::open_api_schemas()) {
      loaded.emplace(key, Schema::load(open_api).value());
    }
    return loaded;
  }();
  return kLoaded.at(
      {std::string(string_at(document, {"kind"})), std::string(version_of(document))});
}

// What an API server would say to it; "" if nothing, and nothing would be pruned.
std::string problems_of(const json::value& document) {
  const Schema& schema = schema_of(document);
  return texts_of(schema.validate(document)) + texts_of(schema.unknown_fields(document));
}

void require_same(const json::value& a, const json::value& b) {
  if (a != b) RC_LOG() << json::serialize(a) << "\n" << json::serialize(b) << "\n";
  RC_ASSERT(a == b);
}

// Calls check(random, kind, version) for many seeds.
template <typename Check>
void for_random_documents(const char* what, Check check) {
  EXPECT_TRUE(rc::check(what, [&] {
    RandomDocuments random(*rc::gen::arbitrary<uint64_t>().as("seed"));
    for (const std::string& kind : kKinds) {
      for (const std::string_view version : {kOlderVersion, kStoredVersion}) {
        check(random, kind, std::string(version));
      }
    }
  }));
}

TEST(ConversionProperty, ThereAndBackIsTheSame) {
  for_random_documents("there and back", [](RandomDocuments& random, const std::string& kind,
                                            const std::string& version) {
    const json::value document = canonical(random.document(kind, version));
    RC_ASSERT(problems_of(document) == "");
    const json::value there = convert(document, other_version(version));
    RC_ASSERT(problems_of(there) == "");
    require_same(convert(there, version), document);
    // Again, with the notes that are there now.
    require_same(convert(convert(there, version), other_version(version)), there);
    require_same(convert(there, other_version(version)), there);
    // Nothing of metadata but the annotation.
    require_same(*find_at(without_notes(there), {"metadata"}), *find_at(document, {"metadata"}));
  });
}

// What one version allows may be too much for the other: it comes back all the same.
TEST(ConversionProperty, WhatOneVersionAloneAllowsComesBack) {
  for_random_documents("valid in one version", [](RandomDocuments& random, const std::string& kind,
                                                  const std::string& version) {
    const json::value document = canonical(random.document_of_one_version(kind, version));
    RC_ASSERT(problems_of(document) == "");
    const json::value there = convert(document, other_version(version));
    RC_ASSERT(texts_of(schema_of(there).unknown_fields(there)) == "");
    require_same(convert(there, version), document);
  });
}

// The notes on a document, of the version that it is not of.
ConversionNotes notes_on(const json::value& document) {
  std::vector<std::string_view> texts;
  if (const json::object* annotations = object_at(document, {"metadata", "annotations"})) {
    texts.push_back(string_field(*annotations, kConversionAnnotation));
  }
  if (const json::array* conditions = array_at(document, {"status", "conditions"})) {
    for (const json::value& condition : *conditions) {
      if (string_at(condition, {"type"}) != kConversionCondition) continue;
      texts.push_back(string_at(condition, {"message"}));
    }
  }
  ConversionNotes all;
  for (const std::string_view text : texts) {
    std::ranges::move(read_notes(text, other_version(version_of(document))),
                      std::back_inserter(all));
  }
  return all;
}

// Takes over some of the fields of `from`, at any depth.
void edit(RandomDocuments& random, json::value& document, const json::value& from) {
  if (!document.is_object() || !from.is_object()) {
    document = from;
    return;
  }
  json::object& fields = document.get_object();
  for (const auto& [name, value] : from.get_object()) {
    if (random.below(3) != 0) continue;
    json::value* field = fields.if_contains(name);
    if (field == nullptr) {
      fields[name] = value;
    } else {
      edit(random, *field, value);
    }
  }
  std::vector<std::string> removed;
  for (const auto& field : fields) {
    const bool kept = from.get_object().contains(field.key());
    if (!kept && random.below(4) == 0) removed.emplace_back(field.key());
  }
  for (const std::string& name : removed) fields.erase(name);
}

// A document of this version in the other one, where somebody has changed it.
json::value edited_elsewhere(RandomDocuments& random, const std::string& kind,
                             const std::string& version) {
  const std::string other = other_version(version);
  json::value there = convert(random.document(kind, version), other);
  const json::value from = random.document(kind, other);
  for (const std::string_view part : {"spec", "status"}) {
    const json::value* wanted = find_at(from, {part});
    json::value* field = find_at(there, {part});
    if (wanted != nullptr && field != nullptr) edit(random, *field, *wanted);
  }
  return canonical(std::move(there));
}

// Whether the edited document can be `document`, which is of the other version: it looks the same,
// and is no less valid than what the edited one is converted to without its notes.
bool can_be(const json::value& edited, const json::value& document) {
  const Schema& schema = schema_of(document);
  if (!schema.unknown_fields(document).empty()) return false;
  const auto allowed = schema.validate(convert(without_notes(edited), version_of(document)));
  const bool valid = std::ranges::all_of(schema.validate(document), [&](const Problem& problem) {
    return std::ranges::find(allowed, problem) != allowed.end();
  });
  return valid && without_notes(convert(document, version_of(edited))) == without_notes(edited);
}

TEST(ConversionProperty, NotesSurviveEditsThatDoNotContradictThem) {
  size_t survived = 0;
  for_random_documents("notes survive", [&](RandomDocuments& random, const std::string& kind,
                                            const std::string& version) {
    const json::value edited = edited_elsewhere(random, kind, version);
    const json::value back = convert(edited, version);
    for (const ConversionNote& note : notes_on(edited)) {
      json::value with = back;
      if (!put_back(with, note)) continue;
      if (with == back) {
        ++survived;
      } else if (can_be(edited, with)) {
        RC_LOG() << json::serialize(edited) << "\n" << json::serialize(back) << "\n" << note.at;
        RC_FAIL("a note was dropped that is still possible");
      }
    }
  });
  EXPECT_GT(survived, 100U);
}

TEST(ConversionProperty, EditsInTheOtherVersionSurvive) {
  for_random_documents("edits survive", [](RandomDocuments& random, const std::string& kind,
                                           const std::string& version) {
    const json::value edited = edited_elsewhere(random, kind, version);
    const json::value read_again = convert(convert(edited, version), other_version(version));
    require_same(without_notes(read_again), without_notes(edited));
  });
}

// The notes that a conversion makes of a document, in an annotation and in a condition, in one
// text.
std::string notes_about(const json::value& document) {
  const json::value converted = convert(document, other_version(version_of(document)));
  return write_notes(notes_on(converted), version_of(document), kMostAnnotationBytes);
}

// Any part of the document at any place.
std::string made_up_notes(RandomDocuments& random, const json::value& document,
                          const std::string& version) {
  const auto step_into = [&](const json::value& value) -> const json::value& {
    const json::value* inside = &value;
    while (inside->is_object() && !inside->get_object().empty() && random.below(3) != 0) {
      const json::object& fields = inside->get_object();
      inside = &(fields.begin() + static_cast<ptrdiff_t>(random.below(fields.size())))->value();
    }
    return *inside;
  };
  json::array notes;
  for (size_t i = random.below(5); i > 0; --i) {
    std::string at = random.pick<std::string>({"/spec", "/status", "/status/admission",
                                               "/spec/podSets/main", "/spec/flavorFungibility",
                                               "/status/admission/podSetAssignments/a"});
    const json::value& part = step_into(document);
    json::object was;
    if (part.is_object() && random.below(3) != 0) {
      was = part.get_object();
    } else {
      was[random.pick<std::string>({"priorityClassName", "admissionChecks", "preemptionGates",
                                    "topologyAssignment", "admission", "flavors"})] = part;
    }
    notes.push_back(json::object{{"at", std::move(at)}, {"was", std::move(was)}});
  }
  return json::serialize(json::object{{"of", version}, {"lost", std::move(notes)}});
}

// The condition of the conversion with this text, among the others.
void forge_condition(json::value& document, const std::string& text) {
  json::value& conditions = (*object_at(document, {"status"}))["conditions"];
  if (!conditions.is_array()) conditions = json::array();
  conditions.get_array().push_back(json::object{{"type", kConversionCondition},
                                                {"status", "Unknown"},
                                                {"reason", "KeptForOtherVersion"},
                                                {"message", text},
                                                {"lastTransitionTime", "1970-01-01T00:00:00Z"}});
}

TEST(ConversionProperty, MadeUpNotesDoNoHarm) {
  for_random_documents("made-up notes", [](RandomDocuments& random, const std::string& kind,
                                           const std::string& version) {
    const std::string other = other_version(version);
    const json::value document = canonical(random.document(kind, version));
    const json::value source = random.document(kind, random.below(2) == 0 ? version : other);
    // Or those of another document: each of them is possible.
    const auto any_notes = [&] {
      return random.below(2) == 0 ? notes_about(random.document(kind, other))
                                  : made_up_notes(random, source, other);
    };
    json::value annotated = document;
    ensure_object(annotated, {"metadata", "annotations"})[kConversionAnnotation] = any_notes();
    json::value marked = annotated;
    if (object_at(marked, {"status"}) != nullptr) forge_condition(marked, any_notes());
    const json::value of_annotation = convert(annotated, other);
    const json::value of_both = convert(marked, other);
    for (const json::value& converted : {of_annotation, of_both}) {
      RC_ASSERT(problems_of(converted) == "");
      // To its own version the document is the same, whatever the notes say.
      require_same(without_notes(convert(converted, version)), document);
    }
    // An annotation says nothing of the status that is stored, and a condition nothing of the spec.
    if (other == kStoredVersion) {
      const json::value plain = convert(document, other);
      RC_ASSERT(same_value(find_at(of_annotation, {"status"}), find_at(plain, {"status"})));
    }
    RC_ASSERT(same_value(find_at(of_both, {"spec"}), find_at(of_annotation, {"spec"})));
  });
}

}  // namespace
}  // namespace phalanx::admission

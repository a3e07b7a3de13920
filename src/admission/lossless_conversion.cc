#include "admission/lossless_conversion.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "admission/conversion.h"
#include "admission/conversion_notes.h"
#include "base/check.h"
#include "base/json_path.h"

namespace phalanx::admission {
namespace {

// A text of notes, if it is not longer than those that are written here, or that an API server
// stores.
std::string unless_longer(std::string_view text, size_t most_bytes) {
  return text.size() > most_bytes ? "" : std::string(text);
}

// The text of the annotation, which is removed; and `annotations`, if nothing else is in it.
std::string take_annotation(json::value& document) {
  json::object* annotations = object_at(document, {"metadata", "annotations"});
  if (annotations == nullptr || !annotations->contains(kConversionAnnotation)) return "";
  std::string text =
      unless_longer(string_field(*annotations, kConversionAnnotation), kMostAnnotationBytes);
  set_or_erase(*annotations, kConversionAnnotation, nullptr);
  if (annotations->empty()) erase_at(document, {"metadata", "annotations"});
  return text;
}

// How many bytes its other annotations leave for ours.
size_t room_for_annotation(const json::value& document) {
  size_t used = kConversionAnnotation.size();
  if (const json::object* others = object_at(document, {"metadata", "annotations"})) {
    for (const auto& field : *others) {
      used += field.key().size();
      if (field.value().is_string()) used += field.value().get_string().size();
    }
  }
  return used >= kMostAnnotationBytes ? 0 : kMostAnnotationBytes - used;
}

void put_annotation(json::value& document, const ConversionNotes& notes, std::string_view version) {
  const std::string text = write_notes(notes, version, room_for_annotation(document));
  if (text.empty()) return;
  ensure_object(document, {"metadata", "annotations"})[kConversionAnnotation] = text;
}

// The same of the condition, and of `conditions`.
std::string take_condition(json::value& document) {
  json::array* conditions = array_at(document, {"status", "conditions"});
  if (conditions == nullptr) return "";
  // Where there are several, which no schema allows, the first counts, and none stays.
  std::optional<std::string> text;
  const auto taken = std::ranges::remove_if(*conditions, [&](const json::value& condition) {
    if (string_at(condition, {"type"}) != kConversionCondition) return false;
    if (!text) text = unless_longer(string_at(condition, {"message"}), kMostMessageBytes);
    return true;
  });
  if (!text) return "";
  conditions->erase(taken.begin(), taken.end());
  if (conditions->empty()) erase_at(document, {"status", "conditions"});
  return *text;
}

void put_condition(json::value& document, const ConversionNotes& notes, std::string_view version) {
  const std::string text = write_notes(notes, version, kMostMessageBytes);
  if (text.empty()) return;
  json::object* status = object_at(document, {"status"});
  if (status == nullptr) return;
  json::value& conditions = (*status)["conditions"];
  if (conditions.is_null()) conditions = json::array();
  if (!conditions.is_array()) return;
  // No clock: the same document is converted to the same one at any time.
  conditions.get_array().push_back(json::object{{"type", kConversionCondition},
                                                {"status", "Unknown"},
                                                {"reason", "KeptForOtherVersion"},
                                                {"message", text},
                                                {"lastTransitionTime", "1970-01-01T00:00:00Z"}});
}

ConversionNotes only_of(std::string_view part, const ConversionNotes& notes) {
  ConversionNotes found;
  std::ranges::copy_if(notes, std::back_inserter(found),
                       [&](const ConversionNote& note) { return is_note_of(note, part); });
  return found;
}

// The notes of a document, which are taken off it. `version` is the one it is converted to, of
// which the notes are.
ConversionNotes take_notes(json::value& document, std::string_view version) {
  ConversionNotes annotated = read_notes(take_annotation(document), version);
  const ConversionNotes conditions = read_notes(take_condition(document), version);
  if (version == kOlderVersion) return annotated;  // the condition is of v1beta1 alone
  ConversionNotes notes = only_of("spec", annotated);
  std::ranges::move(only_of("status", conditions), std::back_inserter(notes));
  return notes;
}

void put_notes(json::value& document, const ConversionNotes& notes, std::string_view version) {
  if (version == kOlderVersion) return put_annotation(document, notes, version);
  put_annotation(document, only_of("spec", notes), version);
  put_condition(document, only_of("status", notes), version);
}

// What the document loses on its way to `converted`, as far as put_notes() has room for it.
ConversionNotes losses_of(const json::value& document, const json::value& looks,
                          const json::value& converted, std::string_view version) {
  NoteRoom annotation(version, room_for_annotation(converted));
  NoteRoom condition(version, kMostMessageBytes);
  return find_losses(document, looks, annotation,
                     version == kOlderVersion ? annotation : condition);
}

// Topology assignments may be most of a document, and take long to write: they are taken out,
// converted once, and put in again at the end. One that cannot be converted stays in, and is left
// out by the plain conversion: into what the others leave it does not fit either.
struct ConvertedAssignment {
  size_t index = 0;  // in podSetAssignments
  json::value assignment;
};

std::vector<ConvertedAssignment> take_assignments(json::value& document, std::string_view version,
                                                  topology::AssignmentSize& left) {
  std::vector<ConvertedAssignment> taken;
  json::array* list = array_at(document, {"status", "admission", "podSetAssignments"});
  if (list == nullptr) return taken;
  for (size_t i = 0; i < std::min(list->size(), kMostPodSets); ++i) {
    const json::object* assignment = object_at((*list)[i], {"topologyAssignment"});
    if (assignment == nullptr) continue;
    auto converted = convert_assignment(*assignment, version, "", left);
    if (!converted) continue;
    taken.push_back({i, std::move(*converted)});
    erase_at((*list)[i], {"topologyAssignment"});
  }
  return taken;
}

void put_assignments(json::value& document, std::vector<ConvertedAssignment> taken) {
  json::array* list = array_at(document, {"status", "admission", "podSetAssignments"});
  for (ConvertedAssignment& one : taken) {
    CHECK(list != nullptr && one.index < list->size() && (*list)[one.index].is_object());
    (*list)[one.index].get_object()["topologyAssignment"] = std::move(one.assignment);
  }
}

// Drops what the schema does not have, and gives it back as if it were noted.
ConversionNotes take_unknown(json::value& document, const Schema& own_schema) {
  if (own_schema.knows_all_of(document)) return {};
  const json::value before = document;
  own_schema.prune(document);
  NoteRoom room(version_of(document), kMostAnnotationBytes);
  ConversionNotes unknown = find_losses(before, document, room, room);
  if (!room.may_take(0)) unknown.clear();  // more than any release adds
  return unknown;
}

// What looking at notes one by one may cost, in values of documents: each is looked for in the
// whole document. Far more than that of any document that people write, whose largest part,
// topology assignments, is left out; a stranger may send what is larger.
constexpr size_t kMostSteps = 1'000'000;

// Those fields of them that this schema does not have either.
void put_unknown(json::value& document, const ConversionNotes& unknown, const Schema& schema) {
  if (unknown.empty()) return;
  const json::value plain = document;
  for (const ConversionNote& note : unknown | std::views::take(kMostSteps / count_values(plain))) {
    json::value with = document;
    if (!put_back(with, note)) continue;
    json::value known = with;
    schema.prune(known);
    if (known == plain) document = std::move(with);
  }
}

// Which notes count, and the document with them.
struct Restored {
  json::value document;
  ConversionNotes notes;
};

// Gives notes back to a plainly converted document.
class Restorer {
 public:
  // `looks` is the document in the version from which it was converted, and neither has the
  // assignments that were taken out; `left` is what these leave.
  Restorer(std::string_view kind, const json::value& plain, const json::value& looks,
           const topology::AssignmentSize& left, const Schema& own_schema, const Schema& schema)
      : kind_(kind),
        plain_(plain),
        looks_(looks),
        left_(left),
        own_schema_(own_schema),
        schema_(schema),
        problems_(schema.validate(plain)) {}

  [[nodiscard]] Restored restore(const ConversionNotes& all) {
    const auto notes = all | std::views::take(most_of(all));
    Restored restored{plain_, {notes.begin(), notes.end()}};
    for (const ConversionNote& note : notes) put_back(restored.document, note);
    if (is_possible(restored.document)) return restored;
    // Somebody changed the document since: the notes that still fit it count.
    restored = {plain_, {}};
    for (const ConversionNote& note : notes) {
      json::value next = restored.document;
      if (!put_back(next, note) || !is_possible(next)) continue;
      restored.document = std::move(next);
      restored.notes.push_back(note);
    }
    return restored;
  }

 private:
  // How many of the notes can be looked at.
  [[nodiscard]] size_t most_of(const ConversionNotes& notes) const {
    size_t values = count_values(plain_);
    for (const ConversionNote& note : notes) {
      for (const auto& field : note.was) values += count_values(field.value());
    }
    return kMostSteps / values;
  }

  [[nodiscard]] bool is_possible(json::value& document) {
    // A note with an assignment that can be converted contradicts the document. There is none
    // unless somebody made it up or has just edited the document, so few are worth their cost.
    if (expanded_ > topology::kMaxValues) return false;
    schema_.prune(document);
    topology::AssignmentSize left = left_;
    json::value back = convert_plainly(kind_, document, version_of(looks_), left);
    expanded_ += left_.values - left.values;
    own_schema_.prune(back);
    if (!same_value(&back, &looks_)) return false;
    return std::ranges::all_of(schema_.validate(document), [&](const Problem& problem) {
      return std::ranges::find(problems_, problem) != problems_.end();
    });
  }

  std::string_view kind_;
  const json::value& plain_;
  const json::value& looks_;
  topology::AssignmentSize left_;
  const Schema& own_schema_;
  const Schema& schema_;
  std::vector<Problem> problems_;  // of the plain document
  size_t expanded_ = 0;            // values of assignments so far
};

std::string_view annotation_of(const json::value* document) {
  const json::object* annotations =
      document == nullptr ? nullptr : object_at(*document, {"metadata", "annotations"});
  return annotations == nullptr ? "" : string_field(*annotations, kConversionAnnotation);
}

}  // namespace

json::value convert_without_loss(std::string_view kind, json::value document,
                                 std::string_view version, const Schema& own_schema,
                                 const Schema& schema) {
  if (!document.is_object() || version_of(document) == version) return document;
  if (!versions_differ(kind)) return convert_plainly(kind, std::move(document), version);
  const std::string own_version(version_of(document));
  const ConversionNotes notes = take_notes(document, version);
  const ConversionNotes unknown = take_unknown(document, own_schema);
  topology::AssignmentSize left = kMostAssignments;
  auto assignments = take_assignments(document, version, left);
  json::value converted = convert_plainly(kind, document, version, left);
  schema.prune(converted);
  json::value looks = convert_plainly(kind, converted, own_version);
  own_schema.prune(looks);
  // Only what will count: a document that its own schema does not allow may have values that a note
  // cannot bring back.
  ConversionNotes losses = losses_of(document, looks, converted, own_version);
  if (!losses.empty()) {
    losses = Restorer(kind, looks, converted, left, schema, own_schema).restore(losses).notes;
  }
  if (!notes.empty()) {
    converted = Restorer(kind, converted, looks, left, own_schema, schema).restore(notes).document;
  }
  put_unknown(converted, unknown, schema);
  put_assignments(converted, std::move(assignments));
  put_notes(converted, losses, own_version);
  return converted;
}

bool same_notes(const json::value* a, const json::value* b) {
  return annotation_of(a) == annotation_of(b);
}

}  // namespace phalanx::admission

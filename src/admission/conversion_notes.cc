#include "admission/conversion_notes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "admission/conversion.h"
#include "base/json_path.h"
#include "base/json_pointer.h"
#include "base/strict_json.h"

namespace phalanx::admission {
namespace {

constexpr std::array<std::string_view, 2> kParts{"spec", "status"};

std::string place_in(std::string at, std::string_view step) {
  append_json_pointer_step(at, step);
  return at;
}

// By what the elements of a list are known: their names, if each has one of its own, or else their
// indexes. nullopt if they are not all objects.
std::optional<std::vector<std::string>> identities(const json::array& list) {
  std::vector<std::string> names;
  std::set<std::string_view> different;
  for (const json::value& element : list) {
    if (!element.is_object()) return std::nullopt;
    names.emplace_back(string_field(element.get_object(), "name"));
  }
  for (const std::string& name : names) different.insert(name);
  if (different.size() == names.size() && !different.contains("")) return names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = std::to_string(i);
  return names;
}

class LossFinder {
 public:
  void compare(const json::object& original, const json::object& round_trip,
               const std::string& at) {
    std::vector<std::string_view> lost;
    const auto look_at = [&](std::string_view name) {
      const json::value* was = find_field(original, name);
      const json::value* is = find_field(round_trip, name);
      if (was == nullptr && is != nullptr && is_default_of_older(name, *is)) return;
      if (!same_value(was, is) && !compare_inside(was, is, name, at)) lost.push_back(name);
    };
    for (const auto& field : original) look_at(field.key());
    for (const auto& field : round_trip) {
      if (!original.contains(field.key())) look_at(field.key());
    }
    for (const std::string_view name : lost) note(original, name, at);
  }

  ConversionNotes take() && { return std::move(notes_); }

 private:
  // Whether the difference is noted further down.
  bool compare_inside(const json::value* was, const json::value* is, std::string_view name,
                      const std::string& at) {
    if (was == nullptr || is == nullptr || name == kObjectOfOneMeaning) return false;
    const std::string here = place_in(at, name);
    if (was->is_object() && is->is_object()) {
      compare(was->get_object(), is->get_object(), here);
      return true;
    }
    if (!was->is_array() || !is->is_array()) return false;
    const auto before = identities(was->get_array());
    if (!before || before != identities(is->get_array())) return false;
    for (size_t i = 0; i < before->size(); ++i) {
      compare(was->get_array()[i].get_object(), is->get_array()[i].get_object(),
              place_in(here, (*before)[i]));
    }
    return true;
  }

  void note(const json::object& original, std::string_view name, const std::string& at) {
    const auto value_of = [&](std::string_view field) {
      const json::value* was = find_field(original, field);
      return was == nullptr ? json::value() : *was;
    };
    for (const auto& fields : kFieldsOfOneMeaning) {
      if (std::ranges::find(fields, name) == fields.end()) continue;
      ConversionNote found{at, {}};
      for (const std::string_view field : fields) found.was[field] = value_of(field);
      if (std::ranges::find(notes_, found) == notes_.end()) notes_.push_back(std::move(found));
      return;
    }
    ConversionNote found{at, {}};
    found.was[name] = value_of(name);
    notes_.push_back(std::move(found));
  }

  ConversionNotes notes_;
};

json::value* find_element(json::array& list, const std::string& identity) {
  const auto names = identities(list);
  if (!names) return nullptr;
  const auto found = std::ranges::find(*names, identity);
  return found == names->end() ? nullptr : &list[static_cast<size_t>(found - names->begin())];
}

// The object that a pointer names; nullptr if there is none.
json::object* find_place(json::value& document, std::string_view pointer) {
  const auto steps = parse_json_pointer(pointer);
  if (!steps) return nullptr;
  json::value* value = &document;
  for (const std::string& step : *steps) {
    if (json::object* object = value->if_object()) {
      value = object->if_contains(step);
    } else if (json::array* list = value->if_array()) {
      value = find_element(*list, step);
    } else {
      value = nullptr;
    }
    if (value == nullptr) return nullptr;
  }
  return value->if_object();
}

std::optional<ConversionNote> read_note(const json::value& value) {
  const json::object* was = object_at(value, {"was"});
  ConversionNote note{std::string(string_at(value, {"at"})),
                      was == nullptr ? json::object() : *was};
  const bool of_a_part =
      std::ranges::any_of(kParts, [&](std::string_view part) { return is_note_of(note, part); });
  if (note.was.empty() || !of_a_part) return std::nullopt;
  return note;
}

}  // namespace

ConversionNotes find_losses(const json::value& original, const json::value& round_trip) {
  LossFinder finder;
  for (const std::string_view part : kParts) {
    const json::object* was = object_at(original, {part});
    const json::object* is = object_at(round_trip, {part});
    if (was != nullptr && is != nullptr) finder.compare(*was, *is, "/" + std::string(part));
  }
  return std::move(finder).take();
}

bool put_back(json::value& document, const ConversionNote& note) {
  json::object* place = find_place(document, note.at);
  if (place == nullptr) return false;
  for (const auto& field : note.was) {
    set_or_erase(*place, field.key(), field.value().is_null() ? nullptr : &field.value());
  }
  return true;
}

bool is_note_of(const ConversionNote& note, std::string_view part) {
  const std::string_view at = note.at;
  return at.starts_with('/') && at.substr(1).starts_with(part) &&
         (at.size() == part.size() + 1 || at[part.size() + 1] == '/');
}

std::string write_notes(const ConversionNotes& notes, std::string_view version, size_t most_bytes) {
  const std::string begin = R"({"of":")" + std::string(version) + R"(","lost":[)";
  const std::string_view end = "]}";
  std::string text = begin;
  size_t count = 0;
  for (const ConversionNote& note : notes) {
    if (count == kMostConversionNotes) break;
    const std::string next = json::serialize(json::object{{"at", note.at}, {"was", note.was}});
    if (text.size() + next.size() + 1 + end.size() > most_bytes) continue;
    if (count++ > 0) text += ',';
    text += next;
  }
  return count == 0 ? "" : text.append(end);
}

ConversionNotes read_notes(std::string_view text, std::string_view version) {
  const auto document = parse_strict_json(text);
  if (!document || string_at(*document, {"of"}) != version) return {};
  const json::array* lost = array_at(*document, {"lost"});
  if (lost == nullptr || lost->size() > kMostConversionNotes) return {};
  ConversionNotes notes;
  for (const json::value& value : *lost) {
    auto note = read_note(value);
    if (!note) return {};
    notes.push_back(std::move(*note));
  }
  return notes;
}

}  // namespace phalanx::admission

#include "admission/conversion_notes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "admission/conversion.h"
#include "base/json_path.h"
#include "base/json_pointer.h"
#include "base/strict_json.h"

namespace phalanx::admission {
namespace {

constexpr std::array<std::string_view, 2> kParts{"spec", "status"};

constexpr std::string_view kEnd = "]}";

std::string begin_of(std::string_view version) {
  return R"({"of":")" + std::string(version) + R"(","lost":[)";
}

std::string written(const ConversionNote& note) {
  return json::serialize(json::object{{"at", note.at}, {"was", note.was}});
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

// Which of kFieldsOfOneMeaning the field is of; their number, if it is of none.
size_t meaning_of(std::string_view name) {
  const auto* const found = std::ranges::find_if(kFieldsOfOneMeaning, [&](const auto& fields) {
    return std::ranges::find(fields, name) != fields.end();
  });
  return static_cast<size_t>(found - kFieldsOfOneMeaning.begin());
}

class LossFinder {
 public:
  LossFinder(std::string_view part, NoteRoom& room, ConversionNotes& notes)
      : room_(room), notes_(notes) {
    append_json_pointer_step(at_, part);
  }

  void compare(const json::object& original, const json::object& round_trip) {
    std::vector<std::string_view> lost;
    const auto look_at = [&](std::string_view name) {
      const json::value* was = find_field(original, name);
      const json::value* is = find_field(round_trip, name);
      if (was == nullptr && is != nullptr && is_default_of_older(name, *is)) return;
      if (!same_value(was, is) && !compare_inside(was, is, name)) lost.push_back(name);
    };
    for (const auto& field : original) look_at(field.key());
    for (const auto& field : round_trip) {
      if (!original.contains(field.key())) look_at(field.key());
    }
    note_all(original, lost);
  }

 private:
  // One step further down, for as long as it lives: names of elements may be long, and are not
  // copied for every place that is looked at.
  class Step {
   public:
    Step(std::string& at, std::string_view name) : at_(at), before_(at.size()) {
      append_json_pointer_step(at_, name);
    }
    ~Step() { at_.resize(before_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    std::string& at_;
    size_t before_;
  };

  // Whether the difference is noted further down.
  bool compare_inside(const json::value* was, const json::value* is, std::string_view name) {
    if (was == nullptr || is == nullptr || name == kObjectOfOneMeaning) return false;
    const Step here(at_, name);
    if (!room_.may_take(at_.size())) return true;  // nothing further down has room
    if (was->is_object() && is->is_object()) {
      compare(was->get_object(), is->get_object());
      return true;
    }
    if (!was->is_array() || !is->is_array()) return false;
    const auto before = identities(was->get_array());
    if (!before || before != identities(is->get_array())) return false;
    for (size_t i = 0; i < before->size(); ++i) {
      const Step element(at_, (*before)[i]);
      compare(was->get_array()[i].get_object(), is->get_array()[i].get_object());
    }
    return true;
  }

  void note_all(const json::object& original, const std::vector<std::string_view>& lost) {
    std::array<bool, kFieldsOfOneMeaning.size()> noted{};
    for (const std::string_view& name : lost) {
      const size_t meaning = meaning_of(name);
      if (meaning == noted.size()) {
        note(original, {&name, 1});
      } else if (!std::exchange(noted[meaning], true)) {
        note(original, kFieldsOfOneMeaning[meaning]);
      }
    }
  }

  void note(const json::object& original, std::span<const std::string_view> fields) {
    if (!room_.may_take(at_.size())) return;
    ConversionNote found{at_, {}};
    for (const std::string_view field : fields) {
      const json::value* was = find_field(original, field);
      found.was[field] = was == nullptr ? json::value() : *was;
    }
    if (room_.take(written(found))) notes_.push_back(std::move(found));
  }

  NoteRoom& room_;
  ConversionNotes& notes_;
  std::string at_;
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

NoteRoom::NoteRoom(std::string_view version, size_t most_bytes)
    : most_bytes_(most_bytes), used_bytes_(begin_of(version).size() + kEnd.size()) {}

bool NoteRoom::may_take(size_t name_bytes) const {
  return count_ < kMostConversionNotes && used_bytes_ + name_bytes < most_bytes_;
}

bool NoteRoom::take(std::string_view text) {
  if (count_ == kMostConversionNotes || used_bytes_ + text.size() + 1 > most_bytes_) return false;
  used_bytes_ += text.size() + (count_++ == 0 ? 0 : 1);  // and a comma between two
  return true;
}

ConversionNotes find_losses(const json::value& original, const json::value& round_trip,
                            NoteRoom& of_spec, NoteRoom& of_status) {
  ConversionNotes notes;
  for (const std::string_view part : kParts) {
    const json::object* was = object_at(original, {part});
    const json::object* is = object_at(round_trip, {part});
    if (was == nullptr || is == nullptr) continue;
    LossFinder(part, part == "spec" ? of_spec : of_status, notes).compare(*was, *is);
  }
  return notes;
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
  NoteRoom room(version, most_bytes);
  std::string text;
  for (const ConversionNote& note : notes) {
    const std::string next = written(note);
    if (!room.take(next)) continue;
    text.append(text.empty() ? "" : ",").append(next);
  }
  return text.empty() ? "" : begin_of(version).append(text).append(kEnd);
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

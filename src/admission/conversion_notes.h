// What a conversion loses, as notes that travel with the converted document and from which a
// conversion back takes it again.
//
// A note is one object of the document and those of its fields that the other version could not
// give back, as they were. Objects are named by a JSON pointer (RFC 6901) in which an element of a
// list stands by its `name`, where all elements have one of their own, and else by its index: so a
// note finds its element when others come, go or move.
//
// - Notes are of spec and status only: nothing else of a document can be named by one.
// - Text that is no list of notes reads as none at all. It may have been written by anybody.
//
// Cost: linear in the documents and the text; putting a note back looks at every list on its way.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace phalanx::admission {

struct ConversionNote {
  std::string at;    // "/spec/podSets/worker"
  json::object was;  // the fields as they were; null: there was none

  bool operator==(const ConversionNote&) const = default;
};
using ConversionNotes = std::vector<ConversionNote>;

// More than any document needs; a text with more is not read.
inline constexpr size_t kMostConversionNotes = 32;

// What is left of the room in which notes of a version are written.
class NoteRoom {
 public:
  NoteRoom(std::string_view version, size_t most_bytes);

  // Whether there is room for one more note, of an object that is named by so many bytes.
  [[nodiscard]] bool may_take(size_t name_bytes) const;
  // Whether the note, written like this, fits beside those before it; if so, its room is taken.
  bool take(std::string_view text);

 private:
  size_t most_bytes_;
  size_t used_bytes_;  // by the text that goes around the notes, and by those before
  size_t count_ = 0;
};

// What has to be noted so that `original` can be made of `round_trip` again, as far as there is
// room; both rooms may be the same. Fields that have one meaning (conversion.h) are in one note,
// all others in one each. One that is absent and comes back with its default is not noted: who
// takes it away, by applying his document without it, could not if a note were in its place. A
// document may lose far more than can be noted of it, and a stranger may send one that does: so
// what has no room is not even kept.
ConversionNotes find_losses(const json::value& original, const json::value& round_trip,
                            NoteRoom& of_spec, NoteRoom& of_status);

// Puts the fields of the note back; false, and the document is as it was, if it has no such object.
bool put_back(json::value& document, const ConversionNote& note);

// Whether the note is of this part of a document: "spec", "status".
bool is_note_of(const ConversionNote& note, std::string_view part);

// The notes as a text of at most so many bytes, in which `version` says of which version they are.
// What does not fit is left out; "" if nothing is left.
std::string write_notes(const ConversionNotes& notes, std::string_view version, size_t most_bytes);
// Notes of the version; none if the text is anything else.
ConversionNotes read_notes(std::string_view text, std::string_view version);

}  // namespace phalanx::admission

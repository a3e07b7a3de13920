// The two versions of the kinds of kueue.x-k8s.io, from one to the other and back without loss.
//
// What the plain conversion (conversion.h) leaves out is noted on the converted document, and taken
// from there when it is converted back: in the annotation phalanx.dev/conversion, and, of the
// status of a v1beta1 document, in the message of its condition phalanx.dev/Conversion. So
//   to_v1beta2(to_v1beta1(x)) == x   and   to_v1beta1(to_v1beta2(y)) == y
// but for the spelling of topology assignments, for an empty `annotations` or `conditions`, for
// a default of v1beta1 that is left out, for notes that are too large or too many, and for
// assignments of more domains than conversion.h takes.
//
// One rule says which notes count: with them the document must look as it does without them to the
// version in which it stands now. In other words, a note chooses among those documents of the one
// version that all are this one document of the other. It follows that
// - whoever edits a document in the other version is never contradicted by an older note: with it
//   the document would look as before the edit, so it is dropped;
// - a note that somebody made up cannot say anything that the document denies, and what it adds he
//   could have written himself: it is validated like anything that is written.
// Three more close what remains: nothing but spec and status can be noted; a note that would make
// the document less valid to its schema does not count, so that nobody else's list is spoiled; and
// an annotation says nothing of the status on the way up, because whoever may write an annotation
// may not always write the status. What v1beta1 cannot say of a status is therefore noted in the
// status.
//
// Never fails. API servers let a conversion change labels and annotations, but nothing else of
// metadata; only the annotation is touched here.
//
// Fields of spec and status that neither version has stay where they are: the CRDs may be newer
// than this program, as they are during an upgrade. An API server has judged them in the version in
// which they were written, and drops those that the other one does not have. A field that the other
// version alone has is dropped, because nobody has judged it; so is one that only a newer version
// has, on its way through the other one.
//
// Cost: linear in the document, two plain conversions of all but its topology assignments, which
// are converted once. Notes, whether there were or come to be, cost one more, and looking for each
// of them; those that contradict the document one for each. What notes cost together is bounded:
// of a document of more than some ten thousand values not all of them count.
#pragma once

#include <cstddef>
#include <string_view>

#include "admission/schema.h"
#include "base/json.h"

namespace phalanx::admission {

inline constexpr std::string_view kConversionAnnotation = "phalanx.dev/conversion";
inline constexpr std::string_view kConversionCondition = "phalanx.dev/Conversion";

// Of all annotations of an object together, names and values: what API servers allow.
inline constexpr size_t kMostAnnotationBytes = size_t{256} << 10;
// Of the message of a condition.
inline constexpr size_t kMostMessageBytes = size_t{32} << 10;

// The document in `version`, "v1beta1" or "v1beta2", `schema` being of that version and
// `own_schema` of the document's.
json::value convert_without_loss(std::string_view kind, json::value document,
                                 std::string_view version, const Schema& own_schema,
                                 const Schema& schema);

// Whether the notes of both documents, in their annotation, are the same; nullptr: no document.
bool same_notes(const json::value* a, const json::value* b);

}  // namespace phalanx::admission

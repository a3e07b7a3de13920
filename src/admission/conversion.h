// The two versions of the kinds of kueue.x-k8s.io, plainly from one to the other: what the other
// version can say, and nothing else. lossless_conversion.h keeps the rest.
//
// v1beta2 is what is stored and what everything else here speaks; v1beta1 is what older manifests
// and clients speak. Works on documents: fields that are the same in both versions, and those that
// nobody knows, stay as and where they are.
//
// - Never fails: a conversion that does makes an object, and every list with it, unreadable for all
//   clients. What has no counterpart is left out: on the way up fields that v1beta1 alone has; on
//   the way down what v1beta1 has no field for stays under its own name, to be pruned by whoever
//   has the schema. So is a topology assignment that is malformed, as is one of more pod sets than
//   a Workload has, and one for which the others of the document leave no room.
// - There, back and there again is the same as there: up(down(up(x))) == up(x), and the same the
//   other way round, once fields that a version does not have are pruned.
// - An assignment means the same in both versions, and is written in one form of
//   topology/assignment_encoding.h, the quick slicing: another one of the same domains does not
//   survive.
// - A field that has a default in v1beta1 alone gets it on the way down: priorityClassSource,
//   retryDelayMinutes.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "admission/problem.h"
#include "base/error.h"
#include "base/json.h"
#include "topology/assignment_encoding.h"

namespace phalanx::admission {

inline constexpr std::string_view kStoredVersion = "v1beta2";
inline constexpr std::string_view kOlderVersion = "v1beta1";

// The version of a document: what follows the slash in apiVersion, or "".
std::string_view version_of(const json::value& document);

// Whether the versions of the kind differ in more than their name.
bool versions_differ(std::string_view kind);

// Pod sets of a Workload, and so assignments, as the CRD limits them.
inline constexpr size_t kMostPodSets = 18;
// All assignments of a document together, because a slice of a few bytes may name 100 000 domains.
// What etcd holds, 1.5 MiB, has at most 300 000 domains that differ: each takes four bytes or more.
inline constexpr topology::AssignmentSize kMostAssignments{
    .domains = topology::kMaxDomains, .values = 5'000'000, .text_bytes = topology::kMaxTextBytes};

// The document in the version, "v1beta1" or "v1beta2". One that is already of the version is
// returned as it is. Its assignments may be as large as `left`, of which they take their part.
json::value convert_plainly(std::string_view kind, json::value document, std::string_view version,
                            topology::AssignmentSize& left);
json::value convert_plainly(std::string_view kind, json::value document, std::string_view version);

// One topology assignment, in the form of the version, if it fits into what is left, of which it
// takes its part. `path` is where it stands, for the error.
Result<json::value> convert_assignment(const json::value& assignment, std::string_view version,
                                       std::string_view path, topology::AssignmentSize& left);
// What is wrong with the assignments of a document of either version.
std::vector<Problem> problems_of_assignments(const json::value& document);

// What a v1beta1 document says that must not be written, because v1beta2 could not mean it: two
// lists of admission checks, and malformed topology assignments.
std::vector<Problem> problems_of_older(std::string_view kind, const json::value& document);

// Fields of one object that say one thing together: taken back together or not at all.
inline constexpr std::array<std::array<std::string_view, 2>, 2> kFieldsOfOneMeaning{{
    {"admissionChecks", "admissionChecksStrategy"},
    {"priorityClassName", "priorityClassSource"},
}};
// Fields that v1beta1 alone has, with a default: one that is absent has it. API servers fill it in,
// but not before they convert what somebody applied.
bool is_default_of_older(std::string_view field, const json::value& value);
// An object whose fields restrict each other: taken back as a whole or not at all.
inline constexpr std::string_view kObjectOfOneMeaning = "topologyRequest";

}  // namespace phalanx::admission

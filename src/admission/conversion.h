// The two versions of the kinds of kueue.x-k8s.io, from one to the other.
//
// v1beta2 is what is stored and what everything else here speaks; v1beta1 is what older manifests
// and clients speak. Works on documents: fields that are the same in both versions, and those that
// nobody knows, stay as and where they are.
//
// What has no counterpart is lost: LocalQueue status.flavors and ClusterQueue
// status.pendingWorkloadsStatus on the way up; on the way down what v1beta1 has no field for is
// kept under its own name, and pruned by whoever has the schema (kueue_admission.h).
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace phalanx::admission {

inline constexpr std::string_view kStoredVersion = "v1beta2";
inline constexpr std::string_view kOlderVersion = "v1beta1";

// The version of a document: what follows the slash in apiVersion, or "".
std::string_view version_of(const json::value& document);

// Fails only where a document holds what cannot be said in the other version: a topology assignment
// that is malformed, or two lists of admission checks. A document that is already of the version
// is returned as it is.
Result<json::value> to_v1beta2(std::string_view kind, json::value document);
Result<json::value> to_v1beta1(std::string_view kind, json::value document);

}  // namespace phalanx::admission

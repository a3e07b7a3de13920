// metadata, the part that every object has: what a client may write there, and what the server
// keeps to itself.
#pragma once

#include <string>

#include "api/kind.h"
#include "base/json.h"
#include "sim/api_error.h"

namespace phalanx::sim {

// Names, labels, annotations, finalizers and owner references of one object.
void check_metadata(api::Kind kind, const json::value& document, Problems& problems);

// What must stay as it is in an update, whoever writes it.
void check_metadata_update(const json::value& old_document, const json::value& document,
                           Problems& problems);

// Before an update is looked at: what the client left out but only the server decides (uid,
// creationTimestamp, deletionTimestamp, generation, managedFields) is as it was.
void keep_system_metadata(const json::value& old_document, json::value& document);

// For a new object: drops what a client cannot choose.
void drop_system_metadata(json::value& document);

// Whether anything changed that counts for metadata.generation: all but metadata and status.
bool specification_changed(const json::value& old_document, const json::value& document);
void grow_generation(json::value& document);

// At most 1.5 MiB, as etcd stores them.
ApiResult<void> check_size(const api::ObjectKey& key, const json::value& document);

}  // namespace phalanx::sim

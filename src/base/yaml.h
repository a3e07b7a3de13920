// YAML and JSON files as JSON documents: one way to read what people give us.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace phalanx {

struct Document {
  json::value value;
  int line = 1;  // where it begins in its file
};

// All documents of a YAML stream or of JSON texts one after another. Empty documents are left out.
// Plain scalars are typed as YAML 1.2's core schema does (true, null, 12, 1.5); quoted ones are
// strings. Anchors are followed within bounds, so that a "billion laughs" file is refused.
Result<std::vector<Document>> parse_documents(std::string_view text);

// The value as a YAML document, in the style of kubectl. It reads back as the same value, here and
// in readers of YAML 1.1, as kubectl's is: what those take for a number or a truth is quoted, too.
std::string to_yaml(const json::value& value);
// Several documents, with --- between them.
std::string to_yaml_stream(std::span<const json::value> values);

}  // namespace phalanx

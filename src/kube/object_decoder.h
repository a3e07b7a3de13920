// What the API server sends, as events for the core.
//
// Nothing that it sends can stop us: an object that makes no sense becomes core::Unreadable, and
// what is not even an object is an Error, which is told and left out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/kind.h"
#include "core/adapter.h"
#include "core/event.h"
#include "kube/document_filter.h"

namespace phalanx::kube {

// The fields of a kind that core::decode_object reads.
const FieldFilter& filter_of(api::Kind kind);

struct Bookmark {
  uint64_t resource_version = 0;
};
// The watch is over; the server says why.
struct WatchFailed {
  int code = 0;
  std::string message;
};
using WatchEvent = std::variant<core::ObjectChanged, core::ObjectDeleted, Bookmark, WatchFailed>;

class ObjectDecoder {
 public:
  explicit ObjectDecoder(const core::Adapters& adapters) : adapters_(adapters) {}

  Result<core::Object> object(std::string_view text, api::Kind kind);
  // `problems` are of items that had to be left out.
  Result<ListPage> list(std::string_view text, api::Kind kind, std::vector<core::Object>& objects,
                        std::vector<std::string>& problems);
  Result<WatchEvent> watch_line(std::string_view text, api::Kind kind);

 private:
  // Items of a list do not say what they are.
  Result<core::Object> decode(json::value& document, api::Kind kind);

  const core::Adapters& adapters_;
  DocumentReader reader_;
};

}  // namespace phalanx::kube

// Documents straight from the API server's text, reduced to the fields that somebody reads.
//
// Most of a pod is of no interest here: who wrote which field, the environment of containers, the
// history of conditions. Those parts are skipped where they stand, without being taken apart, so
// that an event of a pod costs some microseconds, and what is decoded from it is decoded by the
// same code as everywhere else.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace phalanx::kube {

// Which fields of an object are kept; lists are looked through, their elements filtered alike.
class FieldFilter {
 public:
  using Fields = std::initializer_list<std::pair<const std::string_view, FieldFilter>>;

  // The value as it is.
  static FieldFilter whole() { return FieldFilter(true, {}); }
  static FieldFilter nothing() { return FieldFilter(false, {}); }
  // Only these fields.
  static FieldFilter only(Fields fields) { return FieldFilter(false, fields); }
  // These in their way, all others as they are.
  static FieldFilter all_but(Fields fields) { return FieldFilter(true, fields); }

  [[nodiscard]] bool keeps_others() const { return keeps_others_; }
  [[nodiscard]] bool keeps_nothing() const { return !keeps_others_ && fields_.empty(); }
  [[nodiscard]] bool keeps_all() const { return keeps_others_ && fields_.empty(); }
  // nullptr: not named.
  [[nodiscard]] const FieldFilter* find(std::string_view field) const {
    const auto found = fields_.find(field);
    return found == fields_.end() ? nullptr : &found->second;
  }

 private:
  FieldFilter(bool keeps_others, Fields fields) : keeps_others_(keeps_others), fields_(fields) {}

  bool keeps_others_;
  std::map<std::string_view, FieldFilter> fields_;
};

// A page of a list, item by item.
struct ListPage {
  std::string resource_version;
  std::string continue_token;  // empty: that was the last page
};

struct WatchLine {
  std::string type;  // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  json::value object;
};

// Not thread safe: it keeps buffers from one text to the next.
class DocumentReader {
 public:
  DocumentReader();
  ~DocumentReader();
  DocumentReader(const DocumentReader&) = delete;
  DocumentReader& operator=(const DocumentReader&) = delete;

  // Values come from `storage`, and live as long as it does.
  Result<json::value> document(std::string_view text, const FieldFilter& filter,
                               const json::storage_ptr& storage = {});
  Result<WatchLine> watch_line(std::string_view text, const FieldFilter& filter,
                               const json::storage_ptr& storage = {});
  // With `scratch` items share memory, which is quicker, and no part of them may be kept, not even
  // as a copy made by a constructor: Boost's copies live where their originals do.
  Result<ListPage> list(std::string_view text, const FieldFilter& filter, bool scratch,
                        const std::function<void(json::value&)>& visit);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace phalanx::kube

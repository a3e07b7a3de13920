// A value of a document together with where it stands, for rules that look at several fields.
//
// Looking for what is not there gives a place without a value, whose fields are absent too; null
// counts as absent. So rules are straight lines, whatever the document holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace phalanx::admission {

class Place {
 public:
  // A whole document; nullptr: none.
  explicit Place(const json::value* document) : Place(document, "") {}

  [[nodiscard]] bool present() const { return value_ != nullptr; }
  [[nodiscard]] const json::value* value() const { return value_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // A field of an object.
  [[nodiscard]] Place operator[](std::string_view field) const;
  // The elements of a list; of anything else none.
  [[nodiscard]] std::vector<Place> elements() const;
  // The entries of a map, each with its key; of anything else none.
  [[nodiscard]] std::vector<std::pair<std::string_view, Place>> entries() const;
  // Elements of a list or entries of a map.
  [[nodiscard]] size_t size() const;

  // A string, or "" if it is none.
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::optional<int64_t> number() const;
  // A quantity as it is written, whether as a number or as a string.
  [[nodiscard]] std::string quantity() const;

  // Both absent, or equal. The order of fields does not matter.
  [[nodiscard]] bool same_as(const Place& other) const;

 private:
  Place(const json::value* value, std::string path)
      : value_(value == nullptr || value->is_null() ? nullptr : value), path_(std::move(path)) {}

  const json::value* value_;
  std::string path_;
};

// The value at a path as problems have it, "spec.levels[1].nodeLabel"; nullptr if there is none.
const json::value* value_at(const json::value& document, std::string_view path);

// Whether status.conditions says that the condition is True.
bool has_condition(const Place& document, std::string_view type);

}  // namespace phalanx::admission

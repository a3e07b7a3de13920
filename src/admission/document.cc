#include "admission/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json_path.h"
#include "base/quantity.h"

namespace phalanx::admission {

Place Place::operator[](std::string_view field) const {
  const json::object* object = value_ == nullptr ? nullptr : value_->if_object();
  return Place(object == nullptr ? nullptr : object->if_contains(field),
               path_.empty() ? std::string(field) : fmt::format("{}.{}", path_, field));
}

std::vector<Place> Place::elements() const {
  std::vector<Place> places;
  if (value_ == nullptr || !value_->is_array()) return places;
  const json::array& list = value_->get_array();
  places.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    places.push_back(Place(&list[i], fmt::format("{}[{}]", path_, i)));
  }
  return places;
}

std::vector<std::pair<std::string_view, Place>> Place::entries() const {
  std::vector<std::pair<std::string_view, Place>> places;
  if (value_ == nullptr || !value_->is_object()) return places;
  for (const auto& [key, value] : value_->get_object()) {
    const std::string_view name = key;
    places.emplace_back(name, Place(&value, fmt::format("{}[{}]", path_, name)));
  }
  return places;
}

size_t Place::size() const {
  if (value_ == nullptr) return 0;
  if (value_->is_array()) return value_->get_array().size();
  return value_->is_object() ? value_->get_object().size() : 0;
}

std::string_view Place::text() const {
  return value_ != nullptr && value_->is_string() ? std::string_view(value_->get_string()) : "";
}

std::optional<int64_t> Place::number() const {
  if (value_ == nullptr || !value_->is_number()) return std::nullopt;
  json::error_code code;
  const auto number = value_->to_number<int64_t>(code);
  if (code) return std::nullopt;
  return number;
}

std::string Place::quantity() const {
  return value_ == nullptr ? "" : quantity_text(*value_);
}

bool Place::same_as(const Place& other) const {
  if (!present() || !other.present()) return present() == other.present();
  return same_value(value_, other.value_);
}

const json::value* value_at(const json::value& document, std::string_view path) {
  const json::value* value = &document;
  while (!path.empty() && value != nullptr) {
    const bool in_brackets = path.front() == '[';
    if (in_brackets || path.front() == '.') path.remove_prefix(1);
    const size_t end = std::min(path.find_first_of(in_brackets ? "]" : ".["), path.size());
    const std::string_view step = path.substr(0, end);
    path.remove_prefix(in_brackets ? std::min(end + 1, path.size()) : end);
    if (const json::object* object = value->if_object()) {
      value = object->if_contains(step);
      continue;
    }
    const json::array* list = value->if_array();
    size_t index = 0;
    const auto read = std::from_chars(step.data(), step.data() + step.size(), index);
    const bool is_there = list != nullptr && in_brackets && read.ec == std::errc() &&
                          read.ptr == step.data() + step.size() && index < list->size();
    value = is_there ? &(*list)[index] : nullptr;
  }
  return value;
}

bool has_condition(const Place& document, std::string_view type) {
  return std::ranges::any_of(
      document["status"]["conditions"].elements(), [&](const Place& condition) {
        return condition["type"].text() == type && condition["status"].text() == "True";
      });
}

}  // namespace phalanx::admission

#include "base/crowded_object.h"

namespace phalanx {

std::optional<std::string> find_crowded_object(const json::value& document, size_t most_fields) {
  const auto within = [](const std::string& step, const std::optional<std::string>& found) {
    return found->empty() || found->starts_with('[') ? step + *found : step + "." + *found;
  };
  if (const json::array* list = document.if_array()) {
    for (size_t i = 0; i < list->size(); ++i) {
      const auto found = find_crowded_object((*list)[i], most_fields);
      if (found) return within("[" + std::to_string(i) + "]", found);
    }
  }
  const json::object* object = document.if_object();
  if (object == nullptr) return std::nullopt;
  if (object->size() > most_fields) return "";
  for (const auto& field : *object) {
    const auto found = find_crowded_object(field.value(), most_fields);
    if (found) return within(std::string(field.key()), found);
  }
  return std::nullopt;
}

}  // namespace phalanx

#include "api/limit_range.h"

namespace phalanx::api {

LimitRange read_limit_range(const JsonReader& object) {
  LimitRange range{read_object_meta(object), {}};
  object.object("spec").each("limits", [&](const json::value& value, const std::string& path) {
    const JsonReader item(&value, path, object.status());
    if (item.string("type") != "Container") return;
    range.defaults.limits.merge(read_resources(item, "default"));
    range.defaults.requests.merge(read_resources(item, "defaultRequest"));
  });
  for (const auto& limit : range.defaults.limits) range.defaults.requests.insert(limit);
  return range;
}

}  // namespace phalanx::api

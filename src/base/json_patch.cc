#include "base/json_patch.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/json_pointer.h"

namespace phalanx {
namespace {

// Far more than any controller sends; Kubernetes has the same bound.
constexpr size_t kMaxOperations = 10'000;

// What all copies of one patch may add up to: copying a part into itself doubles it every time.
constexpr size_t kMaxCopiedBytes = size_t{3} * 1024 * 1024;

using Pointer = JsonPointer;

// The index of an element below `end`; leading zeros and signs are no index.
std::optional<size_t> parse_index(std::string_view step, size_t end) {
  if (step.size() > 1 && step.front() == '0') return std::nullopt;
  size_t index = 0;
  const char* first = step.data();
  const char* last = first + step.size();
  const auto [rest, code] = std::from_chars(first, last, index);
  if (code != std::errc() || rest != last || index >= end) return std::nullopt;
  return index;
}

json::value* step_into(json::value& value, const std::string& step) {
  if (json::object* object = value.if_object()) return object->if_contains(step);
  if (json::array* array = value.if_array()) {
    const auto index = parse_index(step, array->size());
    return index ? &(*array)[*index] : nullptr;
  }
  return nullptr;
}

json::value* find(json::value& document, const Pointer& pointer, size_t steps) {
  json::value* value = &document;
  for (size_t i = 0; i < steps && value != nullptr; ++i) value = step_into(*value, pointer[i]);
  return value;
}

Result<void> add(json::value& document, const Pointer& pointer, json::value value) {
  if (pointer.empty()) {
    document = std::move(value);
    return {};
  }
  json::value* parent = find(document, pointer, pointer.size() - 1);
  const std::string& last = pointer.back();
  if (parent != nullptr && parent->is_object()) {
    parent->get_object()[last] = std::move(value);
    return {};
  }
  if (parent != nullptr && parent->is_array()) {
    json::array& array = parent->get_array();
    const auto index =
        last == "-" ? std::optional(array.size()) : parse_index(last, array.size() + 1);
    if (!index) {
      return fail(
          fmt::format("\"{}\" is no place in a list of {}; use an index or \"-\" for its end", last,
                      array.size()));
    }
    array.insert(array.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
    return {};
  }
  return fail("what should hold it does not exist; add that first");
}

Result<json::value> remove(json::value& document, const Pointer& pointer) {
  json::value* found = find(document, pointer, pointer.size());
  if (found == nullptr) return fail("there is nothing to remove");
  json::value removed = std::move(*found);
  if (pointer.empty()) {
    document = nullptr;
    return removed;
  }
  json::value* parent = find(document, pointer, pointer.size() - 1);
  if (json::object* object = parent->if_object()) {
    object->stable_erase(pointer.back());
  } else {
    json::array& array = parent->get_array();
    const auto index = parse_index(pointer.back(), array.size());
    array.erase(array.begin() + static_cast<std::ptrdiff_t>(*index));
  }
  return removed;
}

bool is_prefix(const Pointer& prefix, const Pointer& pointer) {
  return prefix.size() < pointer.size() &&
         std::equal(prefix.begin(), prefix.end(), pointer.begin());
}

// One operation of a JSON patch, taken apart.
class PatchOperation {
 public:
  PatchOperation(const json::object& object, json::value& document, size_t& copied_bytes)
      : object_(object), document_(document), copied_bytes_(copied_bytes) {}

  Result<void> run() {
    const std::string name = text("op");
    if (!find_text("path")) return fail("path: is required");
    auto path = parse_json_pointer(text("path"));
    if (!path) return within("path", path.error());
    if (name == "remove") {
      auto removed = remove(document_, *path);
      if (!removed) return within(text("path"), removed.error());
      return {};
    }
    if (name == "add" || name == "replace" || name == "test") return with_value(name, *path);
    if (name == "move" || name == "copy") return with_source(name, *path);
    return fail(fmt::format(
        "op: \"{}\" is no operation; use add, remove, replace, move, copy or test", name));
  }

 private:
  [[nodiscard]] const json::string* find_text(std::string_view field) const {
    const json::value* value = object_.if_contains(field);
    return value == nullptr ? nullptr : value->if_string();
  }
  [[nodiscard]] std::string text(std::string_view field) const {
    const json::string* found = find_text(field);
    return found == nullptr ? "" : std::string(*found);
  }
  [[nodiscard]] Result<void> at(std::string_view field, const Result<void>& result) const {
    if (result) return {};
    return within(text(field), result.error());
  }

  Result<void> with_value(const std::string& name, const Pointer& path) {
    const json::value* value = object_.if_contains("value");
    if (value == nullptr) return fail("value: is required");
    if (name == "add") return at("path", add(document_, path, *value));
    json::value* found = find(document_, path, path.size());
    if (found == nullptr) {
      return within(text("path"), Error{"does not exist"});
    }
    if (name == "replace") {
      *found = *value;
      return {};
    }
    if (*found == *value) return {};
    return fail(fmt::format("{}: test failed: it is {}, not {}", text("path"),
                            json::serialize(*found), json::serialize(*value)));
  }

  Result<void> with_source(const std::string& name, const Pointer& path) {
    if (!find_text("from")) return fail("from: is required");
    auto from = parse_json_pointer(text("from"));
    if (!from) return within("from", from.error());
    if (name == "move") {
      if (is_prefix(*from, path)) return fail("path: nothing can be moved into itself");
      auto removed = remove(document_, *from);
      if (!removed) return within(text("from"), removed.error());
      return at("path", add(document_, path, std::move(*removed)));
    }
    const json::value* source = find(document_, *from, from->size());
    if (source == nullptr) return within(text("from"), Error{"does not exist"});
    copied_bytes_ += json_size(*source).value_or(kMaxCopiedBytes + 1);
    if (copied_bytes_ > kMaxCopiedBytes) {
      return fail(fmt::format("all copies of a patch may take at most {} bytes", kMaxCopiedBytes));
    }
    return at("path", add(document_, path, json::value(*source)));
  }

  const json::object& object_;
  json::value& document_;
  size_t& copied_bytes_;
};

}  // namespace

void apply_merge_patch(json::value& target, const json::value& patch) {
  const json::object* fields = patch.if_object();
  if (fields == nullptr) {
    target = patch;
    return;
  }
  json::object& object = target.is_object() ? target.get_object() : target.emplace_object();
  for (const auto& field : *fields) {
    if (field.value().is_null()) {
      object.stable_erase(field.key());
    } else {
      apply_merge_patch(object[field.key()], field.value());
    }
  }
}

Result<void> apply_json_patch(json::value& target, const json::value& patch) {
  const json::array* operations = patch.if_array();
  if (operations == nullptr) return fail("a JSON patch must be a list of operations");
  if (operations->size() > kMaxOperations) {
    return fail(fmt::format("a JSON patch can have at most {} operations", kMaxOperations));
  }
  size_t copied_bytes = 0;
  for (size_t index = 0; index < operations->size(); ++index) {
    const std::string place = fmt::format("operation {}", index);
    const json::object* operation = (*operations)[index].if_object();
    if (operation == nullptr) return fail(place + ": must be an object");
    if (auto done = PatchOperation(*operation, target, copied_bytes).run(); !done) {
      return within(place, done.error());
    }
  }
  return {};
}

}  // namespace phalanx

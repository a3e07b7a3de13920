#include <algorithm>

#include "base/json_patch.h"
#include "base/json_path.h"
#include "base/json_pointer.h"

namespace phalanx {
namespace {

class Difference {
 public:
  void between(const json::value& before, const json::value& after) {
    if (before.is_object() && after.is_object()) {
      between_objects(before.get_object(), after.get_object());
    } else if (before.is_array() && after.is_array()) {
      between_lists(before.get_array(), after.get_array());
    } else if (!same_value(&before, &after)) {
      say("replace", &after);
    }
  }

  [[nodiscard]] json::array take() && { return std::move(operations_); }

 private:
  void between_objects(const json::object& before, const json::object& after) {
    for (const auto& field : before) {
      const Step step(path_, field.key());
      const json::value* other = after.if_contains(field.key());
      if (other == nullptr) {
        say("remove", nullptr);
      } else {
        between(field.value(), *other);
      }
    }
    for (const auto& field : after) {
      const Step step(path_, field.key());
      if (!before.contains(field.key())) say("add", &field.value());
    }
  }

  void between_lists(const json::array& before, const json::array& after) {
    const size_t shorter = std::min(before.size(), after.size());
    size_t head = 0;
    while (head < shorter && same_value(&before[head], &after[head])) ++head;
    size_t tail = 0;
    while (tail < shorter - head &&
           same_value(&before[before.size() - 1 - tail], &after[after.size() - 1 - tail])) {
      ++tail;
    }
    const size_t common = shorter - tail;
    for (size_t i = head; i < common; ++i) {
      const Step step(path_, std::to_string(i));
      between(before[i], after[i]);
    }
    // From the end, so that the indices of what is still to be removed stay what they are.
    for (size_t i = before.size() - tail; i > common; --i) {
      const Step step(path_, std::to_string(i - 1));
      say("remove", nullptr);
    }
    for (size_t i = common; i < after.size() - tail; ++i) {
      const Step step(path_, std::to_string(i));
      say("add", &after[i]);
    }
  }

  void say(std::string_view operation, const json::value* value) {
    json::object said{{"op", operation}, {"path", path_}};
    if (value != nullptr) said.emplace("value", *value);
    operations_.push_back(std::move(said));
  }

  // One step of the path, for as long as it lives.
  class Step {
   public:
    Step(std::string& path, std::string_view name) : path_(path), before_(path.size()) {
      append_json_pointer_step(path_, name);
    }
    ~Step() { path_.resize(before_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    std::string& path_;
    size_t before_;
  };

  std::string path_;
  json::array operations_;
};

}  // namespace

json::array json_difference(const json::value& before, const json::value& after) {
  Difference difference;
  difference.between(before, after);
  return std::move(difference).take();
}

}  // namespace phalanx

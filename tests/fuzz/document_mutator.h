// Changes a JSON document so that it stays one: drops, doubles, moves and alters values. Random
// bytes seldom get past a parser; what this makes of a good input does in most rounds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace phalanx::fuzz {

// Strings become one of `texts` now and then: words that mean something to what is tested.
class DocumentMutator {
 public:
  DocumentMutator(unsigned int seed, std::span<const std::string_view> texts)
      : random_(seed), texts_(texts) {}

  void mutate(json::value& document) {
    collect(document);
    for (size_t round = 0; round <= below(3); ++round) {
      alter(*values_[below(values_.size())]);
      values_.clear();
      collect(document);
    }
  }

 private:
  size_t below(size_t bound) { return random_() % bound; }

  void collect(json::value& value) {
    values_.push_back(&value);
    if (value.is_object()) {
      for (auto& field : value.get_object()) collect(field.value());
    } else if (value.is_array()) {
      for (json::value& element : value.get_array()) collect(element);
    }
  }

  void alter(json::value& value) {
    if (value.is_array() && !value.get_array().empty() && below(4) != 0) return alter_list(value);
    if (value.is_object() && !value.get_object().empty() && below(4) != 0) {
      json::object& object = value.get_object();
      object.erase(object.begin() + below(object.size()));
      return;
    }
    if (value.is_int64() && below(4) != 0) {
      constexpr int64_t kNumbers[] = {-1, 0, 1, 2, 3, 4, 8, 1000, INT32_MAX, INT64_MAX, INT64_MIN};
      value = kNumbers[below(std::size(kNumbers))];
      return;
    }
    if (value.is_bool()) {
      value = !value.get_bool();
      return;
    }
    if (value.is_string() && !texts_.empty() && below(3) == 0) {
      value = texts_[below(texts_.size())];
      return;
    }
    const json::value copy = *values_[below(values_.size())];  // `value` may be part of it
    value = copy;
  }

  void alter_list(json::value& value) {
    json::array& list = value.get_array();
    const size_t at = below(list.size());
    switch (below(3)) {
      case 0:
        list.erase(list.begin() + at);
        break;
      case 1: {
        const json::value copy = list[at];
        list.insert(list.begin() + below(list.size() + 1), copy);
        break;
      }
      default:
        std::swap(list[at], list[below(list.size())]);
    }
  }

  std::minstd_rand random_;
  std::span<const std::string_view> texts_;
  std::vector<json::value*> values_;
};

// For LLVMFuzzerCustomMutator.
inline size_t mutate_document(uint8_t* data, size_t size, size_t max_size, unsigned int seed,
                              std::span<const std::string_view> texts) {
  auto document = parse_json({reinterpret_cast<const char*>(data), size});
  if (!document || seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  DocumentMutator(seed, texts).mutate(*document);
  const std::string text = json::serialize(*document);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

}  // namespace phalanx::fuzz

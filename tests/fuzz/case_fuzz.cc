// Any line must be refused or answered, and an answer must place every pod or none.
//
// Random bytes seldom are a case. The mutator therefore changes the JSON document in most rounds:
// it drops, doubles, moves and alters values, so that what reaches the engine is still a case.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/conformance_case.h"

namespace json = boost::json;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

constexpr size_t kLongestInput = size_t{64} << 10;

class DocumentMutator {
 public:
  explicit DocumentMutator(unsigned int seed) : random_(seed) {}

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
    if (value.is_string() && below(3) == 0) {
      constexpr std::string_view kTexts[] = {
          "",   "0",  "1",      "2",     "500m",    "9E",  "-1", "1e-30",    "auto", "NoSchedule",
          "n1", "r1", "Exists", "Mixed", "BestFit", "cpu", "b1", "NotReady", "true", "lws"};
      value = kTexts[below(std::size(kTexts))];
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
  std::vector<json::value*> values_;
};

void require(bool condition) {
  if (!condition) std::abort();
}

std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

void require_whole(const phalanx::placement::PodSet& pod_set,
                   const phalanx::placement::PodSetResult& result) {
  require(!(result.assignment && result.failure));
  if (!result.assignment) return;
  int64_t pods = 0;
  for (const auto& domain : result.assignment->domains) {
    require(domain.count > 0);
    pods += domain.count;
  }
  require(pods == pod_set.count);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  auto document = phalanx::parse_json(text_of(data, size));
  if (!document || seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  DocumentMutator(seed).mutate(*document);
  const std::string text = json::serialize(*document);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kLongestInput) return 0;
  const auto input = phalanx::cli::read_case(text_of(data, size));
  if (!input) return 0;
  const auto results = phalanx::cli::answer(*input);
  if (!results) return 0;
  const auto& pod_sets = input->workload.pod_sets;
  require(results->size() == pod_sets.size());
  // A replacement or a resize starts from an assignment that the input made up.
  const bool anew = input->workload.unhealthy_nodes.empty() && !input->options.elastic_resize;
  for (size_t index = 0; index < pod_sets.size() && anew; ++index) {
    require_whole(pod_sets[index], (*results)[index]);
  }
  const std::string text = json::serialize(phalanx::cli::results_json(*results));
  require(phalanx::parse_json(text).has_value());
  return 0;
}

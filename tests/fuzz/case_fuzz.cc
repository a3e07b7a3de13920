// Any line must be refused or answered, and an answer must place every pod or none.
//
// Random bytes seldom are a case. The mutator therefore changes the JSON document in most rounds:
// it drops, doubles, moves and alters values, so that what reaches the engine is still a case.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/conformance_case.h"
#include "document_mutator.h"

namespace json = boost::json;

namespace {

constexpr size_t kLongestInput = size_t{64} << 10;

constexpr std::string_view kTexts[] = {
    "",   "0",  "1",      "2",     "500m",    "9E",  "-1", "1e-30",    "auto", "NoSchedule",
    "n1", "r1", "Exists", "Mixed", "BestFit", "cpu", "b1", "NotReady", "true", "lws"};

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
  return phalanx::fuzz::mutate_document(data, size, max_size, seed, kTexts);
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

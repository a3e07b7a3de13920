#include <fmt/format.h>

#include <iostream>

#include "base/json.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "topology/assignment_encoding.h"
#include "topology/naming_schemes.h"

namespace phalanx::cli {

int bench_encoding(const BenchEncodingArguments& arguments) {
  constexpr size_t kEtcdLimit = 1'572'864;  // 1.5 MiB
  json::array list;
  if (!arguments.json) {
    std::cout << fmt::format("{:<14} {:<46} {:>11} {:>11} {:>11} {:>7} {:>9}\n", "scheme",
                             "pattern", "v1beta1", "one slice", "v1beta2", "slices", "encode ms");
  }
  for (const topology::NamingScheme& scheme : topology::naming_schemes()) {
    const api::TopologyAssignment assignment = topology::one_pod_per_node(scheme, arguments.nodes);
    const size_t v1beta1 = json::serialize(topology::encode_v1beta1(assignment)).size();
    const auto single = topology::encode_v1beta2(assignment, topology::Slicing::kFewest);
    const auto start = BenchClock::now();
    const auto best = topology::encode_v1beta2(assignment);
    const int64_t encode_ns = nanoseconds_since(start);
    if (!single || !best) return bad_input((!single ? single : best).error().message);
    const size_t single_bytes = json::serialize(*single).size();
    const size_t best_bytes = json::serialize(*best).size();
    const size_t slices = best->at("slices").get_array().size();
    if (arguments.json) {
      list.push_back(json::object{{"scheme", scheme.name},
                                  {"pattern", scheme.pattern},
                                  {"nodes", arguments.nodes},
                                  {"v1beta1_bytes", v1beta1},
                                  {"one_slice_bytes", single_bytes},
                                  {"v1beta2_bytes", best_bytes},
                                  {"slices", slices},
                                  {"encode_ns", encode_ns},
                                  {"fits_etcd", best_bytes <= kEtcdLimit}});
    } else {
      std::cout << fmt::format("{:<14} {:<46} {:>11} {:>11} {:>11} {:>7} {:>9.1f}{}\n", scheme.name,
                               scheme.pattern, v1beta1, single_bytes, best_bytes, slices,
                               static_cast<double>(encode_ns) / 1e6,
                               best_bytes <= kEtcdLimit ? "" : "  does not fit 1.5 MiB");
    }
  }
  if (arguments.json) std::cout << pretty_json(list) << "\n";
  return kDone;
}

}  // namespace phalanx::cli

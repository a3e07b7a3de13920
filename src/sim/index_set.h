// Completion indexes of an Indexed Job, as status.completedIndexes writes them: "0-3,5".
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace phalanx::sim {

using IndexSet = std::set<int64_t>;

// Only indexes below `bound`; what cannot be read is left out.
IndexSet parse_indexes(std::string_view text, int64_t bound);
// Runs of three and more become a range, two stand side by side, as Kubernetes writes them.
std::string format_indexes(const IndexSet& indexes);

}  // namespace phalanx::sim

// Names that say what an object is for, and end with a hash so that nothing else has them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace phalanx::core {

// `name` and the hash, with at most so many characters. Of a name that is too long the end is left
// out, and so is whatever could not end a name then.
std::string with_hash(std::string name, std::string_view hash, size_t most);

}  // namespace phalanx::core

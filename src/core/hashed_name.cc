#include "core/hashed_name.h"

#include <cctype>

namespace phalanx::core {

std::string with_hash(std::string name, std::string_view hash, size_t most) {
  if (name.size() + 1 + hash.size() > most) {
    name.resize(most - 1 - hash.size());
    while (!name.empty() && std::isalnum(static_cast<unsigned char>(name.back())) == 0) {
      name.pop_back();
    }
  }
  return name.append("-").append(hash);
}

}  // namespace phalanx::core

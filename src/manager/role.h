// What a replica is among the others.
#pragma once

#include <cstdint>
#include <string>

namespace phalanx::manager {

enum class Role : uint8_t {
  kLeader,
  kFollower,
  kStandalone,  // there is no election: it decides
};

// As metrics call it.
inline std::string label_of(Role role) {
  switch (role) {
    case Role::kLeader:
      return "leader";
    case Role::kFollower:
      return "follower";
    case Role::kStandalone:
      return "standalone";
  }
  return "";
}

}  // namespace phalanx::manager

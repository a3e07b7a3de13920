#include "topology/naming_schemes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/check.h"

namespace phalanx::topology {
namespace {

uint64_t splitmix64(uint64_t seed) {
  uint64_t z = seed + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// A pseudo-random permutation of [0, 2^bits): random names that never collide. Every step (adding
// a key, an odd factor, folding the upper half down) can be undone, so no two numbers meet.
uint64_t permute(uint64_t number, unsigned bits, uint64_t key) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t x = number & mask;
  for (uint64_t round = 0; round < 4; ++round) {
    const uint64_t random = splitmix64((key << 3) + round);
    x = (x + random) & mask;
    x = (x * ((random >> 20) | 1)) & mask;
    x ^= x >> (bits / 2);
  }
  return x;
}

std::string in_base(uint64_t number, std::string_view digits, size_t width) {
  std::string text(width, digits[0]);
  for (size_t place = width; place-- > 0; number /= digits.size()) {
    text[place] = digits[number % digits.size()];
  }
  return text;
}

// Pools of up to 1000 nodes, the providers' limit for one instance group; real ones differ in size.
struct PoolPlace {
  size_t pool;
  size_t node;  // within the pool
};

PoolPlace pool_of(size_t node) {
  constexpr std::array<size_t, 5> kSizes = {1000, 300, 1000, 500, 200};
  constexpr size_t kCycle = 3000;
  size_t pool = node / kCycle * kSizes.size();
  size_t rest = node % kCycle;
  for (const size_t size : kSizes) {
    if (rest < size) break;
    rest -= size;
    ++pool;
  }
  return {pool, rest};
}

std::string gke_name(size_t node) {
  constexpr std::array<std::string_view, 4> kMachines = {"a3-high", "a3-mega", "h4d", "n2-std"};
  constexpr std::string_view kBase32 = "0123456789abcdfghjklmnpqrstvwxyz";
  const auto [pool, member] = pool_of(node);
  return fmt::format("gke-train-{}-{:02}-{:08x}-{}", kMachines[pool % kMachines.size()], pool,
                     splitmix64(pool) >> 32, in_base(permute(member, 20, pool), kBase32, 4));
}

// Addresses come in no order from the /16 networks of four zones.
std::string eks_name(size_t node) {
  constexpr std::array<unsigned, 4> kNetworks = {12, 48, 101, 164};
  const uint64_t address = permute(node, 18, 1);
  return fmt::format("ip-10-{}-{}-{}.us-west-2.compute.internal", kNetworks[address >> 16],
                     (address >> 8) & 0xff, address & 0xff);
}

// The naming by instance instead of address: 64 random bits, which no prefix can shorten much.
std::string eks_resource_name(size_t node) {
  return fmt::format("i-0{:016x}.us-west-2.compute.internal", splitmix64(node));
}

// Instance numbers only grow: every fifth machine of a pool has been replaced once.
std::string aks_name(size_t node) {
  constexpr std::string_view kBase36 = "0123456789abcdefghijklmnopqrstuvwxyz";
  const auto [pool, member] = pool_of(node);
  return fmt::format("aks-gpupool{:03}-{:08}-vmss{}", pool, splitmix64(pool) % 100'000'000,
                     in_base(member + member / 4, kBase36, 6));
}

std::string rack_name(size_t node) {
  constexpr size_t kNodesPerRack = 40;
  return fmt::format("rack-{:04}-node-{:02}", node / kNodesPerRack, node % kNodesPerRack);
}

}  // namespace

std::vector<NamingScheme> naming_schemes() {
  return {
      {"gke", "gke-<cluster>-<pool>-<8 hex>-<4 base 32>", gke_name},
      {"eks", "ip-10-<a>-<b>-<c>.<region>.compute.internal", eks_name},
      {"eks-resource", "i-<17 hex>.<region>.compute.internal", eks_resource_name},
      {"aks", "aks-<pool>-<8 digits>-vmss<6 base 36>", aks_name},
      {"on-prem", "rack-<4 digits>-node-<2 digits>", rack_name},
  };
}

api::TopologyAssignment one_pod_per_node(const NamingScheme& scheme, size_t nodes) {
  CHECK(nodes <= kSchemeNodes);
  api::TopologyAssignment assignment{{"kubernetes.io/hostname"}, {}};
  assignment.domains.reserve(nodes);
  for (size_t node = 0; node < nodes; ++node) {
    assignment.domains.push_back({{scheme.hostname(node)}, 1});
  }
  std::ranges::sort(assignment.domains, {}, &api::DomainAssignment::values);
  return assignment;
}

}  // namespace phalanx::topology

#include "topology/assignment_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "topology/naming_schemes.h"

namespace phalanx::topology {
namespace {

using api::DomainAssignment;
using api::TopologyAssignment;

constexpr size_t kEtcdEntryBytes = 1'572'864;  // 1.5 MiB

json::value parse(std::string_view text) {
  auto parsed = parse_json(text);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed.value_or(nullptr);
}

json::value v1beta2(const TopologyAssignment& assignment, Slicing slicing = Slicing::kSmallest) {
  auto encoded = encode_v1beta2(assignment, slicing);
  EXPECT_TRUE(encoded.has_value()) << (encoded ? "" : encoded.error().message);
  return encoded.value_or(nullptr);
}

size_t size_of(const json::value& value) {
  return json::serialize(value).size();
}

TopologyAssignment decoded(const json::value& value) {
  auto assignment = decode_assignment(value, "");
  EXPECT_TRUE(assignment.has_value()) << (assignment ? "" : assignment.error().message);
  return assignment.value_or(TopologyAssignment{});
}

std::string decode_error(std::string_view text) {
  const auto assignment = decode_assignment(parse(text), "status.assignment");
  return assignment ? "no error" : assignment.error().message;
}

std::string encode_error(const TopologyAssignment& assignment) {
  const auto encoded = encode_v1beta2(assignment);
  return encoded ? "no error" : encoded.error().message;
}

TopologyAssignment hosts(const std::vector<std::string>& names, int32_t pods = 1) {
  TopologyAssignment assignment{{"kubernetes.io/hostname"}, {}};
  for (const std::string& name : names) assignment.domains.push_back({{name}, pods});
  return assignment;
}

void expect_round_trips(const TopologyAssignment& assignment) {
  EXPECT_EQ(decoded(encode_v1beta1(assignment)), assignment);
  EXPECT_EQ(decoded(v1beta2(assignment)), assignment);
  EXPECT_EQ(decoded(v1beta2(assignment, Slicing::kFewest)), assignment);
  EXPECT_EQ(decoded(v1beta2(assignment, Slicing::kQuick)), assignment);
  // Once more as a text, which is what the API server keeps.
  EXPECT_EQ(decoded(parse(json::serialize(v1beta2(assignment)))), assignment);
}

// ---------------------------------------------------------------------- the examples of the seed
// --

TopologyAssignment two_racks() {
  return {{"cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"},
          {{{"block-1", "rack-1"}, 4}, {{"block-1", "rack-2"}, 2}}};
}

TEST(AssignmentEncoding, SeedExampleOfV1beta1) {
  const json::value expected = parse(R"({
    "levels": ["cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"],
    "domains": [{"values": ["block-1", "rack-1"], "count": 4},
                {"values": ["block-1", "rack-2"], "count": 2}]})");
  EXPECT_EQ(encode_v1beta1(two_racks()), expected);
  EXPECT_EQ(decoded(expected), two_racks());
}

TEST(AssignmentEncoding, SeedExampleOfV1beta2) {
  EXPECT_EQ(decoded(parse(R"({
    "levels": ["cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"],
    "slices": [{"domainCount": 2,
                "valuesPerLevel": [{"universal": "block-1"},
                                   {"individual": {"prefix": "rack-", "roots": ["1", "2"]}}],
                "podCounts": {"individual": [4, 2]}}]})")),
            two_racks());
  // Of two names a prefix of five characters saves less than naming it costs.
  EXPECT_EQ(v1beta2(two_racks()).at("slices"), parse(R"([
    {"domainCount": 2,
     "valuesPerLevel": [{"universal": "block-1"}, {"individual": {"roots": ["rack-1", "rack-2"]}}],
     "podCounts": {"individual": [4, 2]}}])"));
}

TEST(AssignmentEncoding, SeedExampleOfTwoPools) {
  TopologyAssignment pools = hosts({});
  for (int node = 1; node <= 5; ++node) {
    pools.domains.push_back({{"pool-1-node-" + std::to_string(node)}, 1});
  }
  for (int node = 1; node <= 7; ++node) {
    pools.domains.push_back({{"pool-2-node-" + std::to_string(node)}, 1});
  }
  EXPECT_EQ(decoded(parse(R"({
    "levels": ["kubernetes.io/hostname"],
    "slices": [
      {"domainCount": 5, "podCounts": {"universal": 1}, "valuesPerLevel": [{"individual":
        {"prefix": "pool-1-node-", "roots": ["1", "2", "3", "4", "5"]}}]},
      {"domainCount": 7, "podCounts": {"universal": 1}, "valuesPerLevel": [{"individual":
        {"prefix": "pool-2-node-", "roots": ["1", "2", "3", "4", "5", "6", "7"]}}]}]})")),
            pools);
  expect_round_trips(pools);
}

TEST(AssignmentEncoding, LargePoolsBecomeSlices) {
  TopologyAssignment pools = hosts({});
  for (int node = 10; node < 60; ++node) {
    pools.domains.push_back(
        {{"pool-1-node-" + std::to_string(node) + ".local"}, node < 40 ? 1 : 8});
  }
  for (int node = 10; node < 99; ++node) {
    pools.domains.push_back({{"pool-2-node-" + std::to_string(node) + ".local"}, 8});
  }
  const json::value encoded = v1beta2(pools);
  const json::array& slices = encoded.at("slices").get_array();
  ASSERT_EQ(slices.size(), 2);
  for (size_t pool : {0, 1}) {
    const json::object& slice = slices[pool].get_object();
    const json::value& individual = slice.at("valuesPerLevel").at(0).at("individual");
    EXPECT_EQ(individual.at("prefix"), pool == 0 ? "pool-1-node-" : "pool-2-node-");
    EXPECT_EQ(individual.at("suffix"), ".local");
    EXPECT_EQ(slice.at("podCounts").get_object().contains("universal"), pool == 1);
  }
  expect_round_trips(pools);
}

TEST(AssignmentEncoding, NoDomainsAreNoSlices) {
  const TopologyAssignment nothing{{"rack"}, {}};
  EXPECT_EQ(json::serialize(v1beta2(nothing)), R"({"levels":["rack"],"slices":[]})");
  EXPECT_EQ(json::serialize(encode_v1beta1(nothing)), R"({"levels":["rack"],"domains":[]})");
  expect_round_trips(nothing);
}

// ------------------------------------------------------------------------------- prefix and suffix
// --

TEST(AssignmentEncoding, PrefixAndSuffixDoNotOverlap) {
  // "aXa" ends and begins with what the others share, and "a" is shorter than prefix and suffix.
  std::vector<std::string> names(30, "a-long-a-long-a");
  names.emplace_back("a-long-a");
  names.emplace_back("a-long-a-b-a-long-a");
  expect_round_trips(hosts(names));
  const json::value encoded = v1beta2(hosts(names), Slicing::kFewest);
  const json::value& individual =
      encoded.at("slices").at(0).at("valuesPerLevel").at(0).at("individual");
  EXPECT_EQ(individual.at("roots").at(30), "");
}

TEST(AssignmentEncoding, CharactersStayWhole) {
  // The first bytes of ä and ö are the same, and so are the last bytes of é and ũ.
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back(i % 2 == 0 ? "ä-é" : "ö-ũ");
  expect_round_trips(hosts(names));
  const std::string text = json::serialize(v1beta2(hosts(names), Slicing::kFewest));
  EXPECT_EQ(text.find("prefix"), std::string::npos);
  EXPECT_EQ(text.find("suffix"), std::string::npos);
  EXPECT_TRUE(parse_json(text).has_value());
}

// The size of the only slice for every legal prefix and suffix, by trying.
size_t best_single_slice(const std::vector<std::string>& names) {
  const std::string& first = names.front();
  size_t best = std::numeric_limits<size_t>::max();
  for (size_t prefix = 0; prefix <= first.size(); ++prefix) {
    for (size_t suffix = 0; prefix + suffix <= first.size(); ++suffix) {
      const std::string begin = first.substr(0, prefix);
      const std::string end = first.substr(first.size() - suffix);
      json::object individual;
      json::array roots;
      if (prefix > 0) individual["prefix"] = begin;
      if (suffix > 0) individual["suffix"] = end;
      for (const std::string& name : names) {
        if (name.size() < prefix + suffix || !name.starts_with(begin) || !name.ends_with(end))
          break;
        roots.emplace_back(name.substr(prefix, name.size() - prefix - suffix));
      }
      if (roots.size() != names.size()) continue;
      individual["roots"] = std::move(roots);
      best = std::min(best, size_of(json::object{{"individual", std::move(individual)}}));
    }
  }
  return best;
}

TEST(AssignmentEncoding, SingleSliceTakesOutTheBestPrefixAndSuffix) {
  std::mt19937_64 random(11);
  const std::vector<std::string> pieces = {"a", "aa", "ab", "aba", "-long-name-", "b"};
  for (int round = 0; round < 500; ++round) {
    const std::string& begin = pieces[random() % pieces.size()];
    const std::string& end = pieces[random() % pieces.size()];
    std::vector<std::string> names = {"unlike"};
    for (size_t i = 0; i < 2 + random() % 8; ++i) {
      names.push_back(begin + pieces[random() % pieces.size()] + end);
    }
    if (random() % 4 != 0) names.erase(names.begin());
    if (std::set(names.begin(), names.end()).size() == 1) continue;
    const json::value encoded = v1beta2(hosts(names), Slicing::kFewest);
    EXPECT_EQ(size_of(encoded.at("slices").at(0).at("valuesPerLevel").at(0)),
              best_single_slice(names));
  }
}

// -------------------------------------------------------------------------- properties, at random
// --

// Few letters and few counts, so that runs, equals and common parts are frequent; now and then
// characters of several bytes and such as JSON must escape.
TopologyAssignment random_assignment(std::mt19937_64& random, size_t most_domains) {
  static const std::vector<std::string> kPieces = {
      "a", "b", "rack-", "-node-", "ä", "ö", "日", "本", "\"", "\n", "\x01", "\x7f", "€", "\\"};
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  const size_t alphabet = below(3) == 0 ? kPieces.size() : 4;
  TopologyAssignment assignment{std::vector<std::string>(1 + below(3), "level"), {}};
  std::vector<std::string> stems(assignment.levels.size());
  for (size_t i = 0, domains = below(most_domains + 1); i < domains; ++i) {
    DomainAssignment domain;
    for (std::string& stem : stems) {
      if (below(8) == 0) {
        stem.clear();
        for (size_t piece = below(5); piece > 0; --piece) stem += kPieces[below(alphabet)];
      }
      domain.values.push_back(stem + (below(2) == 0 ? "" : kPieces[below(alphabet)]));
    }
    domain.count = static_cast<int32_t>(below(6) == 0 ? 1 + below(2'000'000'000) : 1);
    assignment.domains.push_back(std::move(domain));
  }
  return assignment;
}

TEST(AssignmentEncoding, RandomAssignmentsRoundTrip) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) expect_round_trips(random_assignment(random, 60));
  for (int round = 0; round < 5; ++round) expect_round_trips(random_assignment(random, 5000));
}

TEST(AssignmentEncoding, SlicesNeverMakeItLarger) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const TopologyAssignment assignment = random_assignment(random, round < 290 ? 80 : 4000);
    const size_t fewest = size_of(v1beta2(assignment, Slicing::kFewest));
    EXPECT_LE(size_of(v1beta2(assignment)), fewest);
    EXPECT_LE(size_of(v1beta2(assignment, Slicing::kQuick)), fewest);
  }
}

// The smallest total of all ways to cut the domains, from the real sizes of real slices.
size_t smallest_size(const TopologyAssignment& assignment) {
  const size_t count = assignment.domains.size();
  std::vector<size_t> best(count + 1, std::numeric_limits<size_t>::max());
  best[0] = size_of(v1beta2({assignment.levels, {}})) - 1;  // the first slice has no comma
  for (size_t end = 1; end <= count; ++end) {
    for (size_t start = 0; start < end; ++start) {
      const auto domains = assignment.domains.begin();
      const TopologyAssignment part{assignment.levels, {domains + start, domains + end}};
      const json::value slices = v1beta2(part, Slicing::kFewest).at("slices");
      best[end] = std::min(best[end], best[start] + size_of(slices.at(0)) + 1);
    }
  }
  return best[count];
}

TEST(AssignmentEncoding, SlicesAreTheBestOfAll) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    const TopologyAssignment assignment = random_assignment(random, 60);
    if (assignment.domains.empty()) continue;
    EXPECT_EQ(size_of(v1beta2(assignment)), smallest_size(assignment));
  }
}

// ---------------------------------------------------------------------------- limits of the
// encoder --

TEST(AssignmentEncoding, EncoderNamesTheLimitThatIsBroken) {
  const std::string place = "topology assignment: ";
  EXPECT_EQ(encode_error({{}, {}}),
            place + "levels: has 0 elements, but must have between 1 and 16");
  EXPECT_EQ(encode_error({std::vector<std::string>(17, "x"), {}}),
            place + "levels: has 17 elements, but must have between 1 and 16");
  EXPECT_EQ(encode_error({{std::string(318, 'x')}, {}}),
            place + "levels[0]: has 318 characters, but at most 317 are allowed");
  EXPECT_EQ(encode_error({{"rack"}, {{{"a"}, 1}, {{"b"}, 0}}}),
            place + "domains[1].count: is 0, but must be at least 1");
  EXPECT_EQ(encode_error({{"block", "rack"}, {{{"a"}, 1}}}),
            place + "domains[0].values: has 1 elements, but there are 2 levels");
  EXPECT_EQ(encode_error(hosts({"a", std::string(64, 'x')})),
            place + "domains[1].values[0]: has 64 characters, but at most 63 are allowed");
}

TEST(AssignmentEncoding, LengthsAreCountedInCharacters) {
  std::string longest;
  for (int i = 0; i < 63; ++i) longest += "ä";
  expect_round_trips(hosts({longest, "a" + longest.substr(2)}));
  EXPECT_NE(encode_error(hosts({longest + "ä"})).find("has 64 characters"), std::string::npos);
}

TEST(AssignmentEncoding, TotalsAreBounded) {
  TopologyAssignment assignment{std::vector<std::string>(16, "level"), {}};
  assignment.domains.assign(125'001, {std::vector<std::string>(16, "x"), 1});
  EXPECT_EQ(encode_error(assignment),
            "topology assignment: domains: makes it 125001 domains of 16 levels, but an assignment "
            "has at most 1000000 domains and 2000000 values");
}

TEST(AssignmentEncoding, SlicesHoldAtMostHundredThousandDomains) {
  const TopologyAssignment assignment = hosts(std::vector<std::string>(250'001, "same"));
  for (const Slicing slicing : {Slicing::kSmallest, Slicing::kFewest}) {
    const json::value encoded = v1beta2(assignment, slicing);
    EXPECT_EQ(encoded.at("slices").get_array().size(), 3);
    EXPECT_EQ(decoded(encoded), assignment);
  }
}

// ---------------------------------------------------------------------------- refusals of the
// decoder --

TEST(AssignmentEncoding, DecoderRefusesWhatIsNeitherForm) {
  const std::string one_of =
      "status.assignment: must have exactly one of domains (v1beta1) and slices (v1beta2)";
  EXPECT_EQ(decode_error(R"({"levels": ["a"]})"), one_of);
  EXPECT_EQ(decode_error(R"({"levels": ["a"], "domains": [], "slices": []})"), one_of);
  EXPECT_EQ(decode_error("[]"), "status.assignment: must be an object");
  EXPECT_EQ(decode_error("null"), "status.assignment.levels: is required");
  EXPECT_EQ(decode_error(R"({"levels": [1], "domains": []})"),
            "status.assignment.levels[0]: must be a string");
  EXPECT_EQ(decode_error(R"({"levels": ["a"], "domains": [], "more": 1})"),
            "status.assignment.more: unknown field");
  EXPECT_EQ(decode_error(R"({"levels": ["a"], "slices": {}})"),
            "status.assignment.slices: must be a list");
}

TEST(AssignmentEncoding, DecoderNamesTheFieldOfV1beta1) {
  const auto error = [](const std::string& domain) {
    return decode_error(R"({"levels": ["a"], "domains": [{"values": ["x"], "count": 1}, )" +
                        domain + "]}");
  };
  const std::string place = "status.assignment.domains[1]";
  EXPECT_EQ(error("7"), place + ": must be an object");
  EXPECT_EQ(error("null"), place + ".values: is required");
  EXPECT_EQ(error(R"({"values": ["x"]})"), place + ".count: is required");
  EXPECT_EQ(error(R"({"values": ["x"], "count": 0})"),
            place + ".count: is 0, but must be between 1 and 2147483647");
  EXPECT_EQ(error(R"({"values": ["x"], "count": 2147483648})"),
            place + ".count: is 2147483648, but must be between 1 and 2147483647");
  EXPECT_EQ(error(R"({"values": ["x"], "count": 1.5})"), place + ".count: must be a whole number");
  EXPECT_EQ(error(R"({"values": ["x", "y"], "count": 1})"),
            place + ".values: has 2 elements, but there are 1 levels");
  EXPECT_EQ(error(R"({"values": [null], "count": 1})"), place + ".values[0]: must be a string");
  EXPECT_EQ(error(R"({"values": ["x"], "count": 1, "pods": 1})"), place + ".pods: unknown field");
  EXPECT_EQ(error(R"({"values": [")" + std::string(64, 'x') + R"("], "count": 1})"),
            place + ".values[0]: has 64 characters, but at most 63 are allowed");
}

std::string slice_error(const std::string& count, const std::string& level,
                        const std::string& pods) {
  return decode_error(R"({"levels": ["a"], "slices": [{"domainCount": )" + count +
                      R"(, "valuesPerLevel": [)" + level + R"(], "podCounts": )" + pods + "}]}");
}

TEST(AssignmentEncoding, DecoderNamesTheFieldOfV1beta2) {
  const std::string place = "status.assignment.slices[0]";
  const std::string level = R"({"individual": {"roots": ["x", "y"]}})";
  const std::string pods = R"({"universal": 1})";
  const std::string one_of = ": must have exactly one of universal and individual";
  EXPECT_EQ(slice_error("2", level, pods), "no error");
  EXPECT_EQ(slice_error("0", level, pods),
            place + ".domainCount: is 0, but must be between 1 and 100000");
  EXPECT_EQ(slice_error("null", level, pods), place + ".domainCount: is required");
  EXPECT_EQ(slice_error("3", level, pods),
            place + ".valuesPerLevel[0].individual.roots: has 2 elements, but domainCount is 3");
  EXPECT_EQ(slice_error("2", level + "," + level, pods),
            place + ".valuesPerLevel: has 2 elements, but the number of levels is 1");
  EXPECT_EQ(slice_error("1", R"({"universal": 1})", pods),
            place + ".valuesPerLevel[0].universal: must be a string");
  EXPECT_EQ(slice_error("1", "{}", pods), place + ".valuesPerLevel[0]" + one_of);
  EXPECT_EQ(slice_error("1", R"({"universal": "x", "individual": {"roots": ["x"]}})", pods),
            place + ".valuesPerLevel[0]" + one_of);
  EXPECT_EQ(slice_error("1", R"({"individual": {}})", pods),
            place + ".valuesPerLevel[0].individual.roots: is required");
  EXPECT_EQ(slice_error("1", R"({"individual": {"roots": [1]}})", pods),
            place + ".valuesPerLevel[0].individual.roots[0]: must be a string");
  EXPECT_EQ(slice_error("1", R"({"individual": {"prefix": "", "roots": ["x"]}})", pods),
            place + ".valuesPerLevel[0].individual.prefix: must not be empty; leave it out");
  EXPECT_EQ(slice_error("1",
                        R"({"individual": {"prefix": ")" + std::string(60, 'x') +
                            R"(", "roots": ["yyyy"]}})",
                        pods),
            place +
                ".valuesPerLevel[0].individual.roots[0] with prefix and suffix: has 64 "
                "characters, but at most 63 are allowed");
  EXPECT_EQ(slice_error("2", level, "{}"), place + ".podCounts" + one_of);
  EXPECT_EQ(slice_error("2", level, R"({"individual": [1]})"),
            place + ".podCounts.individual: has 1 elements, but domainCount is 2");
  EXPECT_EQ(slice_error("2", level, R"({"individual": [1, 0]})"),
            place + ".podCounts.individual[1]: must be a whole number between 1 and 2147483647");
  EXPECT_EQ(slice_error("2", level, R"({"podCounts": [1, 1]})"),
            place + ".podCounts.podCounts: unknown field");
}

TEST(AssignmentEncoding, DecoderBoundsWhatFewBytesClaim) {
  const std::string level = R"({"universal": "x"})";
  const std::string pods = R"({"universal": 1})";
  EXPECT_EQ(
      slice_error("2000000000", level, pods),
      "status.assignment.slices[0].domainCount: is 2000000000, but must be between 1 and 100000");
  const json::value slice = parse(R"({"domainCount": 100000, "valuesPerLevel": [)" + level +
                                  R"(], "podCounts": )" + pods + "}");
  json::value many = json::object{{"levels", {"a"}}, {"slices", json::array(10, slice)}};
  EXPECT_EQ(decoded(many).domains.size(), kMaxDomains);
  many.at("slices").get_array().push_back(slice);
  EXPECT_EQ(
      decode_assignment(many, "at").error().message,
      "at.slices[10].domainCount: makes it 1100000 domains of 1 levels, but an assignment has "
      "at most 1000000 domains and 2000000 values");
  // A text of a megabyte is refused before it is copied 100 000 times.
  const std::string huge = R"({"universal": ")" + std::string(1 << 20, 'x') + R"("})";
  EXPECT_EQ(slice_error("100000", huge, pods),
            "status.assignment.slices[0].valuesPerLevel[0].universal: has 1048576 characters, but "
            "at most 63 are allowed");
  many.at("slices") = json::array(1001, slice);
  EXPECT_EQ(decode_assignment(many, "at").error().message,
            "at.slices: has 1001 elements, but at most 1000 are allowed");
}

// ----------------------------------------------------------------------------- naming of providers
// --

TEST(NamingSchemes, NamesAreDistinctLabelValues) {
  for (const NamingScheme& scheme : naming_schemes()) {
    const TopologyAssignment all = one_pod_per_node(scheme, kSchemeNodes);
    for (size_t i = 0; i < all.domains.size(); ++i) {
      ASSERT_LE(all.domains[i].values[0].size(), kMaxValueLength);
      ASSERT_TRUE(i == 0 || all.domains[i - 1].values < all.domains[i].values) << scheme.name;
    }
  }
}

TEST(NamingSchemes, HundredThousandNodesFitIntoEtcd) {
  for (const NamingScheme& scheme : naming_schemes()) {
    // 64 random bits a name leave nothing to share: 100 000 do not fit by any slicing, 90 000 do.
    const size_t nodes = scheme.name == "eks-resource" ? 90'000 : 100'000;
    const TopologyAssignment assignment = one_pod_per_node(scheme, nodes);
    const json::value smallest = v1beta2(assignment);
    EXPECT_LE(size_of(smallest), kEtcdEntryBytes) << scheme.name;
    EXPECT_LE(size_of(smallest), size_of(v1beta2(assignment, Slicing::kFewest))) << scheme.name;
    EXPECT_EQ(decoded(smallest), assignment) << scheme.name;
  }
}

TEST(NamingSchemes, CutsAreChosenWellWhenThereAreTooMany) {
  // 2500 racks and 1000 slices. No slicing is smaller than 1 085 714 bytes: a bound computed with
  // a price per slice (Lagrange) over all cuts.
  const auto schemes = naming_schemes();
  const auto racks = std::ranges::find(schemes, "on-prem", &NamingScheme::name);
  ASSERT_NE(racks, schemes.end());
  const json::value encoded = v1beta2(one_pod_per_node(*racks, 100'000));
  EXPECT_LE(encoded.at("slices").get_array().size(), kMaxSlices);
  EXPECT_LE(size_of(encoded), 1'086'800);
}

}  // namespace
}  // namespace phalanx::topology

// Clusters that were saved, and objects that were listed from one.
#include "base/file.h"
#include "cli/simulate_testing.h"

namespace phalanx::cli {
namespace {

class SimulateLoadTest : public SimulateTest {
 protected:
  [[nodiscard]] std::string saved() const { return (folder_ / "saved").string(); }
  [[nodiscard]] static json::value load(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-o", "json"});
    const Ran ran = run_phalanx(arguments);
    EXPECT_EQ(ran.code, kDone) << ran.err;
    const auto document = parse_json(ran.out);
    EXPECT_TRUE(document) << ran.out;
    return document ? *document : json::value();
  }
};

// Everything that is said of a workload but for when this run began, and names that chance gives.
json::array outcomes(const json::value& document) {
  json::array result;
  for (json::value record : document.at("workloads").as_array()) {
    record.as_object().erase("submittedAt");
    result.push_back(std::move(record));
  }
  return result;
}

TEST_F(SimulateLoadTest, ASavedClusterGoesOnAsIfNothingHadHappened) {
  // At 5m one runs, one is half way through two rounds of pods, one waits.
  std::string rounds = manifest({"rounds", 2, 4, "4m"});
  rounds.replace(rounds.find("completions: 2"), 14, "completions: 4");
  const std::string jobs = manifest({"a", 2}) + rounds + manifest({"c", 2, 4, "3m"});
  const json::value whole = simulate_json(jobs);
  (void)simulate_json(jobs, {"--until", "5m", "--save", saved()});
  const json::value rest = load({"simulate", "--load", saved()});
  EXPECT_EQ(outcomes(rest), outcomes(whole));
  EXPECT_EQ(rest.at("start").as_string(), "2026-01-01T00:05:00Z");
  EXPECT_EQ(workload(rest, "ml/a").at("submittedAt").as_string(), "-5m");
  EXPECT_EQ(events_of(rest, "ml/a"), "5m1s finished");
  EXPECT_EQ(events_of(rest, "3 workloads"), "0s loaded");
  EXPECT_EQ(rest.at("loaded").as_string(), saved());
  EXPECT_TRUE(rest.at("faults").as_array().empty());
}

TEST_F(SimulateLoadTest, ManifestsComeOnTop) {
  (void)simulate_json(manifest({"a", 2}), {"--until", "5m", "--save", saved()});
  const std::string more = file("more.yaml", manifest({"b", 2}));
  const json::value document = load({"simulate", "--load", saved(), "-f", more});
  EXPECT_EQ(events_of(document, "ml/b"), "0s submitted; 0s admitted; 1s started; 10m1s finished");
  EXPECT_EQ(workload(document, "ml/b").at("placement").as_string(), "rack r2: 2 hosts");
}

TEST_F(SimulateLoadTest, ExplainLooksIntoASavedCluster) {
  (void)simulate_json(manifest({"large", 3}) + manifest({"a"}),
                      {"--until", "5m", "--save", saved()});
  const Ran ran = run_phalanx({"explain", "--load", saved(), "large", "--at", "0s"});
  EXPECT_EQ(ran.code, kExplainedNo) << ran.err;
  expect_parts(ran.out, {"Job ml/large: waits", "number 1 of 1 that wait"});
}

TEST_F(SimulateLoadTest, WhatCannotBeLoadedIsNamedWithItsRemedy) {
  const auto failure = [&](const std::string& folder) {
    const Ran ran = run_phalanx({"simulate", "--load", folder});
    EXPECT_EQ(ran.code, kBadInput);
    return ran.err;
  };
  expect_parts(failure((folder_ / "none").string()),
               {"--load: ", "none: there is no such folder; name one"});
  expect_parts(failure(folder_.string()), {"there is no cluster.yaml; name a folder"});
  (void)simulate_json(manifest({"a"}), {"--until", "5m", "--save", saved()});
  std::filesystem::remove(saved() + "/nodes.yaml");
  expect_parts(failure(saved()), {"saved/nodes.yaml: is missing", "copy the folder whole"});
  EXPECT_EQ(run_phalanx({"simulate", "--load", saved(), "--seed", "7"}).code, kBadInput);
  EXPECT_EQ(run_phalanx({"explain", "a"}).err,
            "phalanx: name manifests with -f, a saved cluster with --load, or a running one with "
            "--kubeconfig\n");
}

// As `kubectl get job -o yaml` prints them.
TEST_F(SimulateLoadTest, JobsFromAListingStartAnew) {
  (void)simulate_json(manifest({"a", 2}), {"--until", "5m", "--save", saved()});
  const auto jobs = read_file(saved() + "/jobs.yaml");
  ASSERT_TRUE(jobs);
  expect_parts(*jobs, {"controller-uid", "selector", "uid", "active"});
  const json::value document = simulate_json(*jobs);
  EXPECT_EQ(events_of(document, "ml/a"), "0s submitted; 0s admitted; 1s started; 10m1s finished");
}

TEST_F(SimulateLoadTest, PlacesThatCannotBeWrittenAreFoundBeforeTheRun) {
  // The missing file is what anything later would complain about.
  const auto failure = [](const std::string& option, const std::string& place) {
    const Ran ran = run_phalanx({"simulate", "-f", "/no/such/file", option, place});
    EXPECT_EQ(ran.code, kBadInput);
    return ran.err;
  };
  expect_parts(failure("--journal", "/no/such/folder/j"), {"--journal: /no/such/folder/j"});
  expect_parts(failure("--save", file("plain", "x")), {"--save: ", "is a file"});
  // A file that is there stays as it is, and none is left behind.
  const std::string journal = file("journal", "old");
  expect_parts(failure("--journal", journal), {"/no/such/file"});
  EXPECT_EQ(read_file(journal).value_or(""), "old");
  expect_parts(failure("--journal", (folder_ / "new").string()), {"/no/such/file"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

}  // namespace
}  // namespace phalanx::cli

// `phalanx simulate` as a user runs it.
#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "cli/command.h"
#include "cli/simulate_placement.h"
#include "cli/simulate_report.h"
#include "cli/simulate_testing.h"
#include "sim/state_folder.h"

namespace phalanx::cli {
namespace {

TEST_F(SimulateTest, TellsTheStoryOfEveryJob) {
  // Both want a whole rack, and a third one has to wait for one of them.
  const Ran ran = simulate(manifest({"a", 2}) + manifest({"b", 2}) + manifest({"c", 2}));
  EXPECT_EQ(ran.code, kDone) << ran.err;
  expect_parts(ran.out,
               {"4 nodes", "submitted", "admitted   ml/a     rack r1: 2 hosts", "rack r2: 2 hosts",
                "waits", "started", "finished", "Workloads", "WHERE OR WHY", "Quota in use",
                "Nodes in use", "Fragmentation", "sha256", "nothing moves any more"});
}

TEST_F(SimulateTest, JsonHasTimesAndNumbers) {
  const json::value document =
      simulate_json(manifest({"a", 2}) + manifest({"b", 2}) + manifest({"c", 2}));
  EXPECT_EQ(events_of(document, "ml/a"), "0s submitted; 0s admitted; 1s started; 10m1s finished");
  const json::value waited = workload(document, "ml/c");
  EXPECT_EQ(waited.at("state").as_string(), "finished");
  EXPECT_EQ(waited.at("waitedSeconds").to_number<double>(), 601);
  EXPECT_EQ(waited.at("ranSeconds").to_number<double>(), 601);
  EXPECT_EQ(waited.at("pods").to_number<int>(), 2);
  EXPECT_EQ(waited.at("clusterQueue").as_string(), "team");
  // Full for half of the time, half full for the other.
  const json::value& quota = document.at("utilisation").at("quotas").at(0);
  EXPECT_EQ(quota.at("nominal").as_string(), "16");
  EXPECT_EQ(quota.at("peak").as_string(), "16");
  EXPECT_EQ(quota.at("used").as_string(), "0");
  EXPECT_NEAR(quota.at("average").to_number<double>(), 0.75, 0.01);
  for (const json::value& node : document.at("utilisation").at("nodes").as_array()) {
    if (node.at("resource").as_string() != "nvidia.com/gpu") continue;
    EXPECT_NEAR(node.at("average").to_number<double>(), 0.75, 0.01);
  }
  EXPECT_EQ(document.at("ended").as_string(), "quiet");
  EXPECT_TRUE(document.at("faults").as_array().empty());
}

TEST_F(SimulateTest, ToBorrowIsNoFault) {
  const Ran ran =
      simulate(two_queues() + manifest({.name = "a",
                                        .pods = 4,
                                        .topology = "kueue.x-k8s.io/podset-unconstrained-topology: "
                                                    "'true'",
                                        .labels = "kueue.x-k8s.io/queue-name: mine"}));
  EXPECT_EQ(ran.code, kDone) << ran.out << ran.err;
  expect_parts(ran.out, {"admitted   ml/a", "finished"});
}

TEST_F(SimulateTest, TheSameRunTwiceIsTheSame) {
  const std::vector<std::string> sample{
      "simulate", "--nodes", "2 blocks x 2 racks x 4 hosts", "--seed", "5", "--until", "3h"};
  const Ran first = run_phalanx(sample);
  const Ran second = run_phalanx(sample);
  EXPECT_EQ(first.code, kDone) << first.err;
  EXPECT_EQ(first.out, second.out);
  std::vector<std::string> other = sample;
  other[4] = "6";
  EXPECT_NE(first.out, run_phalanx(other).out);
}

TEST_F(SimulateTest, WhatWaitsForEverIsShownWithItsReason) {
  const json::value document = simulate_json(manifest({"large", 3}));
  const json::value record = workload(document, "ml/large");
  EXPECT_EQ(record.at("state").as_string(), "waits");
  EXPECT_EQ(record.at("reason").as_string(), "TopologyPlacementFailed");
  EXPECT_NE(record.at("message").as_string().find("2 out of 3"), json::string::npos);
}

TEST_F(SimulateTest, JobsAreSubmittedWhenTheySay) {
  const json::value document = simulate_json(
      manifest({.name = "late", .annotations = "phalanx.dev/submit-at: 5m"}) + manifest({"a"}));
  EXPECT_EQ(events_of(document, "ml/late").substr(0, 12), "5m submitted");
  EXPECT_EQ(workload(document, "ml/late").at("submittedAt").as_string(), "5m");
}

TEST_F(SimulateTest, PriorityDecidesAmongJobsOfTheSameMoment) {
  const std::string classes = R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 7
)";
  TestJob important{"z", 4, 4, "10m", "", "kueue.x-k8s.io/podset-unconstrained-topology: 'true'"};
  TestJob other = important;
  other.name = "a";
  important.labels += ", kueue.x-k8s.io/priority-class: high";
  const json::value document = simulate_json(classes + manifest(other) + manifest(important));
  EXPECT_EQ(workload(document, "ml/z").at("waitedSeconds").to_number<double>(), 0);
  EXPECT_EQ(workload(document, "ml/z").at("priority").to_number<int>(), 7);
  EXPECT_GT(workload(document, "ml/a").at("waitedSeconds").to_number<double>(), 0);
}

TEST_F(SimulateTest, ATimelineActsAtItsTimes) {
  const std::string timeline = R"(---
apiVersion: phalanx.dev/v1
kind: Timeline
events:
- {at: 3m, node: r1-h1, becomes: NotReady}
- {at: 4m, node: r1-h1, becomes: Ready}
- at: 7m
  apply: {apiVersion: v1, kind: Namespace, metadata: {name: more}}
)";
  const json::value document = simulate_json(timeline + manifest({"a", 2}));
  EXPECT_EQ(events_of(document, "r1-h1"), "3m node; 4m node");
}

// After a drain only the pods that are not done yet run again.
TEST_F(SimulateTest, EvictionsAndDeletionsAreTold) {
  const std::string timeline = R"(---
apiVersion: phalanx.dev/v1
kind: Timeline
events:
- {at: 2m, pod: ml/a-0-*, becomes: Succeeded}
- {at: 3m, patch: ClusterQueue team, with: {spec: {stopPolicy: HoldAndDrain}}}
- {at: 4m, patch: ClusterQueue team, with: {spec: {stopPolicy: None}}}
- {at: 5m, restart: core}
- {at: 6m, delete: Job ml/a}
)";
  const json::value document = simulate_json(timeline + manifest({"a", 2}));
  const std::string events = events_of(document, "ml/a");
  EXPECT_NE(events.find("3m evicted"), std::string::npos) << events;
  EXPECT_NE(events.find("4m admitted; 4m1s started"), std::string::npos) << events;
  EXPECT_NE(events.find("deleted"), std::string::npos) << events;
  EXPECT_EQ(workload(document, "ml/a").at("evictions").to_number<int>(), 1);
  EXPECT_NEAR(workload(document, "ml/a").at("waitedSeconds").to_number<double>(), 60, 1);
  // What it held is given back.
  EXPECT_EQ(document.at("utilisation").at("quotas").at(0).at("used").as_string(), "0");
}

TEST_F(SimulateTest, EndsWhenItIsTold) {
  const json::value document = simulate_json(manifest({"a"}), {"--until", "2m"});
  EXPECT_EQ(document.at("ranFor").as_string(), "2m");
  EXPECT_EQ(document.at("ended").as_string(), "until");
  EXPECT_EQ(workload(document, "ml/a").at("state").as_string(), "running");
}

TEST_F(SimulateTest, ASpeedChangesNothingButHowLongItTakes) {
  const std::string jobs = manifest({"a"});
  EXPECT_EQ(simulate(jobs).out, simulate(jobs, {"--speed", "1000000"}).out);
}

TEST_F(SimulateTest, JobsThatNobodyQueuesAreNamed) {
  TestJob free{"free"};
  free.labels = "team: none";
  const Ran ran = simulate(manifest(free));
  expect_parts(ran.out, {"ml/free", "not managed", "give it the label"});
}

TEST_F(SimulateTest, JournalAndClusterAreWritten) {
  const std::string journal = (folder_ / "journal.jsonl").string();
  const std::string saved = (folder_ / "saved").string();
  const json::value document =
      simulate_json(manifest({"a"}), {"--journal", journal, "--save", saved});
  const auto text = read_file(journal);
  ASSERT_TRUE(text);
  EXPECT_EQ(document.at("journal").at("sha256").as_string(), sha256_hex(*text));
  EXPECT_NE(text->find("\"decision\":\"admit\""), std::string::npos);
  const auto state = sim::load_state(saved);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_TRUE(state->objects.contains({api::Kind::kJob, "ml", "a"}));
}

TEST_F(SimulateTest, LongListsAreCut) {
  std::string jobs;
  for (int i = 0; i < 20; ++i) jobs += manifest({"job" + std::to_string(i)});
  const Ran ran = simulate(jobs, {"--max-lines", "4"});
  expect_parts(ran.out, {"more events; -o json has them all", "... 16 more workloads"});
}

TEST_F(SimulateTest, WhatTheClusterDoesNotHaveIsSkippedAndSaid) {
  const Ran ran = simulate("---\n{apiVersion: v1, kind: Secret, metadata: {name: s}}\n");
  EXPECT_EQ(ran.code, kDone);
  expect_parts(ran.err, {"jobs.yaml: line 2: Secret s: skipped: ", "has no kind v1 Secret"});
}

TEST_F(SimulateTest, BadInputIsNamedWithItsPlace) {
  const auto timeline = [](std::string_view events) {
    return fmt::format("---\n{{apiVersion: phalanx.dev/v1, kind: Timeline, {}}}\n", events);
  };
  const std::vector<std::pair<std::string, std::vector<std::string_view>>> cases{
      {"---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: t}, spec: {}}\n",
       {"jobs.yaml: line 2: Topology t: ", "spec.levels"}},
      {manifest({.name = "a", .annotations = "phalanx.dev/submit-at: soon"}),
       {"Job ml/a: metadata.annotations[phalanx.dev/submit-at]: ", "10m"}},
      {manifest({.name = "a", .annotations = "phalanx.dev/submit-at: 9999h"}), {"30 days"}},
      {manifest({"a", -1}), {"Job ml/a: spec.", "parallelism"}},
      {timeline("events: 3"), {"Timeline: events: must be a list"}},
      {timeline("events: [{node: n, becomes: Ready}]"), {"events[0]: at: is required"}},
      {timeline("events: [{at: 3, node: n, becomes: Ready}]"), {"events[0]: at: must be a text"}},
      {timeline("events: [{at: 1m, nod: n}]"), {"events[0]: ", "nod"}},
      {timeline("events: [{at: 1m, run: 5s}]"), {"events[0]: run: time passes by itself"}},
      {timeline("events: [7]"), {"events[0]: write {at:"}},
      {timeline("event: []"), {"Timeline: event", "events"}},
      {timeline("events: [{at: 1m, node: nobody, becomes: Ready}]"), {"events[0]: ", "nobody"}},
      {"---\n{apiVersion: phalanx.dev/v2, kind: Timeline}\n", {"a Timeline has phalanx.dev/v1"}},
  };
  for (const auto& [manifests, parts] : cases) {
    const Ran ran = simulate(manifests);
    EXPECT_EQ(ran.code, kBadInput) << manifests;
    EXPECT_EQ(ran.out, "") << manifests;
    expect_parts(ran.err, parts);
  }
}

TEST_F(SimulateTest, BadOptionsAreNamed) {
  const std::string job = manifest({"a"});
  const std::vector<std::pair<std::vector<std::string>, std::string_view>> cases{
      {{"--until", "later"}, "--until: "},
      {{"--until", "1000h"}, "--until: at most 720h"},
      {{"--speed", "0"}, "--speed"},
      {{"--speed", "nan"}, "--speed"},
      {{"--feature-gates", "NoSuchGate=true"}, "NoSuchGate"},
      {{"--config", "/no/such/file"}, "/no/such/file"},
      {{"--journal", "/no/such/folder/j"}, "/no/such/folder/j"},
  };
  for (const auto& [options, part] : cases) {
    const Ran ran = simulate(job, options);
    EXPECT_EQ(ran.code, kBadInput) << options[0];
    expect_parts(ran.err, {part});
  }
  EXPECT_EQ(run_phalanx({"simulate", "--nodes", "many"}).code, kBadInput);
  for (const std::string seed : {"-1", "1.5", "18446744073709551616", "seven", ""}) {
    const Ran ran = run_phalanx({"simulate", "--nodes", "1 host", "--until", "1s", "--seed", seed});
    EXPECT_EQ(ran.code, kBadInput) << seed;
    EXPECT_TRUE(ran.err.contains("--seed: \"" + seed + "\" is no seed; write a whole number"))
        << ran.err;
  }
  EXPECT_EQ(run_phalanx({"simulate", "-f", "/no/such/file"}).code, kBadInput);
  const Ran as_json = run_phalanx({"simulate", "-f", "/no/such/file", "-o", "json"});
  EXPECT_TRUE(parse_json(as_json.out)) << as_json.out;
}

TEST_F(SimulateTest, AConfigurationIsHeard) {
  TestJob free{"free"};
  free.labels = "team: none";
  const std::string configuration =
      file("configuration.yaml",
           "apiVersion: config.phalanx.dev/v1\nkind: Configuration\nmanageJobsWithoutQueueName: "
           "true\n");
  const json::value document = simulate_json(manifest(free), {"--config", configuration});
  EXPECT_EQ(workload(document, "ml/free").at("state").as_string(), "set aside");
}

// Six of eight hosts are taken so that one is left in each of two racks.
TEST(SimulatePlacementTest, FragmentationComparesTheLargestGangWithWhatCouldBe) {
  core::State state;
  const std::string flavor = "f";
  state.flavors[flavor].meta.name = flavor;
  state.account.set_tree(flavor,
                         topology::TreeSpec{"t", {"rack", "kubernetes.io/hostname"}, {}, {}});
  for (int i = 0; i < 8; ++i) {
    const std::string name = "n" + std::to_string(i);
    ASSERT_TRUE(
        state.account.put_node({name,
                                {{"rack", i < 4 ? "a" : "b"}, {"kubernetes.io/hostname", name}},
                                {{"cpu", 1000}, {"pods", 10}},
                                {},
                                false,
                                true}));
  }
  const api::ResourceAmounts pod{{"cpu", 1000}};
  auto rooms = room_of(state, flavor, pod);
  ASSERT_EQ(rooms.size(), 2U);
  EXPECT_EQ(rooms[0].largest, 4);
  EXPECT_EQ(rooms[0].total, 8);
  EXPECT_EQ(rooms[0].fragmentation, 0);  // a rack cannot hold more than four
  api::TopologyAssignment taken{{"kubernetes.io/hostname"}, {}};
  for (const char* host : {"n0", "n1", "n2", "n4", "n5", "n6"})
    taken.domains.push_back({{host}, 1});
  state.account.hold("w", {{"main", pod, flavor, taken}});
  rooms = room_of(state, flavor, pod);
  EXPECT_EQ(rooms[0].largest, 1);
  EXPECT_EQ(rooms[0].largest_if_empty, 4);
  EXPECT_EQ(rooms[0].total, 2);
  EXPECT_EQ(rooms[0].fragmentation, 0.5);  // two are free, but no rack has both
  EXPECT_EQ(rooms[1].fragmentation, 0);
}

TEST(SimulatePlacementTest, LevelsHaveTheWordsOfPeople) {
  EXPECT_EQ(level_word("cloud.provider.com/topology-rack"), "rack");
  EXPECT_EQ(level_word("kubernetes.io/hostname"), "host");
  EXPECT_EQ(level_word("topology.kubernetes.io/zone"), "zone");
  EXPECT_EQ(level_word("row"), "row");
  EXPECT_EQ(level_word("topology-"), "topology-");
}

TEST(SimulateReportTest, TablesAreAligned) {
  EXPECT_EQ(draw_table({{"NAME", "N"}, {"a", "10"}, {"remark"}}, {1}),
            "  NAME   N\n  a     10\n  remark\n");
}

TEST(SimulateNodeUseTest, PodsOfANodeThatIsGoneTakeNothing) {
  NodeUse use;
  use.add_pod("a", {{"cpu", 3}}, 1);  // seen before its node
  EXPECT_EQ(sim::amount_of(use.used(), "cpu"), 0);
  use.put_node("a", api::ResourceAmounts{{"cpu", 4}});
  use.put_node("b", api::ResourceAmounts{{"cpu", 4}});
  use.add_pod("b", {{"cpu", 2}}, 1);
  EXPECT_EQ(sim::amount_of(use.allocatable(), "cpu"), 8);
  EXPECT_EQ(sim::amount_of(use.used(), "cpu"), 5);
  use.put_node("a", std::nullopt);
  EXPECT_EQ(sim::amount_of(use.allocatable(), "cpu"), 4);
  EXPECT_EQ(sim::amount_of(use.used(), "cpu"), 2);
  use.add_pod("a", {{"cpu", 3}}, -1);
  use.put_node("a", api::ResourceAmounts{{"cpu", 6}});
  EXPECT_EQ(sim::amount_of(use.used(), "cpu"), 2);
}

TEST(SimulateGaugeTest, AveragesAreWeightedByTime) {
  Gauge gauge;
  gauge.set(4, 4);
  gauge.pass(std::chrono::hours(1));
  gauge.set(0, 4);
  gauge.pass(std::chrono::hours(3));
  EXPECT_EQ(gauge.average(), 0.25);
  EXPECT_EQ(gauge.peak(), 4);
  // A moment that takes no time is no peak.
  gauge.set(9, 4);
  gauge.pass(Duration(0));
  EXPECT_EQ(gauge.peak(), 4);
}

}  // namespace
}  // namespace phalanx::cli

// `phalanx scenario`: what it prints, what it refuses, and how it ends.
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "cli/command.h"
#include "cli/testing.h"

namespace phalanx::cli {
namespace {

std::string scenario(const std::string& name, const std::string& rest) {
  return "apiVersion: phalanx.dev/v1\nkind: Scenario\nmetadata: {name: " + name + "}\n" + rest +
         "\n";
}

// Suspended exactly if Jobs without a queue name are managed.
constexpr const char* kJobWithoutQueue = R"(steps:
- apply:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: a, namespace: ml}
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
- then:
  - object: Job ml/a
    has: {spec.suspend: true}
)";

class ScenarioCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_ / "include");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& content, const std::string& name = "a.yaml") {
    std::ofstream(folder_ / name) << content;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

TEST_F(ScenarioCommandTest, PrintsALineForEachAndTheSum) {
  const std::string path = file(scenario("good", "steps: [{run: 1s}]") + "---\n" +
                                scenario("bad", "steps: [{run: 1s}, {then: [{object: Job a}]}]"));
  const Ran ran = run_phalanx({"scenario", path});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_EQ(ran.out,
            "ok   good\nFAIL bad: step 2: there is no Job default/a\n1 passed, 1 failed\n");
  const Ran good = run_phalanx({"scenario", path, "--only", "go*"});
  EXPECT_EQ(good.code, kDone);
  EXPECT_EQ(good.out, "ok   good\n1 passed, 0 failed\n");
  EXPECT_EQ(run_phalanx({"scenario", path, "--only", "x*"}).code, kBadInput);
}

TEST_F(ScenarioCommandTest, PrintsOneJsonDocument) {
  const std::string path = file(scenario("bad", "steps: [{then: [{object: Job a}]}]"));
  const Ran ran = run_phalanx({"scenario", path, "-o", "json"});
  EXPECT_EQ(ran.code, kBadInput);
  const auto parsed = parse_json(ran.out);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, (json::value{{"passed", 0},
                                  {"failed", 1},
                                  {"scenarios", json::array{json::object{{"name", "bad"},
                                                                         {"file", path},
                                                                         {"passed", false},
                                                                         {"failure",
                                                                          "step 1: there is no Job "
                                                                          "default/a"}}}}}));
}

TEST_F(ScenarioCommandTest, ABadFileNamesItsPlaceAndRunsNothing) {
  const std::string path = file(scenario("good", "steps: [{run: 1s}]") + "---\n" +
                                scenario("bad", "steps: [{run: 1s}, {rnu: 1s}]"));
  const Ran ran = run_phalanx({"scenario", path});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "phalanx: " + path +
                         ": line 6: Scenario bad: step 2: rnu: unknown field; did you mean "
                         "`run`?\n");
  const std::string other = file("{apiVersion: v1, kind: Pod, metadata: {name: a}}\n", "b.yaml");
  EXPECT_NE(run_phalanx({"scenario", other}).err.find("is no Scenario"), std::string::npos);
  const std::string twice =
      file(scenario("a", "steps: [{run: 1s}]") + "---\n" + scenario("a", "steps: [{run: 1s}]"),
           "c.yaml");
  EXPECT_NE(run_phalanx({"scenario", twice}).err.find("another scenario of this name"),
            std::string::npos);
}

TEST_F(ScenarioCommandTest, NothingToRunIsSaidTruthfully) {
  const std::string empty = file("# nothing yet\n");
  EXPECT_EQ(
      run_phalanx({"scenario", empty}).err,
      "phalanx: " + empty + ": there is no scenario in it; write documents of kind Scenario\n");
  const std::string one = file(scenario("a", "steps: [{run: 1s}]"));
  const Ran none = run_phalanx({"scenario", one, "--only", "b*"});
  EXPECT_EQ(none.code, kBadInput);
  EXPECT_EQ(none.err, "phalanx: --only: no scenario has a name like \"b*\"; there are a\n");
}

TEST_F(ScenarioCommandTest, PartsTogetherAreTheWhole) {
  std::string content;
  for (const char* name : {"a", "b", "c", "d"}) {
    content += "---\n" + scenario(name, "steps: [{run: 1s}]");
  }
  const std::string path = file(content);
  const auto part = [&](const char* which) {
    return run_phalanx({"scenario", path, "--part", which});
  };
  EXPECT_EQ(part("1/3").out, "ok   a\nok   d\n2 passed, 0 failed\n");
  EXPECT_EQ(part("2/3").out, "ok   b\n1 passed, 0 failed\n");
  EXPECT_EQ(part("3/3").out, "ok   c\n1 passed, 0 failed\n");
  EXPECT_EQ(part("5/5").out, "0 passed, 0 failed\n");
  for (const char* bad : {"/", "1", "0/2", "3/2", "1/", "-1/2", "1/2/3", "a/b"}) {
    const Ran ran = part(bad);
    EXPECT_EQ(ran.code, kBadInput) << bad;
    EXPECT_NE(ran.err.find("is no part; write K/N"), std::string::npos) << bad;
  }
}

TEST_F(ScenarioCommandTest, IncludesFilesFromItsOwnFolder) {
  file("{apiVersion: v1, kind: Namespace, metadata: {name: shared}}\n", "include/namespace.yaml");
  const std::string then = "steps: [{then: [{object: Namespace shared}]}]";
  const std::string path = file(scenario("a", "include: [include/namespace.yaml]\n" + then));
  EXPECT_EQ(run_phalanx({"scenario", path}).out, "ok   a\n1 passed, 0 failed\n");
  const std::string missing = file(scenario("a", "include: [none.yaml]\n" + then));
  EXPECT_NE(run_phalanx({"scenario", missing}).err.find("Scenario a: include: "),
            std::string::npos);
}

TEST_F(ScenarioCommandTest, TakesConfigurationFromTheScenarioOrTheCommand) {
  const std::string with = file(scenario(
      "a", "config: {manageJobsWithoutQueueName: true}\n" + std::string(kJobWithoutQueue)));
  EXPECT_EQ(run_phalanx({"scenario", with}).code, kDone);
  const std::string without = file(scenario("a", kJobWithoutQueue), "without.yaml");
  EXPECT_EQ(run_phalanx({"scenario", without}).code, kBadInput);
  const std::string configuration = file(
      "{apiVersion: config.phalanx.dev/v1, kind: Configuration, "
      "manageJobsWithoutQueueName: true}\n",
      "include/config.yaml");
  EXPECT_EQ(run_phalanx({"scenario", without, "--config", configuration}).code, kDone);
  const Ran gates = run_phalanx({"scenario", without, "--feature-gates", "ReclaimablePod=true"});
  EXPECT_NE(gates.err.find("did you mean `ReclaimablePods`"), std::string::npos);
  const std::string wrong = file(scenario("a", "config: {mangeJobs: 1}\nsteps: [{run: 1s}]"));
  EXPECT_NE(run_phalanx({"scenario", wrong}).err.find("mangeJobs"), std::string::npos);
}

}  // namespace
}  // namespace phalanx::cli

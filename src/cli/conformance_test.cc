// `phalanx conformance`: what it prints, what it writes, and how it ends.
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "cli/command.h"
#include "cli/testing.h"

namespace phalanx::cli {
namespace {

// One node of four cores; asks for `count` pods of one.
std::string placement_case(const std::string& name, int count, const std::string& expected) {
  return R"({"name":")" + name +
         R"(","topology":{"levels":["rack","kubernetes.io/hostname"]},)"
         R"("nodes":[{"name":"n1","labels":{"rack":"r1","kubernetes.io/hostname":"n1"},)"
         R"("allocatable":{"cpu":"4","pods":"10"}}],)"
         R"("workload":{"podSets":[{"name":"main","count":)" +
         std::to_string(count) +
         R"(,"requests":{"cpu":"1"},"topologyRequest":{"required":"rack"}}]})" +
         (expected.empty() ? "" : R"(,"expected":{"podSets":[)" + expected + "]}") + "}\n";
}

constexpr const char* kTwoPlaced =
    R"({"name":"main","topologyAssignment":{"levels":["kubernetes.io/hostname"],)"
    R"("domains":[{"values":["n1"],"count":2}]}})";
constexpr const char* kSevenRefused =
    R"x({"name":"main","failure":"topology \"default\" allows to fit only 4 out of 7 pod(s)"})x";

class ConformanceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& content) {
    std::ofstream(folder_ / "cases.jsonl") << content;
    return (folder_ / "cases.jsonl").string();
  }
  [[nodiscard]] std::string results() const {
    std::ifstream stream(folder_ / "results.jsonl");
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::filesystem::path folder_;
};

TEST_F(ConformanceTest, AllPass) {
  const Ran ran = run_phalanx({"conformance", file(placement_case("a", 2, kTwoPlaced) + "\n" +
                                                   placement_case("b", 7, kSevenRefused))});
  EXPECT_EQ(ran.code, kDone);
  EXPECT_EQ(ran.out, "2 passed, 0 failed\n");
}

TEST_F(ConformanceTest, DifferencesAreShownUpToALimit) {
  std::string cases;
  for (int index = 0; index < 3; ++index) {
    cases += placement_case("case" + std::to_string(index), 1, kTwoPlaced);
  }
  const Ran ran = run_phalanx({"conformance", file(cases), "--show", "1"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_NE(ran.out.find("cases.jsonl:1: case case0 differs\n  expected {"), std::string::npos)
      << ran.out;
  EXPECT_EQ(ran.out.find("case1 differs"), std::string::npos);
  EXPECT_NE(ran.out.find("(2 more differences; --show 3 shows all)\n"), std::string::npos);
  EXPECT_TRUE(ran.out.ends_with("\n0 passed, 3 failed\n"));
}

TEST_F(ConformanceTest, MalformedLinesAreNamedByNumberAndFail) {
  std::string twice = placement_case("twice", 2, kTwoPlaced);
  const size_t nodes = twice.find("[{\"name\":\"n1\"") + 1;
  twice.insert(nodes, twice.substr(nodes, twice.find("}]", nodes) + 1 - nodes) + ",");
  const Ran ran = run_phalanx({"conformance",
                               file(placement_case("a", 2, kTwoPlaced) + "{\"name\":\n[]\n" +
                                    R"({"name":"b","color":1})" + "\n" + twice),
                               "--show", "0"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_NE(ran.out.find("cases.jsonl:2: line 1, column"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("cases.jsonl:3: must be an object"), std::string::npos);
  EXPECT_NE(ran.out.find("cases.jsonl:4: case b: color: unknown field"), std::string::npos);
  EXPECT_NE(ran.out.find("cases.jsonl:5: case twice: nodes[1].name: node \"n1\" stands twice"),
            std::string::npos)
      << ran.out;
  EXPECT_TRUE(ran.out.ends_with("\n1 passed, 4 failed\n"));
}

TEST_F(ConformanceTest, ResultsAreWrittenInInputOrderAndUnknownAnswersCountAsNeither) {
  const Ran ran = run_phalanx(
      {"conformance", file(placement_case("b", 7, "") + placement_case("a", 2, kTwoPlaced)),
       "--results", (folder_ / "results.jsonl").string()});
  EXPECT_EQ(ran.code, kDone);
  EXPECT_EQ(ran.out, "1 answered without an expected answer\n1 passed, 0 failed\n");
  const std::string written = results();
  const size_t end = written.find('\n');
  EXPECT_EQ(parse_json(written.substr(0, end)).value(),
            parse_json(std::string(R"({"name":"b","podSets":[)") + kSevenRefused + "]}").value());
  EXPECT_EQ(parse_json(written.substr(end + 1)).value(),
            parse_json(std::string(R"({"name":"a","podSets":[)") + kTwoPlaced + "]}").value());
}

TEST_F(ConformanceTest, AFileThatIsNotThere) {
  const Ran ran = run_phalanx({"conformance", (folder_ / "none.jsonl").string()});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_NE(ran.err.find("none.jsonl"), std::string::npos);
}

}  // namespace
}  // namespace phalanx::cli

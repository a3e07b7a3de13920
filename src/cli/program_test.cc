// What holds for the program as a whole, and for the commands that need no file of their own.
#include <set>

#include "base/json.h"
#include "cli/command.h"
#include "cli/testing.h"

namespace phalanx::cli {
namespace {

TEST(ProgramTest, HelpNamesTheCommandsAndExplainsOne) {
  const Ran overview = run_phalanx({"help"});
  EXPECT_EQ(overview.code, kDone);
  for (const char* command : {"place", "conformance", "bench"}) {
    EXPECT_NE(overview.out.find(command), std::string::npos) << command;
  }
  EXPECT_NE(run_phalanx({"help", "place"}).out.find("--explain"), std::string::npos);
  const std::string simulate = run_phalanx({"help", "simulate"}).out;
  for (const char* part : {"Usage: phalanx simulate [OPTIONS]", "--load FOLDER", "--speed X",
                           "--save FOLDER", "Exit codes: "}) {
    EXPECT_NE(simulate.find(part), std::string::npos) << part << "\n" << simulate;
  }
  const Ran unknown = run_phalanx({"help", "plaice"});
  EXPECT_EQ(unknown.code, kBadInput);
  EXPECT_NE(unknown.err.find("there is no command \"plaice\""), std::string::npos);
}

TEST(ProgramTest, VersionAndMisuse) {
  EXPECT_TRUE(run_phalanx({"--version"}).out.starts_with("phalanx "));
  EXPECT_EQ(run_phalanx({}).code, kBadInput);
  EXPECT_EQ(run_phalanx({"place", "--nonsense"}).code, kBadInput);
}

TEST(ProgramTest, MisuseIsNamedWithWhereToReadOn) {
  const Ran mistyped = run_phalanx({"simulte", "-f", "x"});
  EXPECT_EQ(mistyped.code, kBadInput);
  EXPECT_EQ(mistyped.err, "phalanx: there is no command \"simulte\"; did you mean `simulate`?\n");
  EXPECT_EQ(run_phalanx({}).err, "phalanx: name a command; see phalanx help\n");
  EXPECT_EQ(run_phalanx({"simulate", "--bogus"}).err,
            "phalanx: simulate: The following argument was not expected: --bogus; see phalanx help "
            "simulate\n");
  const Ran gates = run_phalanx({"simulate", "--feature-gates", "Tas=true"});
  EXPECT_TRUE(gates.err.starts_with("phalanx: --feature-gates: there is no feature gate \"Tas\""))
      << gates.err;
}

// Whoever reads JSON finds the error there, whatever was wrong.
TEST(ProgramTest, MisuseIsToldAsJsonToo) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"simulate", "-o", "json", "--bogus"},
        {"simulate", "--bogus", "--output=json"},
        {"place", "--json"},
        {"simulate", "-ojson", "--until", ""},
        {"simulte", "-o", "json"}}) {
    const Ran ran = run_phalanx(arguments);
    EXPECT_EQ(ran.code, kBadInput);
    const auto document = parse_json(ran.out);
    ASSERT_TRUE(document) << ran.out;
    EXPECT_FALSE(document->at("error").as_string().empty());
  }
  EXPECT_EQ(run_phalanx({"simulate", "--bogus"}).out, "");
}

TEST(ProgramTest, AnEmptyValueIsAMistake) {
  const Ran until = run_phalanx({"simulate", "--until", ""});
  EXPECT_EQ(until.code, kBadInput);
  EXPECT_EQ(until.err, "phalanx: --until: is empty; give it a value, or leave it out\n");
  EXPECT_EQ(run_phalanx({"explain", "-f", "x", ""}).err,
            "phalanx: NAME: is empty; give it a value\n");
  EXPECT_NE(run_phalanx({"demo", "--nodes", ""}).err.find("--nodes: is empty"), std::string::npos);
}

TEST(ProgramTest, MessagesDoNotSteerTheTerminal) {
  const Ran ran = run_phalanx({"simulate", "--until", "\x1b[2J"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_EQ(ran.err.find('\x1b'), std::string::npos);
  EXPECT_NE(ran.err.find("\\x1b[2J"), std::string::npos) << ran.err;
}

TEST(ProgramTest, BenchPlacementPrintsOneArrayOfMeasurements) {
  const Ran ran =
      run_phalanx({"bench", "placement", "--nodes", "1000", "--shape", "required-rack-16x8gpu",
                   "--shape", "preferred-block-512x1gpu", "--json"});
  ASSERT_EQ(ran.code, kDone) << ran.err;
  const json::value measured = parse_json(ran.out).value();
  ASSERT_EQ(measured.as_array().size(), 2);
  std::set<std::string> fields;
  for (const auto& field : measured.at(0).as_object()) fields.insert(std::string(field.key()));
  EXPECT_EQ(fields, (std::set<std::string>{"shape", "nodes", "scratch_ns", "warm_ns", "update_ns",
                                           "limit_ns", "rss_bytes", "result_sha256"}));
  EXPECT_EQ(measured.at(0).at("nodes").as_int64(), 1000);
  EXPECT_TRUE(measured.at(0).at("result_sha256").as_string().starts_with("8451b17b5f76"));

  const Ran unknown = run_phalanx({"bench", "placement", "--nodes", "1000", "--shape", "round"});
  EXPECT_EQ(unknown.code, kBadInput);
  EXPECT_NE(unknown.err.find("no shape \"round\"; there are"), std::string::npos);
}

}  // namespace
}  // namespace phalanx::cli

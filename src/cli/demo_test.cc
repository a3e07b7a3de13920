// `phalanx demo` without a terminal. How long it takes does not matter to any of these.
#include <signal.h>

#include "cli/command.h"
#include "cli/live_terminal.h"
#include "cli/simulate_testing.h"

namespace phalanx::cli {
namespace {

TEST(DemoTest, PrintsLinesAndASummary) {
  const Ran ran = run_phalanx({"demo", "--for", "300ms", "--speed", "3600", "--nodes",
                               "2 blocks x 2 racks x 4 hosts, 8 nvidia.com/gpu"});
  EXPECT_EQ(ran.code, kDone) << ran.err;
  expect_parts(ran.out, {"16 nodes  are there", "submitted", "admitted",
                         "of cluster time: ", "jobs submitted", "nvidia.com/gpu was in use"});
  EXPECT_EQ(ran.out.find('\x1b'), std::string::npos);
}

TEST(DemoTest, EverySignalToEndEndsItCleanly) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigset_t mask;
    sigset_t old;
    sigemptyset(&mask);
    sigaddset(&mask, number);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &mask, &old), 0);
    ASSERT_EQ(raise(number), 0);  // it waits until somebody listens
    const Ran ran = run_phalanx({"demo", "--for", "1h", "--nodes", "2 hosts"});
    EXPECT_EQ(ran.code, kDone);
    expect_parts(ran.out, {"jobs submitted"});
    ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &old, nullptr), 0);
  }
}

TEST(DemoTest, BadOptionsAreNamed) {
  Ran ran = run_phalanx({"demo", "--for", "ever"});
  EXPECT_EQ(ran.code, kBadInput);
  expect_parts(ran.err, {"--for: "});
  ran = run_phalanx({"demo", "--nodes", "lots"});
  EXPECT_EQ(ran.code, kBadInput);
  expect_parts(ran.err, {"--nodes: ", "4 blocks x 8 racks x 16 hosts"});
  EXPECT_EQ(run_phalanx({"demo", "--speed", "-1"}).code, kBadInput);
  EXPECT_EQ(run_phalanx({"demo", "--speed", "nan"}).code, kBadInput);
  EXPECT_EQ(run_phalanx({"demo", "--config", "/no/such/file"}).code, kBadInput);
}

TEST(LiveTerminalTest, ASignalIsHeardAndDoesNotEndTheProgram) {
  const StopSignals signals;
  LiveTerminal terminal(signals);
  EXPECT_EQ(terminal.wait(std::chrono::milliseconds(0)), LiveTerminal::Wish::kGoOn);
  ASSERT_EQ(raise(SIGTERM), 0);
  EXPECT_EQ(terminal.wait(std::chrono::milliseconds(0)), LiveTerminal::Wish::kQuit);
}

TEST(StopSignalsTest, TheFirstIsAWishAndTheSecondAnEnd) {
  const StopSignals signals;
  const auto now = std::chrono::steady_clock::now();
  EXPECT_FALSE(signals.wait_until(now));
  EXPECT_EQ(signals.received(), 0);
  ASSERT_EQ(raise(SIGINT), 0);
  EXPECT_TRUE(signals.wait_until(now + std::chrono::hours(1)));
  EXPECT_EQ(signals.received(), SIGINT);
  EXPECT_EXIT(raise(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsTest, WhatWasToBeIgnoredIsIgnored) {
  struct sigaction ignore{};
  struct sigaction old{};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGHUP, &ignore, &old), 0);
  {
    const StopSignals signals;
    ASSERT_EQ(raise(SIGHUP), 0);
    EXPECT_EQ(signals.received(), 0);
  }
  ASSERT_EQ(sigaction(SIGHUP, &old, nullptr), 0);
}

}  // namespace
}  // namespace phalanx::cli

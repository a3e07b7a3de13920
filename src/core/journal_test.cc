#include "core/journal.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

Decision decision(std::string reason) {
  return {"admit", {api::Kind::kJob, "ml", "a"}, {{"Job ml/a", 7}}, std::move(reason), {}};
}

TEST(JournalTest, ALineSaysWhatWasDecidedOnWhichVersionsAndWhy) {
  Journal journal;
  journal.record(Time{}, decision("it fits"));
  EXPECT_EQ(journal.take(),
            std::vector<std::string>{R"({"n":1,"time":"1970-01-01T00:00:00.000000Z",)"
                                     R"("decision":"admit","object":"Job ml/a",)"
                                     R"("versions":{"Job ml/a":7},"reason":"it fits"})"});
  EXPECT_TRUE(journal.take().empty());
}

TEST(JournalTest, OnlyTheLastLinesStayInMemory) {
  Journal journal;
  constexpr size_t kMore = 5;
  for (size_t i = 0; i < Journal::kKept + kMore; ++i) journal.record(Time{}, decision("why"));
  EXPECT_EQ(journal.take().size(), Journal::kKept + kMore);
  EXPECT_EQ(journal.kept().size(), Journal::kKept);
  EXPECT_TRUE(journal.kept().front().starts_with("{\"n\":6,"));
  EXPECT_EQ(journal.count(), Journal::kKept + kMore);
}

TEST(JournalTest, DecisionsAreCountedBySort) {
  Journal journal;
  journal.record(Time{}, decision("it fits"));
  journal.record(Time{}, decision("it fits, too"));
  Decision preempt = decision("to make room");
  preempt.what = "preempt";
  preempt.details = {{"reason", "InClusterQueue"}, {"clusterQueue", "team-a"}, {"n", 1}};
  journal.record(Time{}, std::move(preempt));
  const DecisionTally expected{{{"admit", "", ""}, 2},
                               {{"preempt", "InClusterQueue", "team-a"}, 1}};
  EXPECT_EQ(journal.take_tally(), expected);
  EXPECT_TRUE(journal.take_tally().empty());
}

}  // namespace
}  // namespace phalanx::core

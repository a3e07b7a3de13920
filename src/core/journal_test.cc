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

TEST(JournalTest, LinesAreTakenOnceAndCountedOn) {
  Journal journal;
  journal.record(Time{}, decision("why"));
  EXPECT_EQ(journal.take().size(), 1U);
  journal.record(Time{}, decision("why"));
  const std::vector<std::string> lines = journal.take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("{\"n\":2,"));
  EXPECT_EQ(journal.count(), 2U);
}

TEST(JournalTest, ReasonsThatQuoteMegabytesAreCut) {
  Journal journal;
  journal.record(Time{}, decision("refused: " + std::string(1 << 20, 'x')));
  const std::vector<std::string> lines = journal.take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LT(lines[0].size(), size_t{20} << 10);
  EXPECT_TRUE(lines[0].contains("xxx...\"")) << lines[0].substr(lines[0].size() - 100);
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

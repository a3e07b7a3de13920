#include "sim/simulation.h"

#include <memory>
#include <utility>

#include "sim/api_server_testing.h"
#include "sim/informer.h"
#include "sim/timers.h"

namespace phalanx::sim {
namespace {

using std::chrono::seconds;

Time start() {
  return *parse_time("2026-01-31T08:00:00Z");
}

// Acts at given times, and as often as it is told to at any moment.
class Clockwork : public Component {
 public:
  Clockwork(const ApiServer& server, std::vector<Time>& log) : server_(server), log_(log) {}

  bool react() override {
    const Time now = server_.clock().now();
    bool acted = false;
    while (!alarms.empty() && alarms.front() <= now && !deaf) {
      alarms.erase(alarms.begin());
      log_.push_back(now);
      acted = true;
    }
    if (restless > 0) --restless;
    return acted || restless > 0;
  }
  [[nodiscard]] std::optional<Time> wake_at() const override {
    return alarms.empty() ? std::nullopt : std::optional(alarms.front());
  }

  std::vector<Time> alarms;
  int restless = 0;
  bool deaf = false;

 private:
  const ApiServer& server_;
  std::vector<Time>& log_;
};

class SimulationTest : public testing::Test {
 protected:
  Clockwork& add(const std::string& name) {
    auto component = std::make_unique<Clockwork>(simulation_.server(), log_);
    Clockwork& reference = *component;
    ids_.push_back(simulation_.add(name, std::move(component)));
    return reference;
  }

  std::vector<Time> log_;
  Simulation simulation_{start(), 1};
  std::vector<ComponentId> ids_;
};

TEST_F(SimulationTest, JumpsFromTimerToTimer) {
  add("a").alarms = {start() + seconds(5), start() + seconds(20)};
  add("b").alarms = {start() + seconds(7)};
  EXPECT_EQ(simulation_.next_wake(), start() + seconds(5));
  ASSERT_TRUE(simulation_.run_until(start() + seconds(10)));
  EXPECT_EQ(log_, (std::vector<Time>{start() + seconds(5), start() + seconds(7)}));
  EXPECT_EQ(simulation_.now(), start() + seconds(10));
  EXPECT_FALSE(simulation_.quiet());
  ASSERT_TRUE(simulation_.run_until(start() + seconds(30)));
  EXPECT_EQ(log_.size(), 3U);
  EXPECT_TRUE(simulation_.quiet());
}

TEST_F(SimulationTest, ATimerAtTheEndIsStillServed) {
  add("a").alarms = {start() + seconds(10)};
  ASSERT_TRUE(simulation_.run_until(start() + seconds(10)));
  EXPECT_EQ(log_.size(), 1U);
}

TEST_F(SimulationTest, RunsUntilQuietOrTheLimit) {
  add("a").alarms = {start() + seconds(5), start() + seconds(20)};
  EXPECT_EQ(simulation_.run_until_quiet(start() + seconds(10)).value(), false);
  EXPECT_EQ(simulation_.now(), start() + seconds(5));
  EXPECT_EQ(simulation_.run_until_quiet(start() + seconds(60)).value(), true);
  EXPECT_EQ(simulation_.now(), start() + seconds(20));
}

TEST_F(SimulationTest, ALivelockNamesWhoKeepsActing) {
  add("calm");
  add("restless").restless = 1000;
  const auto done = simulation_.settle(50);
  ASSERT_FALSE(done);
  EXPECT_TRUE(contains(done.error().message, "after 50 rounds"));
  EXPECT_TRUE(contains(done.error().message, "restless"));
  EXPECT_FALSE(contains(done.error().message, "calm"));
}

TEST_F(SimulationTest, ATimerThatIsNeverServedIsAnError) {
  Clockwork& clockwork = add("deaf one");
  clockwork.alarms = {start() + seconds(5)};
  clockwork.deaf = true;
  const auto done = simulation_.run_until(start() + seconds(10));
  ASSERT_FALSE(done);
  EXPECT_TRUE(contains(done.error().message, "deaf one"));
}

TEST_F(SimulationTest, AWriteFromOutsideEndsTheQuiet) {
  ASSERT_TRUE(simulation_.settle());
  EXPECT_TRUE(simulation_.quiet());
  ASSERT_TRUE(simulation_.server().create(
      from_yaml("{apiVersion: v1, kind: Namespace, metadata: {name: n}}")));
  EXPECT_FALSE(simulation_.quiet());
  ASSERT_TRUE(simulation_.settle());
  EXPECT_TRUE(simulation_.quiet());
}

TEST_F(SimulationTest, AComponentIsReplacedInItsPlace) {
  add("a").alarms = {start() + seconds(5)};
  ASSERT_TRUE(simulation_.settle());
  const auto old = simulation_.replace(ids_[0], nullptr);
  EXPECT_NE(old, nullptr);
  EXPECT_FALSE(simulation_.quiet()) << "not asked yet";
  ASSERT_TRUE(simulation_.run_until(start() + seconds(10)));
  EXPECT_TRUE(log_.empty());
  auto next = std::make_unique<Clockwork>(simulation_.server(), log_);
  next->alarms = {start() + seconds(12)};
  EXPECT_EQ(simulation_.replace(ids_[0], std::move(next)), nullptr);
  ASSERT_TRUE(simulation_.run_until(start() + seconds(20)));
  EXPECT_EQ(log_.size(), 1U);
}

TEST(TimersTest, OneAlarmPerObjectEarliestFirst) {
  Timers timers;
  const api::ObjectKey a{api::Kind::kNode, "", "a"};
  const api::ObjectKey b{api::Kind::kNode, "", "b"};
  timers.set(a, start() + seconds(1));
  timers.set(b, start() + seconds(2));
  timers.set(a, start() + seconds(3));
  EXPECT_EQ(timers.next(), start() + seconds(2));
  EXPECT_TRUE(timers.take_due(start() + seconds(1)).empty());
  EXPECT_EQ(timers.take_due(start() + seconds(3)), (std::vector{b, a}));
  EXPECT_EQ(timers.next(), std::nullopt);
  timers.set(a, start());
  timers.cancel(a);
  EXPECT_TRUE(timers.take_due(start()).empty());
}

class InformerTest : public ApiServerTest {
 protected:
  static std::string describe(const std::vector<Change>& changes) {
    std::string text;
    for (const Change& change : changes) {
      text += (change.before == nullptr  ? "+"
               : change.after == nullptr ? "-"
                                         : "~") +
              change.key.name + " ";
    }
    return text;
  }
  void make_node(const std::string& name) {
    make("{apiVersion: v1, kind: Node, metadata: {name: " + name + "}}");
  }
  void label_node(const std::string& name, const std::string& label) {
    ASSERT_TRUE(merge(node_key(name), "{metadata: {labels: {x: " + label + "}}}"));
  }
};

TEST_F(InformerTest, ListsOnceThenHandsOutWhatChanged) {
  make_node("a");
  Informer informer(server_, {api::Kind::kNode});
  EXPECT_EQ(describe(informer.poll()), "+a ");
  EXPECT_EQ(describe(informer.poll()), "");
  make_node("b");
  label_node("a", "one");
  make(kPod);  // of another kind
  EXPECT_EQ(describe(informer.poll()), "~a +b ");
  ASSERT_TRUE(server_.remove(node_key("a")));
  EXPECT_EQ(describe(informer.poll()), "-a ");
  EXPECT_EQ(informer.find(node_key("a")), nullptr);
  EXPECT_EQ(informer.find(node_key("b")), server_.get(node_key("b")));
}

TEST_F(InformerTest, ManyEventsOfOneObjectAreOneChange) {
  make_node("a");
  Informer informer(server_, {api::Kind::kNode});
  const Stored before = informer.poll().front().after;
  label_node("a", "one");
  label_node("a", "two");
  make_node("b");
  ASSERT_TRUE(server_.remove(node_key("b")));
  const auto changes = informer.poll();
  ASSERT_EQ(changes.size(), 1U) << "b came and went unseen";
  EXPECT_EQ(changes[0].before, before);
  EXPECT_EQ(changes[0].after, server_.get(node_key("a")));
}

TEST_F(InformerTest, ListsAgainWhenHistoryIsGone) {
  make_node("a");
  make_node("b");
  Informer informer(server_, {api::Kind::kNode});
  informer.poll();
  label_node("a", "one");
  ASSERT_TRUE(server_.remove(node_key("b")));
  make_node("c");
  server_.compact(server_.resource_version());
  EXPECT_EQ(describe(informer.poll()), "~a -b +c ");
  EXPECT_EQ(informer.objects().size(), 2U);
}

TEST_F(InformerTest, WithoutKindsItKnowsAll) {
  make_node("a");
  make(kPod);
  Informer informer(server_, {});
  EXPECT_EQ(describe(informer.poll()), "+default +kube-system +a +p ");
}

}  // namespace
}  // namespace phalanx::sim

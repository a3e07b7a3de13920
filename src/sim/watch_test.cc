// Reading the history: who hears of what, bookmarks, and what is said when it was forgotten.
#include "sim/api_server_testing.h"
#include "sim/store.h"

namespace phalanx::sim {
namespace {

class WatchTest : public ApiServerTest {
 protected:
  void make_node(const std::string& name) {
    make("{apiVersion: v1, kind: Node, metadata: {name: " + name + "}}");
  }
  void make_queue(const std::string& name) {
    make("{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: " + name + "}}");
  }
  // "+n" added, "~n" changed, "-n" deleted, "=" a bookmark.
  std::string read(WatchCursor& cursor, size_t at_most = 1000) {
    auto events = server_.read(cursor, at_most);
    if (!events) return refusal(events);
    std::string text;
    for (const WatchEvent& event : *events) {
      constexpr std::string_view kSigns = "+~-=";
      text += kSigns[static_cast<size_t>(event.type)];
      if (event.object) text += string_at(*event.object, {"metadata", "name"});
      text += ' ';
    }
    return text;
  }
};

TEST_F(WatchTest, TellsWhatChanged) {
  WatchCursor cursor{{}, server_.resource_version()};
  make_node("a");
  make_queue("q");
  ASSERT_TRUE(merge(node_key("a"), "metadata: {labels: {x: y}}"));
  ASSERT_TRUE(server_.remove(node_key("a")));
  EXPECT_EQ(read(cursor), "+a +q ~a -a ");
  EXPECT_EQ(cursor.position, server_.resource_version());
  EXPECT_EQ(read(cursor), "");
}

TEST_F(WatchTest, FiltersByKind) {
  WatchCursor nodes{{api::Kind::kNode}, server_.resource_version()};
  WatchCursor both{{api::Kind::kLocalQueue, api::Kind::kNode}, server_.resource_version()};
  make_queue("q");
  make_node("a");
  make_queue("r");
  make_node("b");
  EXPECT_EQ(read(nodes), "+a +b ");
  EXPECT_EQ(read(both), "+q +a +r +b ");
}

TEST_F(WatchTest, ReadsInPieces) {
  WatchCursor cursor{{api::Kind::kNode}, server_.resource_version()};
  for (const char* name : {"a", "b", "c"}) make_node(name);
  EXPECT_EQ(read(cursor, 2), "+a +b ");
  EXPECT_EQ(read(cursor, 2), "+c ");
  EXPECT_EQ(read(cursor, 0), "");
}

TEST_F(WatchTest, FromTheBeginningWhileThatIsKnown) {
  WatchCursor cursor{{api::Kind::kNamespace}, 0};
  EXPECT_EQ(read(cursor), "+default +kube-system ");
}

TEST_F(WatchTest, AListingAndTheWatchAfterItMissNothing) {
  make_node("a");
  WatchCursor cursor{{api::Kind::kNode}, server_.list(api::Kind::kNode).resource_version};
  make_node("b");
  EXPECT_EQ(read(cursor), "+b ");
}

TEST_F(WatchTest, AQuietReaderGetsBookmarks) {
  WatchCursor cursor{{api::Kind::kLocalQueue}, server_.resource_version()};
  for (int i = 0; i < 999; ++i) make_node("n" + std::to_string(i));
  EXPECT_EQ(read(cursor), "");
  make_node("last");
  EXPECT_EQ(read(cursor), "= ");
  EXPECT_EQ(cursor.position, server_.resource_version());
  EXPECT_EQ(read(cursor), "");
}

TEST_F(WatchTest, CompactedHistoryIsExpired) {
  WatchCursor early{{api::Kind::kNode}, server_.resource_version()};
  make_node("a");
  WatchCursor late{{api::Kind::kNode}, server_.resource_version()};
  make_node("b");
  server_.compact(late.position);
  EXPECT_TRUE(contains(read(early), "410 Expired"));
  EXPECT_EQ(read(late), "+b ");
  WatchCursor beginning{{}, 0};
  EXPECT_TRUE(contains(read(beginning), "list again"));
  server_.compact(1'000'000);
  EXPECT_EQ(read(late), "");
}

TEST_F(WatchTest, OnlySoManyEventsAreKept) {
  WatchCursor cursor{{}, server_.resource_version()};
  server_.set_history_limit(3);
  for (const char* name : {"a", "b", "c"}) make_node(name);
  WatchCursor same = cursor;
  EXPECT_EQ(read(same), "+a +b +c ");
  make_node("d");
  EXPECT_TRUE(contains(read(cursor), "410 Expired"));
  EXPECT_EQ(server_.list(api::Kind::kNode).items.size(), 4U) << "objects are not forgotten";
}

TEST_F(WatchTest, AShortHistoryHasEarlyBookmarks) {
  server_.set_history_limit(10);
  WatchCursor cursor{{api::Kind::kLocalQueue}, server_.resource_version()};
  for (int i = 0; i < 100; ++i) {
    make_node("n" + std::to_string(i));
    ASSERT_FALSE(read(cursor).starts_with("410"));
  }
}

TEST_F(WatchTest, TheFutureCannotBeRead) {
  WatchCursor cursor{{}, server_.resource_version() + 1};
  EXPECT_TRUE(contains(read(cursor), "504 Timeout"));
}

TEST_F(WatchTest, WhatWasReadDoesNotChange) {
  make_node("a");
  const Stored before = server_.get(node_key("a"));
  ASSERT_TRUE(merge(node_key("a"), "metadata: {labels: {x: y}}"));
  EXPECT_EQ(find_at(*before, {"metadata", "labels"}), nullptr);
}

TEST_F(WatchTest, ListingsAreInOrder) {
  make("{apiVersion: v1, kind: Namespace, metadata: {name: a}}");
  make_queue("z");
  make("{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: y, namespace: a}}");
  make_queue("b");
  std::string names;
  for (const Stored& queue : server_.list(api::Kind::kLocalQueue).items) {
    names += std::string(string_at(*queue, {"metadata", "name"})) + " ";
  }
  EXPECT_EQ(names, "y b z ");
  EXPECT_EQ(server_.list(api::Kind::kLocalQueue, "a").items.size(), 1U);
  EXPECT_EQ(server_.list(api::Kind::kLocalQueue, "none").items.size(), 0U);
}

}  // namespace
}  // namespace phalanx::sim

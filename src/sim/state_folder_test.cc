#include "sim/state_folder.h"

#include <filesystem>

#include "base/file.h"
#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

namespace fs = std::filesystem;

class StateFolderTest : public ApiServerTest {
 protected:
  StateFolderTest()
      : folder_(fs::path(testing::TempDir()) /
                ("phalanx-state-" +
                 std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    fs::remove_all(folder_);
  }
  ~StateFolderTest() override { fs::remove_all(folder_); }

  void save() {
    const auto saved = save_state(server_.state(), folder_.string());
    ASSERT_TRUE(saved) << saved.error().message;
  }
  // Why it cannot be loaded, with the name of the folder left out.
  std::string load_failure() {
    const auto loaded = load_state(folder_.string());
    if (loaded) return "";
    std::string message = loaded.error().message;
    const std::string prefix = folder_.string();
    if (message.starts_with(prefix)) message.erase(0, prefix.size() + 1);
    return message;
  }
  void write(const std::string& file, std::string_view text) {
    ASSERT_TRUE(write_file((folder_ / file).string(), std::string(text)));
  }
  // Replaces the first occurrence in a file.
  void edit(const std::string& file, std::string_view from, std::string_view to) {
    std::string text = *read_file((folder_ / file).string());
    const size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos) << text;
    write(file, text.replace(place, from.size(), to));
  }
  void make_examples() {
    make(
        "{apiVersion: v1, kind: Node, metadata: {name: n, labels: {zone: 'true', version: '1.0', "
        "e: ''}, annotations: {nothing: '~', bell: \"\\a\\u0085\", text: \"two\\nlines: - x # "
        "no\\tcomment\", json: "
        "'{\"a\": [1]}', accent: ü, space: ' x '}}, status: {allocatable: {cpu: 4, memory: "
        "16Gi}}}");
    make(kPod);
    ASSERT_TRUE(server_.bind(pod_key("p"), "n"));
    advance(std::chrono::seconds(1));
    ASSERT_TRUE(server_.remove(pod_key("p")));
    make(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w}, spec: {a: [], "
        "b: {}, c: [[1, -2.5], [{x: y}]], d: false, e: 1.0, f: 18446744073709551615, g: 1e300, h: "
        "0.1}}");
    ASSERT_TRUE(merge({api::Kind::kWorkload, "default", "w"}, "metadata: {labels: {a: b}}",
                      {.field_manager = "me"}));
  }

  fs::path folder_;
};

TEST_F(StateFolderTest, LoadsExactlyWhatWasSaved) {
  make_examples();
  save();
  const auto loaded = load_state(folder_.string());
  ASSERT_TRUE(loaded) << loaded.error().message;
  const ClusterState before = server_.state();
  EXPECT_EQ(loaded->now, before.now);
  EXPECT_EQ(loaded->resource_version, before.resource_version);
  EXPECT_EQ(loaded->random_state, before.random_state);
  ASSERT_EQ(loaded->objects.size(), before.objects.size());
  for (const auto& [key, object] : before.objects) {
    ASSERT_TRUE(loaded->objects.contains(key)) << key.text();
    EXPECT_EQ(*loaded->objects.at(key), *object) << key.text();
  }
}

TEST_F(StateFolderTest, ALoadedClusterGoesOnAsIfNothingHappened) {
  make_examples();
  save();
  auto loaded = load_state(folder_.string());
  ASSERT_TRUE(loaded);
  Clock clock(loaded->now);
  ApiServer other(clock, 99);
  other.restore(std::move(*loaded));
  constexpr std::string_view kNext =
      "{apiVersion: v1, kind: Node, metadata: {generateName: next-}}";
  const auto there = other.create(from_yaml(kNext));
  ASSERT_TRUE(there);
  EXPECT_EQ(**there, *make(kNext));
  WatchCursor beginning;
  EXPECT_EQ(other.read(beginning).error().code, 410);
  WatchCursor cursor{{}, resource_version_of(**there) - 1};
  EXPECT_EQ(other.read(cursor)->size(), 1U);
}

TEST_F(StateFolderTest, TheFilesAreForPeople) {
  make("{apiVersion: v1, kind: Node, metadata: {name: rack, labels: {zone: a}}}");
  save();
  const std::string nodes = *read_file((folder_ / "nodes.yaml").string());
  EXPECT_TRUE(contains(nodes,
                       "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: rack\n  labels:\n"
                       "    zone: a\n"));
  EXPECT_TRUE(contains(*read_file((folder_ / "cluster.yaml").string()),
                       "now: \"2026-01-31T08:00:00.250000Z\"\nresourceVersion: \"3\"\n"));
  EXPECT_FALSE(fs::exists(folder_ / "pods.yaml")) << "there are none";
}

TEST_F(StateFolderTest, SavingAgainReplacesTheWhole) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  save();
  ASSERT_TRUE(server_.remove(node_key("n")));
  save();
  EXPECT_FALSE(fs::exists(folder_ / "nodes.yaml"));
  EXPECT_EQ(load_failure(), "");
  // Nothing is left beside it, and nothing that was there is gone.
  size_t beside = 0;
  for (const auto& entry : fs::directory_iterator(folder_.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(folder_.filename().string() + ".new-")) ++beside;
  }
  EXPECT_EQ(beside, 0U);
}

TEST_F(StateFolderTest, WhatStandsBesideTheFolderStays) {
  const fs::path neighbour = folder_.string() + ".new";
  fs::create_directories(neighbour / "mine");
  save();
  EXPECT_TRUE(fs::exists(neighbour / "mine"));
  fs::remove_all(neighbour);
}

TEST_F(StateFolderTest, OtherFoldersAreNotReplaced) {
  fs::create_directories(folder_);
  write("precious.txt", "x");
  const auto saved = save_state(server_.state(), folder_.string());
  ASSERT_FALSE(saved);
  EXPECT_TRUE(contains(saved.error().message, "holds other files than a saved cluster"));
  EXPECT_TRUE(fs::exists(folder_ / "precious.txt"));
  EXPECT_TRUE(
      contains(save_state(server_.state(), (folder_ / "precious.txt").string()).error().message,
               "is a file"));
}

// The examples have a cluster.yaml, too.
TEST_F(StateFolderTest, AFolderIsNotOursBecauseOfAName) {
  fs::create_directories(folder_);
  write("cluster.yaml", "apiVersion: v1\nkind: List\nitems: []\n");
  for (const auto& saved :
       {save_state(server_.state(), folder_.string()), check_saveable(folder_.string())}) {
    ASSERT_FALSE(saved);
    EXPECT_TRUE(contains(saved.error().message, "cluster.yaml: is no ClusterState; name a new"));
  }
  fs::remove(folder_ / "cluster.yaml");
  save();
  write("jobs.json", "{}");
  EXPECT_FALSE(check_saveable(folder_.string()));
  EXPECT_TRUE(fs::exists(folder_ / "jobs.json"));
}

TEST_F(StateFolderTest, AFolderThatWasCopiedInPartIsNotLoaded) {
  make_examples();
  save();
  fs::remove(folder_ / "pods.yaml");
  EXPECT_TRUE(contains(load_failure(), "pods.yaml: is missing, although cluster.yaml lists it"));
}

TEST_F(StateFolderTest, WhatIsNoClusterIsNotLoaded) {
  EXPECT_TRUE(contains(load_failure(), "there is no such folder; name one"));
  fs::create_directories(folder_);
  EXPECT_TRUE(contains(load_failure(), "holds no saved cluster: there is no cluster.yaml"));
  save();
  write("cluster.yaml", "a: b");
  EXPECT_TRUE(contains(load_failure(), "cluster.yaml: line 1: apiVersion and kind must be"));
  write("cluster.yaml", "");
  EXPECT_TRUE(contains(load_failure(), "must hold exactly one document"));
}

TEST_F(StateFolderTest, TheClusterFileIsChecked) {
  save();
  edit("cluster.yaml", "2026-01-31T08:00:00.250000Z", "yesterday");
  EXPECT_TRUE(contains(load_failure(), "cluster.yaml: line 2: now: \"yesterday\" is no time"));
  save();
  edit("cluster.yaml", "resourceVersion: \"2\"", "resourceVersion: many");
  EXPECT_TRUE(contains(load_failure(), "resourceVersion: must be a whole number in quotes"));
}

TEST_F(StateFolderTest, MistakesAreNamedByFileLineObjectAndField) {
  make("{apiVersion: v1, kind: Node, metadata: {name: a}}");
  make(
      "{apiVersion: v1, kind: Node, metadata: {name: b}, spec: {taints: [{key: k, effect: "
      "NoSchedule}]}}");
  save();
  edit("nodes.yaml", "NoSchedule", "Never");
  EXPECT_TRUE(contains(load_failure(),
                       "nodes.yaml: line 11: Node b: spec.taints[0].effect: "
                       "\"Never\" is not"));
  save();
  edit("nodes.yaml", "kind: Node", "kind: Pod");
  EXPECT_TRUE(contains(load_failure(),
                       "nodes.yaml: line 2: apiVersion and kind must be v1 and "
                       "Node in this file"));
  save();
  edit("nodes.yaml", "name: b", "name: a");
  EXPECT_TRUE(contains(load_failure(), "Node a: is there already, at"));
  save();
  edit("nodes.yaml", "name: b", "[");
  EXPECT_TRUE(contains(load_failure(), "not valid YAML"));
  save();
  write("nodes.yaml", "just text");
  EXPECT_TRUE(contains(load_failure(), "nodes.yaml: line 1: apiVersion and kind"));
}

TEST_F(StateFolderTest, WhatTheServerGaveMustBeThere) {
  const Stored node = make("{apiVersion: v1, kind: Node, metadata: {name: a}}");
  const std::string uid(uid_of(*node));
  const std::string namespace_uid(uid_of(*server_.get({api::Kind::kNamespace, "", "default"})));
  save();
  edit("nodes.yaml", uid, "\"\"");
  EXPECT_TRUE(contains(load_failure(), "Node a: metadata.uid: is required"));
  save();
  edit("nodes.yaml", uid, namespace_uid);
  EXPECT_TRUE(contains(load_failure(), "metadata.uid: another object has it already"));
  save();
  edit("nodes.yaml", "resourceVersion: \"3\"", "resourceVersion: \"4\"");
  EXPECT_TRUE(contains(load_failure(), "metadata.resourceVersion: must be a whole number"));
  save();
  edit("nodes.yaml", "resourceVersion: \"3\"", "resourceVersion: \"1\"");
  EXPECT_TRUE(contains(load_failure(), "metadata.resourceVersion: another object has it already"));
  save();
  edit("nodes.yaml", "creationTimestamp: \"2026-01-31T08:00:00Z\"", "creationTimestamp: x");
  EXPECT_TRUE(contains(load_failure(), "metadata.creationTimestamp: \"x\" is no time"));
}

TEST_F(StateFolderTest, NamespacesMustBeThere) {
  make(kPod);
  save();
  edit("pods.yaml", "namespace: default", "namespace: gone");
  EXPECT_TRUE(contains(load_failure(), "Pod gone/p: metadata.namespace: there is no Namespace"));
}

TEST_F(StateFolderTest, MisspelledFilesAreFound) {
  save();
  write("node.yaml", "");
  EXPECT_TRUE(contains(load_failure(), "node.yaml: no kind of object is saved under this name"));
}

}  // namespace
}  // namespace phalanx::sim

#include "sim/script.h"

#include <gtest/gtest.h>

#include <array>

#include "base/yaml.h"
#include "sim/document.h"
#include "sim/script_backend.h"

namespace phalanx::sim {
namespace {

json::value yaml(std::string_view text) {
  const auto documents = parse_documents(text);
  EXPECT_TRUE(documents) << documents.error().message;
  return documents && !documents->empty() ? documents->front().value : json::value();
}

std::string problem_of(std::string_view step) {
  const auto action = read_action(yaml(step));
  return action ? "" : action.error().message;
}

class ScriptTest : public testing::Test {
 protected:
  // What went wrong, or "".
  std::string run(std::string_view step) {
    const auto action = read_action(yaml(step));
    if (!action) return action.error().message;
    const auto done = perform(*action, backend_);
    if (!done) return done.error().message;
    const auto settled = backend_.pass(Duration(0));
    return settled ? "" : settled.error().message;
  }
  Stored only(std::string_view pattern) {
    const auto found = find_object(backend_, *parse_pattern(pattern));
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::make_shared<const json::value>());
  }
  void add_node(const std::string& name) {
    EXPECT_EQ(run("apply: {apiVersion: v1, kind: Node, metadata: {name: " + name +
                  ", labels: {rack: r0}}, status: {allocatable: {cpu: 4, pods: 10}}}"),
              "");
  }
  void add_pod(const std::string& name, const std::string& spec = "") {
    EXPECT_EQ(run("apply: {apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {" +
                  spec + "restartPolicy: Never, containers: [{name: c, image: i}]}}"),
              "");
  }

  EmbeddedBackend backend_;
};

TEST(GlobTest, MatchesStarsAndQuestionMarks) {
  EXPECT_TRUE(matches_glob("train-*", "train-0-x"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(matches_glob("h?", "h1"));
  EXPECT_FALSE(matches_glob("h?", "h"));
  EXPECT_FALSE(matches_glob("a*b", "a-b-c"));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(PatternTest, ReadsKindNamespaceAndName) {
  const auto job = parse_pattern("Job ml/train-*");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->text(), "Job ml/train-*");
  EXPECT_TRUE(job->matches({api::Kind::kJob, "ml", "train-a"}));
  EXPECT_FALSE(job->matches({api::Kind::kJob, "other", "train-a"}));
  EXPECT_EQ(parse_pattern("pods a")->text(), "Pod default/a");
  EXPECT_EQ(parse_pattern("Node r0-*")->text(), "Node r0-*");
}

TEST(PatternTest, SaysWhatIsWrong) {
  EXPECT_EQ(parse_pattern("Jobb ml/a").error().message,
            "there is no kind \"Jobb\" here; did you mean `Job`?");
  EXPECT_EQ(parse_pattern("Node ml/a").error().message, "\"Node ml/a\": a Node has no namespace");
  EXPECT_EQ(parse_pattern("train").error().message,
            "\"train\" must be a kind and a name, like Job ml/train");
}

TEST(ReadActionTest, NamesWhatIsWrong) {
  EXPECT_EQ(problem_of("aply: {}"), "aply: unknown field; did you mean `apply`?");
  EXPECT_EQ(problem_of("{patch: Job a, wiht: {}}"), "wiht: unknown field; did you mean `with`?");
  EXPECT_EQ(problem_of("{run: 1s, restart: core}"),
            "holds both `run` and `restart`; one step does one thing, make it two steps");
  EXPECT_EQ(problem_of("{node: a, becomes: Redy}"),
            "becomes: \"Redy\" is none of Ready, NotReady, Unreachable, Cordoned, Uncordoned, "
            "Drained, Deleted; did you mean `Ready`?");
  EXPECT_EQ(problem_of("{patch: Job a}"),
            "with: must be the merge patch, like {spec: {suspend: true}}");
  EXPECT_EQ(problem_of("{apply: {kind: Job}}"),
            "apply: must be a manifest with apiVersion, kind and metadata");
  EXPECT_EQ(problem_of("restart: kubelet"), "restart: must be core; nothing else can be restarted");
  EXPECT_EQ(problem_of("{nodes: {}, becomes: Ready}"),
            "nodes: must name at least one label and its value");
  EXPECT_EQ(problem_of("{}").substr(0, 19), "says nothing to do;");
}

TEST(ReadActionTest, LeavesFieldsToItsOwner) {
  constexpr std::array<std::string_view, 1> kAlso{"at"};
  EXPECT_TRUE(read_action(yaml("{at: 10m, run: 1s}"), kAlso));
  EXPECT_FALSE(read_action(yaml("{at: 10m, run: 1s}")));
}

TEST_F(ScriptTest, AppliesListsAndTexts) {
  EXPECT_EQ(run("apply: [{apiVersion: v1, kind: Namespace, metadata: {name: a}},"
                " {apiVersion: v1, kind: Namespace, metadata: {name: b}}]"),
            "");
  EXPECT_EQ(run("apply: |\n  apiVersion: v1\n  kind: Namespace\n  metadata: {name: c}\n"), "");
  for (const char* name : {"a", "b", "c"}) only("Namespace " + std::string(name));
}

TEST_F(ScriptTest, AppliesWithAnOwner) {
  add_pod("a");
  const std::string child =
      "apply: {apiVersion: v1, kind: Pod, metadata: {name: b},"
      " spec: {containers: [{name: c, image: i}]}}\n";
  EXPECT_EQ(run(child + "ownedBy: Pod z"), "there is no Pod default/z");
  EXPECT_EQ(run(child + "ownedBy: Pod a"), "");
  const json::array* owners = array_at(*only("Pod b"), {"metadata", "ownerReferences"});
  ASSERT_NE(owners, nullptr);
  EXPECT_EQ(string_field(owners->at(0).get_object(), "uid"), uid_of(*only("Pod a")));
}

TEST_F(ScriptTest, ExpectsRefusals) {
  const std::string bad = "apply: {apiVersion: v1, kind: Namespace, metadata: {name: A_B}}";
  EXPECT_NE(run(bad).find("Namespace A_B: "), std::string::npos);
  EXPECT_EQ(run(bad + "\nrefused: metadata.name"), "");
  EXPECT_NE(run(bad + "\nrefused: no such words").find("but was refused with"), std::string::npos);
  EXPECT_EQ(run("{apply: {apiVersion: v1, kind: Namespace, metadata: {name: a}}, refused: name}"),
            "Namespace a: was accepted, but should be refused with \"name\"");
}

TEST_F(ScriptTest, PatchesAndDeletesExactlyOne) {
  add_pod("a-1");
  add_pod("a-2");
  EXPECT_EQ(run("{patch: Pod a-1, with: {metadata: {labels: {x: \"1\"}}}}"), "");
  EXPECT_EQ(string_at(*only("Pod a-1"), {"metadata", "labels", "x"}), "1");
  EXPECT_EQ(run("{patch: Pod a-2, with: {status: {message: hello}}, status: true}"), "");
  EXPECT_EQ(string_at(*only("Pod a-2"), {"status", "message"}), "hello");
  EXPECT_EQ(run("delete: Pod a-*"),
            "Pod default/a-*: matches 2 objects, among them a-1 and a-2; it must match one");
  EXPECT_EQ(run("delete: Pod a-1"), "");
  EXPECT_EQ(run("delete: Pod a-1"), "there is no Pod default/a-1");
}

TEST_F(ScriptTest, ChangesNodes) {
  add_node("n1");
  add_node("n2");
  const auto ready = [&](const char* name) {
    return condition_is_true(*only("Node " + std::string(name)), "Ready");
  };
  EXPECT_EQ(run("{node: n1, becomes: NotReady}"), "");
  EXPECT_FALSE(ready("n1"));
  EXPECT_TRUE(ready("n2"));
  EXPECT_EQ(run("{node: n1, becomes: Ready}"), "");
  EXPECT_TRUE(ready("n1"));
  EXPECT_EQ(run("{nodes: {rack: r0}, becomes: Cordoned}"), "");
  EXPECT_TRUE(true_at(*only("Node n2"), {"spec", "unschedulable"}));
  EXPECT_EQ(run("{node: n2, becomes: Uncordoned}"), "");
  EXPECT_FALSE(true_at(*only("Node n2"), {"spec", "unschedulable"}));
  EXPECT_EQ(run("{node: n1, becomes: Unreachable}"), "");
  EXPECT_TRUE(ready("n1"));  // not yet: there is a grace period
  EXPECT_EQ(run("run: 40s"), "");
  EXPECT_FALSE(ready("n1"));
  EXPECT_EQ(run("{node: n1, becomes: Deleted}"), "");
  EXPECT_EQ(run("{node: n1, becomes: Ready}"), "there is no Node n1");
  EXPECT_EQ(run("{nodes: {rack: r9}, becomes: Ready}"), "there is no Node with these labels");
}

TEST_F(ScriptTest, EndsPodsOnce) {
  add_node("n1");
  add_pod("a");
  EXPECT_EQ(run("run: 2s"), "");
  EXPECT_EQ(string_at(*only("Pod a"), {"status", "phase"}), "Running");
  EXPECT_EQ(run("{pod: default/a, becomes: Failed}"), "");
  EXPECT_EQ(string_at(*only("Pod a"), {"status", "phase"}), "Failed");
  EXPECT_EQ(run("{pod: Pod default/a, becomes: Succeeded}"), "Pod default/a: has ended already");
  EXPECT_EQ(run("{pod: default/b, becomes: Failed}"), "there is no Pod default/b");
}

TEST_F(ScriptTest, BindsByHand) {
  add_node("n1");
  add_pod("a", "schedulerName: by-hand, ");
  EXPECT_EQ(run("{bind: default/a, to: n1}"), "");
  EXPECT_EQ(string_at(*only("Pod a"), {"spec", "nodeName"}), "n1");
  EXPECT_EQ(run("{bind: default/a, to: n1, refused: a}"), "");
}

TEST_F(ScriptTest, RestartsTheCoreWithoutLosingAnything) {
  add_node("n1");
  EXPECT_EQ(run("restart: core"), "");
  EXPECT_TRUE(backend_.check_account());
}

}  // namespace
}  // namespace phalanx::sim

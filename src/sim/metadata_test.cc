#include "sim/metadata.h"

#include "sim/api_server_testing.h"
#include "sim/names.h"

namespace phalanx::sim {
namespace {

class MetadataTest : public ApiServerTest {
 protected:
  std::string create(std::string_view metadata) {
    return create_refusal("{apiVersion: v1, kind: Node, metadata: {" + std::string(metadata) +
                          "}}");
  }
};

TEST(NamesTest, Labels) {
  EXPECT_EQ(problem_of_dns_label("a-1"), "");
  EXPECT_EQ(problem_of_dns_label("1a"), "");
  EXPECT_EQ(problem_of_dns_label(std::string(63, 'a')), "");
  for (const char* bad : {"", "A", "-a", "a-", "a.b", "a_b", "ä"}) {
    EXPECT_NE(problem_of_dns_label(bad), "") << bad;
  }
  EXPECT_TRUE(contains(problem_of_dns_label(std::string(64, 'a')), "at most 63"));
}

TEST(NamesTest, Subdomains) {
  EXPECT_EQ(problem_of_dns_subdomain("a.b-c.d1"), "");
  EXPECT_EQ(problem_of_dns_subdomain(std::string(253, 'a')), "");
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a.-b", "a/b"}) {
    EXPECT_NE(problem_of_dns_subdomain(bad), "") << bad;
  }
  EXPECT_TRUE(contains(problem_of_dns_subdomain(std::string(254, 'a')), "at most 253"));
}

TEST(NamesTest, QualifiedNames) {
  for (const char* good : {"a", "A_b.c-d", "example.com/Name", "9"}) {
    EXPECT_EQ(problem_of_qualified_name(good), "") << good;
  }
  for (const char* bad : {"", "/a", "a/", "a/b/c", "Example.com/a", "-a", "a b"}) {
    EXPECT_NE(problem_of_qualified_name(bad), "") << bad;
  }
  EXPECT_TRUE(contains(problem_of_qualified_name(std::string(64, 'a')), "at most 63"));
}

TEST(NamesTest, LabelValues) {
  for (const char* good : {"", "a", "A.b_c-1"}) EXPECT_EQ(problem_of_label_value(good), "") << good;
  for (const char* bad : {"-", "a/b", "a ", ".a"})
    EXPECT_NE(problem_of_label_value(bad), "") << bad;
  EXPECT_TRUE(contains(problem_of_label_value(std::string(64, 'a')), "at most 63"));
}

TEST_F(MetadataTest, NamesAndNamespaces) {
  EXPECT_EQ(create("name: a.b"), "");
  EXPECT_TRUE(contains(create("name: A"), "422 Invalid: Node A: metadata.name: \"A\" is no name"));
  EXPECT_TRUE(contains(create("name: x, namespace: default"),
                       "metadata.namespace: a Node belongs to no namespace; remove it"));
  EXPECT_TRUE(contains(create("generateName: Upper-"), "metadata.name"));
}

TEST_F(MetadataTest, LabelsAndAnnotations) {
  EXPECT_TRUE(contains(create("name: n, labels: {a b: c}"), "metadata.labels[a b]"));
  EXPECT_TRUE(contains(create("name: n, labels: {a: b c}"), "metadata.labels[a]: \"b c\""));
  EXPECT_TRUE(contains(create("name: n, labels: {a: true}"),
                       "metadata.labels[a]: must be a string, but is true; put it in quotes"));
  EXPECT_TRUE(contains(create("name: n, labels: [a]"), "metadata.labels: must be an object"));
  EXPECT_TRUE(contains(create("name: n, annotations: {a: 5}"), "metadata.annotations[a]"));
  EXPECT_EQ(create("name: n, annotations: {Example.com/a: any text!}"), "");
}

TEST_F(MetadataTest, AnnotationsHaveATotalSize) {
  json::value node = from_yaml("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  json::object& annotations = ensure_object(node, {"metadata", "annotations"});
  annotations["a"] = std::string(200'000, 'x');
  EXPECT_EQ(refusal(server_.create(node)), "");
  annotations["b"] = std::string(65'000, 'x');
  EXPECT_TRUE(contains(refusal(server_.create(node)), "409"));
  node.at("metadata").as_object()["name"] = "m";
  EXPECT_TRUE(contains(refusal(server_.create(node)), "metadata.annotations: hold"));
}

TEST_F(MetadataTest, Finalizers) {
  EXPECT_TRUE(contains(create("name: n, finalizers: x"), "metadata.finalizers: must be a list"));
  EXPECT_TRUE(contains(create("name: n, finalizers: [a b]"), "metadata.finalizers[0]"));
  EXPECT_TRUE(contains(create("name: n, finalizers: [5]"), "metadata.finalizers[0]: must be a"));
}

TEST_F(MetadataTest, OwnerReferences) {
  EXPECT_TRUE(contains(create("name: n, ownerReferences: [{kind: Job, name: j, apiVersion: v1}]"),
                       "metadata.ownerReferences[0].uid: is required"));
  EXPECT_TRUE(contains(create("name: n, ownerReferences: [5]"), "metadata.ownerReferences[0]"));
  EXPECT_TRUE(contains(
      create("name: n, ownerReferences: [{kind: Job, name: j, apiVersion: v1, uid: a, controller: "
             "true}, {kind: Job, name: k, apiVersion: v1, uid: b, controller: true}]"),
      "only one owner can be the controller"));
}

TEST_F(MetadataTest, ManyProblemsAreCutOff) {
  std::string labels;
  for (int i = 0; i < 30; ++i) labels += "'-" + std::to_string(i) + "': x, ";
  EXPECT_TRUE(contains(create("name: n, labels: {" + labels + "}"), "; and 10 more"));
}

TEST_F(MetadataTest, TooDeepDocumentsAreRefused) {
  json::value node = from_yaml("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  json::value deep = json::object();
  for (int i = 0; i < 200; ++i) {
    json::object outer;
    outer["a"] = std::move(deep);
    deep = std::move(outer);
  }
  node.get_object()["spec"] = std::move(deep);
  EXPECT_TRUE(contains(refusal(server_.create(node)), "nested too deeply"));
}

}  // namespace
}  // namespace phalanx::sim

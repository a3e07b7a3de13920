// What the API server makes of patches; what a patch does to a document is base/json_patch_test.cc.
#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

class PatchTest : public ApiServerTest {};

TEST_F(PatchTest, AJsonPatchOfAnObject) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n, labels: {a: b}}}");
  const auto node =
      server_.patch(node_key("n"), PatchType::kJson,
                    from_yaml("[{op: test, path: /metadata/labels/a, value: b}, "
                              "{op: add, path: /metadata/labels/example.com~1c, value: d}]"));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(string_at(**node, {"metadata", "labels", "example.com/c"}), "d");
  EXPECT_TRUE(contains(refusal(server_.patch(node_key("n"), PatchType::kJson,
                                             from_yaml("[{op: test, path: /metadata/labels/a, "
                                                       "value: x}]"))),
                       "422 Invalid: Node n: the patch cannot be applied"));
}

TEST_F(PatchTest, WhatAPatchMakesMustStillBeAnObject) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  const auto patch = [&](std::string_view text) {
    return refusal(server_.patch(node_key("n"), PatchType::kJson, from_yaml(text)));
  };
  EXPECT_TRUE(contains(patch("[{op: replace, path: '', value: 5}]"), "400 BadRequest"));
  EXPECT_TRUE(contains(patch("[{op: remove, path: ''}]"), "400 BadRequest"));
  EXPECT_TRUE(contains(patch("[{op: remove, path: /metadata}]"), "400 BadRequest"));
  EXPECT_TRUE(contains(patch("[{op: replace, path: /metadata, value: []}]"), "400 BadRequest"));
  EXPECT_TRUE(contains(patch("[{op: replace, path: /metadata/name, value: {}}]"), "400"));
  EXPECT_TRUE(contains(refusal(server_.patch(node_key("n"), PatchType::kMerge, json::array())),
                       "a merge patch must be an object"));
}

}  // namespace
}  // namespace phalanx::sim

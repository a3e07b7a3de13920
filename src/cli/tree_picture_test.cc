#include "cli/tree_picture.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/node.h"

namespace phalanx::cli {
namespace {

constexpr const char* kHost = "kubernetes.io/hostname";

// Blocks of racks of nodes with 8 GPUs each, and a picture of them with nothing used.
struct Sample {
  topology::Cluster cluster;
  TreeId tree;
  Picture picture;

  Sample(int blocks, int racks, int nodes) {
    for (int block = 0; block < blocks; ++block) {
      for (int rack = 0; rack < racks; ++rack) {
        for (int number = 0; number < nodes; ++number) {
          api::Node node;
          node.name = "n" + std::to_string(block) + "-" + std::to_string(rack) + "-" +
                      std::to_string(number);
          node.labels = {{"block", "b" + std::to_string(block)},
                         {"rack", "r" + std::to_string(rack)},
                         {kHost, node.name}};
          EXPECT_TRUE(cluster.put_node(node));
        }
      }
    }
    tree = cluster.add_tree({"t", {"block", "rack", kHost}, {}, {}});
    const size_t leaves = cluster.tree(tree).leaf_count();
    picture.resource = "nvidia.com/gpu";
    picture.amounts.total.assign(leaves, 8);
    picture.amounts.used.assign(leaves, 0);
    picture.amounts.placed.assign(leaves, 0);
    picture.amounts.pods.assign(leaves, 0);
    picture.notes.resize(leaves);
  }

  void place(uint32_t leaf) {
    picture.amounts.placed[leaf] = 8;
    picture.amounts.pods[leaf] = 1;
    picture.notes[leaf] = "job 1";
  }

  std::string draw(int max_lines = 40) {
    PictureStyle style;
    style.max_lines = max_lines;
    return draw_tree(cluster, cluster.tree(tree), picture, style);
  }
};

// Lines of the tree alone: without head and legend.
int64_t tree_lines(const std::string& text) {
  return std::ranges::count(text, '\n') - 2;
}

TEST(TreePictureTest, BarShowsEveryPartThatIsNotZero) {
  const PictureStyle ascii;
  EXPECT_EQ(draw_bar(0, 0, 8, 8, ascii), "........");
  EXPECT_EQ(draw_bar(4, 2, 8, 8, ascii), "####++..");
  EXPECT_EQ(draw_bar(1, 1, 1000, 8, ascii), "#+......");
  EXPECT_EQ(draw_bar(998, 1, 1000, 8, ascii), "######+.");
  EXPECT_EQ(draw_bar(12, 0, 8, 4, ascii), "####");
  EXPECT_EQ(draw_bar(0, 0, 0, 4, ascii), "    ");
  EXPECT_EQ(draw_bar(2, 1, 4, 4, {true, false, 40}), "██▒·");
  EXPECT_NE(draw_bar(2, 1, 4, 4, {false, true, 40}).find("\x1b["), std::string::npos);
}

TEST(TreePictureTest, AmountsAreShort) {
  EXPECT_EQ(short_amount("nvidia.com/gpu", 12), "12");
  EXPECT_EQ(short_amount("cpu", 500), "500m");
  EXPECT_EQ(short_amount("cpu", 190'800), "190.8");
  EXPECT_EQ(short_amount("cpu", 64'000), "64");
  EXPECT_EQ(short_amount("memory", int64_t{64} << 30), "64Gi");
  EXPECT_EQ(short_amount("memory", (int64_t{64} << 30) + 1), "64Gi");
}

TEST(TreePictureTest, OpensWhatGotPodsAndFoldsTheRest) {
  Sample sample(2, 2, 2);
  sample.place(1);
  sample.picture.amounts.used[0] = 4;
  EXPECT_EQ(sample.draw(),
            "nvidia.com/gpu                     used  placed  free  total\n"
            "cluster          #++.............     4       8    52     64\n"
            "|- b0            ##++++..........     4       8    20     32\n"
            "|  |- r0         ####++++++++....     4       8     4     16\n"
            "|  |  |- n0-0-0  ########........     4       0     4      8\n"
            "|  |  `- n0-0-1  ++++++++++++++++     0       8     0      8  job 1\n"
            "|  `- r1         ................     0       0    16     16\n"
            "`- b1            ................     0       0    32     32\n"
            "# used   + placed now   . free\n");
}

TEST(TreePictureTest, ShowsWholeLevelsIfNothingWasPlaced) {
  Sample sample(2, 3, 4);
  EXPECT_EQ(tree_lines(sample.draw(100)), 1 + 2 + 6 + 24);
  EXPECT_EQ(tree_lines(sample.draw(32)), 1 + 2 + 6);
}

TEST(TreePictureTest, StaysWithinItsLines) {
  Sample sample(12, 10, 20);
  for (const int pods : {0, 1, 50, 2400}) {
    for (int leaf = 0; leaf < pods; ++leaf) sample.place(static_cast<uint32_t>(leaf));
    for (const int lines : {3, 4, 7, 10, 25, 40, 100, 500}) {
      const std::string text = sample.draw(lines);
      EXPECT_LE(tree_lines(text), lines) << pods << " pods\n" << text;
      EXPECT_GE(tree_lines(text), std::min(lines, 2)) << pods << " pods\n" << text;
    }
  }
}

TEST(TreePictureTest, FoldedDomainsSayWhatIsInside) {
  Sample sample(1, 1, 30);
  for (uint32_t leaf = 0; leaf < 20; ++leaf) sample.place(leaf);
  sample.picture.amounts.barred.assign(30, false);
  sample.picture.amounts.barred[29] = true;
  const std::string text = sample.draw(8);
  EXPECT_NE(text.find("16 pods, 1 of 26 barred"), std::string::npos) << text;
}

}  // namespace
}  // namespace phalanx::cli

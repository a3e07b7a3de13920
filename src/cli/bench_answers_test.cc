// The benchmark's answers are the reference's, at every size it was published for.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "cli/bench_cluster.h"
#include "placement/placer.h"

namespace phalanx::cli {
namespace {

constexpr std::array<uint32_t, 4> kSizes = {1000, 10000, 50000, 100000};

const std::map<std::string, std::array<std::string, 4>> kAnswers = {
    {"required-rack-16x8gpu",
     {"8451b17b5f761e9f55acf100260d0e1107a79543d0d26f945ce5f27239c5d719",
      "8451b17b5f761e9f55acf100260d0e1107a79543d0d26f945ce5f27239c5d719",
      "8451b17b5f761e9f55acf100260d0e1107a79543d0d26f945ce5f27239c5d719",
      "8451b17b5f761e9f55acf100260d0e1107a79543d0d26f945ce5f27239c5d719"}},
    {"preferred-block-512x1gpu",
     {"229bad1b56d2905e60f790bcff982098d51d84ffcf9f642197a1a6816e4bf863",
      "565f2776dc2dfb44211d435c8c132431f3863aacb99aafc5c69c1b2f8ea33487",
      "e8e207275bbf47e4c7770c3e685b9a457a8ca8b2928ef2645e0cd0971024e989",
      "a6ccdc94e5c1b62cc500ff0c85217eff958186ff46214869a7230952855c9d01"}},
    {"preferred-block-512x8gpu",
     {"399bb73b2f2f363c262dd8ae172243b2434ebfcae561d00087baddb6099bd597",
      "5a5190e963b865b1e313b30cf74acdeec4849374c96ade8a35e881c84b31ac08",
      "005bd12c6f8e23c5d4f0b407956069b51a4bb453963cc8370ba0d15e3fd067fc",
      "3823fb16aa87280a7d3040b62c8b8278850db8afce31f087ac93270965f1868b"}},
    {"unconstrained-1000x1gpu",
     {"86a9ed3178d5727e210a04436290f351c1f5534dcaefb88c50525ad26bbee3e0",
      "de364f59f783bd8a8d302d9c729e9ace202133a8745ddd3abf3e5ef8a1800231",
      "b10a8c9aac56f5131a84f5c719dadbc4314792c8c0aa6e7955ba6b4af33387e3",
      "b10a8c9aac56f5131a84f5c719dadbc4314792c8c0aa6e7955ba6b4af33387e3"}},
    {"slices-rack16-preferred-block-128x8gpu",
     {"f7a5a493dc067e678f9a6f4ac38072b34304ad5b44e7e6afd683b05cc68c2c7e",
      "0c1568aad2d1b2b3ca7374455cfae01a666d27b27d5f1d76de3b67557e80acc3",
      "13fff675f2483739e51ab4cec4bfba154302c1a41810981d66352059e2223877",
      "cb0f6aa1af0e3c0ecb0ee865f6f59f86214d1e5717abc4836b68cbb7bc431789"}},
    {"slices-host4-required-block-256x1gpu",
     {"ceacf0549be61a11617bdea49e56227aa7a6ed85a906b74dd157dfafa937eb2d",
      "a42bdbeaf43fd2dfc33a3cb3aa53872f9621013f85f413423c3e91e2b46ea11c",
      "622cb5c1a69b656c14990f745ec798854d4f585ff1641bf7284e164573038099",
      "da4262b80facec5f103b8e155dbc24639d1fce20353ac777cb6a27f35ce17aca"}},
    {"multilayer-rack32-host4-required-block-128x1gpu",
     {"d3ef93e502b0f5b9b01fdef31cb5bb31fd7501a37dbfbc7394c0e36e69539b85",
      "5b236ac12e76f79df1e671454c3d24b86bda51fc670db7477e1d906f72637e1a",
      "8d8e385a6e4b49ca74004f36e7425643e0d8b8c0613433d6fc0cca515dfb3a2b",
      "5cba964a1b4f24efaf3d6271b0bce0279fef0a3f6dc914c8cf3f8f144ed7951f"}},
    {"leader-workers-required-rack-1+15x8gpu",
     {"b8b58b558cb18b393280f25db067321e32730ecc1c5bfe7ce95c19d003651200",
      "b8b58b558cb18b393280f25db067321e32730ecc1c5bfe7ce95c19d003651200",
      "b8b58b558cb18b393280f25db067321e32730ecc1c5bfe7ce95c19d003651200",
      "b8b58b558cb18b393280f25db067321e32730ecc1c5bfe7ce95c19d003651200"}},
    {"balanced-preferred-rack-100x1gpu",
     {"153b50c6a0b88daca024ebf3064e40a8e2917db18954502cad1798a610421aa1",
      "153b50c6a0b88daca024ebf3064e40a8e2917db18954502cad1798a610421aa1",
      "153b50c6a0b88daca024ebf3064e40a8e2917db18954502cad1798a610421aa1",
      "153b50c6a0b88daca024ebf3064e40a8e2917db18954502cad1798a610421aa1"}},
    {"balanced-preferred-rack-400x1gpu",
     {"8ccaa8decb8903962c98909050c6605625a337928be12c013ccc2ccff2eec1b7",
      "8ccaa8decb8903962c98909050c6605625a337928be12c013ccc2ccff2eec1b7",
      "8ccaa8decb8903962c98909050c6605625a337928be12c013ccc2ccff2eec1b7",
      "8ccaa8decb8903962c98909050c6605625a337928be12c013ccc2ccff2eec1b7"}},
    {"balanced-preferred-block-600x1gpu",
     {"ea6cc087936dc3157ee24ffb6a917f3a41385f6ea9e7dc1593b3537e3406a393",
      "71fb9329d5de8a182ae4a80bd645c1ac3d1ed64fc2dfef484d99a1813429fee2",
      "71fb9329d5de8a182ae4a80bd645c1ac3d1ed64fc2dfef484d99a1813429fee2",
      "71fb9329d5de8a182ae4a80bd645c1ac3d1ed64fc2dfef484d99a1813429fee2"}},
};

TEST(BenchCluster, FollowsItsFormula) {
  EXPECT_EQ(splitmix64(0), 16294208416658607535ULL);
  const std::vector<int> load = {8, 5, 5, 0, 2, 6, 7, 6, 6, 3, 8, 2, 5, 8, 1, 7, 8, 8, 8, 8};
  for (size_t node = 0; node < load.size(); ++node) EXPECT_EQ(bench_load(node), load[node]);
}

TEST(BenchCluster, AnswersAreTheReferences) {
  for (size_t size = 0; size < kSizes.size(); ++size) {
    topology::Cluster cluster;
    const TreeId tree = build_bench_cluster(cluster, kSizes[size], true, [](uint32_t) {});
    placement::Placer placer(cluster);
    size_t compared = 0;
    for (const BenchShape& shape : bench_shapes()) {
      const auto known = kAnswers.find(shape.name);
      if (known == kAnswers.end()) continue;
      EXPECT_EQ(answer_hash(placer.place(tree, shape.workload, shape.options)), known->second[size])
          << shape.name << " on " << kSizes[size] << " nodes";
      ++compared;
    }
    EXPECT_EQ(compared, kAnswers.size());
  }
}

}  // namespace
}  // namespace phalanx::cli

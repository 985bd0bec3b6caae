#include "profile/op_work.h"

#include <gtest/gtest.h>

#include <string>

namespace idleburn {
namespace {

std::optional<OpWork> Work(std::string_view op, std::string_view dims, std::string_view type,
                           std::string_view concrete = "") {
  const std::string types =
      "[\"" + std::string(type) + "\", \"" + std::string(type) + "\", \"" + std::string(type) + "\"]";
  return WorkOf(op, {dims, types, concrete});
}

std::int64_t Flops(const std::optional<OpWork>& work) { return work ? work->flops : -1; }

// By hand: 2 m k n, and the bytes of [m, k], [k, n] and [m, n].
TEST(OpWorkTest, MatrixProducts) {
  const auto mm = Work("aten::mm", "[[3, 4], [4, 5]]", "c10::BFloat16");
  ASSERT_TRUE(mm);
  EXPECT_EQ(mm->flops, 2 * 3 * 4 * 5);
  EXPECT_EQ(mm->bytes, 2 * (12 + 20 + 15));
  EXPECT_FALSE(mm->single);
  const auto addmm = Work("aten::addmm", "[[512], [141, 512], [512, 512], [], []]", "float");
  ASSERT_TRUE(addmm);
  EXPECT_EQ(addmm->flops, 2LL * 141 * 512 * 512);
  EXPECT_TRUE(addmm->single);
  EXPECT_EQ(Flops(Work("aten::bmm", "[[8, 3, 4], [8, 4, 5]]", "c10::Half")), 8 * 120);
  EXPECT_EQ(Flops(Work("aten::baddbmm", "[[8, 3, 5], [8, 3, 4], [8, 4, 5], [], []]", "c10::Half")), 8 * 120);
  EXPECT_TRUE(Work("aten::_scaled_mm", "[[3, 4], [4, 5]]", "c10::Float8_e4m3fn")->fp8);
}

// Published multiply-accumulates of the first layers (fvcore, torchvision): ResNet-50 conv1 118,013,952, VGG-16 conv1
// 86,704,128, both at 224 x 224.
TEST(OpWorkTest, ConvolutionsOfPublishedNetworks) {
  const std::string_view resnet = R"(["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1"])";
  EXPECT_EQ(Flops(Work("aten::convolution", "[[1, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]", "float",
                       resnet)),
            2 * 118'013'952LL);
  const std::string_view vgg = R"(["", "", "", "[1]", "[1]", "[1]", "False", "[0]", "1"])";
  EXPECT_EQ(
      Flops(Work("aten::convolution", "[[1, 3, 224, 224], [64, 3, 3, 3], [64], [], [], [], [], [], []]", "float", vgg)),
      2 * 86'704'128LL);
}

// A grouped convolution has the inputs of its group only: the weight says how many. A transposed one does for each
// input what the other does for each output.
TEST(OpWorkTest, GroupedAndTransposedConvolutions) {
  const std::string_view plain = R"(["", "", "", "[1]", "[0]", "[1]", "False", "[0]", "4"])";
  EXPECT_EQ(Flops(Work("aten::convolution", "[[2, 8, 10], [8, 2, 3], [], [], [], [], [], [], []]", "float", plain)),
            2LL * 2 * 8 * 8 * 2 * 3);
  const std::string_view transposed = R"(["", "", "", "[2]", "[0]", "[1]", "True", "[0]", "1"])";
  EXPECT_EQ(
      Flops(Work("aten::convolution", "[[2, 8, 10], [8, 5, 3], [], [], [], [], [], [], []]", "float", transposed)),
      2LL * 2 * 8 * 10 * 5 * 3);
}

// The backward pass of a convolution has a product for each of the two gradients that are asked for.
TEST(OpWorkTest, ConvolutionBackward) {
  const std::string_view dims = "[[2, 4, 8], [2, 3, 10], [4, 3, 3], [], [], [], [], [], [], [], []]";
  const std::int64_t one = 2LL * 2 * 4 * 8 * 3 * 3;
  const auto with = [&](const char* mask) {
    return Flops(
        Work("aten::convolution_backward", dims, "float",
             std::string(R"(["", "", "", "[4]", "[1]", "[0]", "[1]", "False", "[0]", "1", ")") + mask + "\"]"));
  };
  EXPECT_EQ(with("[True, True, False]"), 2 * one);
  EXPECT_EQ(with("[False, True, True]"), one);
  EXPECT_EQ(with(""), -1);
}

// q k' and the product with v: 2 x 2 b h s s d. The backward pass has five such products.
TEST(OpWorkTest, Attention) {
  const std::string_view dims = "[[2, 8, 128, 64], [2, 8, 256, 64], [2, 8, 256, 64]]";
  const std::int64_t product = 2LL * 2 * 8 * 128 * 256 * 64;
  EXPECT_EQ(Flops(Work("aten::_scaled_dot_product_flash_attention", dims, "c10::Half")), 2 * product);
  EXPECT_EQ(Flops(Work("aten::_scaled_dot_product_flash_attention_backward",
                       "[[2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 256, 64], [2, 8, 256, 64]]", "c10::Half")),
            5 * product);
}

// What cannot be computed is absent, and never 0.
TEST(OpWorkTest, MissingOrOddInputsAreAbsent) {
  EXPECT_FALSE(Work("aten::add", "[[3, 4], [4, 5]]", "float"));
  EXPECT_FALSE(HasKnownWork("aten::linear"));
  for (const char* dims :
       {"", "[]", "[[3, 4]]", "[[3, 4], [5, 6]]", "[[3, 4], [4]]", "[[-3, 4], [4, 5]]", "[[[3, 4]], [4, 5]]",
        "[[3, 4], [4, 5", "[[3.5, 4], [4, 5]]", "nonsense", "[[2147483648, 2147483648], [2147483648, 2147483648]]"}) {
    EXPECT_FALSE(Work("aten::mm", dims, "float")) << dims;
  }
  EXPECT_FALSE(Work("aten::mm", "[[3, 4], [4, 5]]", "Scalar"));
  EXPECT_FALSE(WorkOf("aten::mm", {"[[3, 4], [4, 5]]", "", ""}));
  EXPECT_FALSE(Work("aten::convolution", "[[1, 3, 9], [4, 3, 3], []]", "float")) << "without a stride";
}

}  // namespace
}  // namespace idleburn

#include "plan/gpu_name.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(GpuNameTest, HowManyAndWhich) {
  const std::tuple<const char*, double, const char*> names[] = {{"8xH100", 8, "H100"},
                                                                {"8x H100 80GB", 8, "H100 80GB"},
                                                                {" 8 x H100", 8, "H100"},
                                                                {"2x8xH100", 16, "H100"},
                                                                {"4*A100", 4, "A100"},
                                                                {"H100 x8", 8, "H100"},
                                                                {"A100 (80GB) x 4", 4, "A100 (80GB)"},
                                                                {"H100x8", 8, "H100"},
                                                                {"RTX 4090", 0, "RTX 4090"},
                                                                {"3090", 0, "3090"},
                                                                {"0xH100", 0, "0xH100"},
                                                                {"8x", 0, "8x"},
                                                                {"gtx8", 0, "gtx8"},
                                                                {"", 0, ""}};
  for (const auto& [text, count, gpu] : names) {
    EXPECT_EQ(CountedGpuOf(text).count, count) << text;
    EXPECT_EQ(CountedGpuOf(text).gpu, gpu) << text;
  }
}

TEST(GpuNameTest, WordsThatTellGpusApart) {
  const GpuWords words = GpuWordsOf("NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(words.family, "a100");
  EXPECT_EQ(words.form, "sxm");
  EXPECT_EQ(words.memory_gb, 80);
  EXPECT_EQ(GpuWordsOf("A100 80 GB PCIe").memory_gb, 80);
  EXPECT_EQ(GpuWordsOf("A100 80 GB PCIe").form, "pcie");
  EXPECT_EQ(GpuWordsOf("RTX 6000 Ada").family, "6000ada");
  EXPECT_EQ(GpuWordsOf("").family, "");
}

}  // namespace
}  // namespace idleburn

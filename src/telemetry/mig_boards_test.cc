#include "telemetry/mig_boards.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

// The table "Supported GPUs" of NVIDIA's MIG user guide, by the names that drivers and exporters print.
TEST(MigBoardsTest, SlicesAreThoseOfTheModel) {
  const std::pair<const char*, std::optional<int>> cases[] = {
      {"NVIDIA A30", 4},
      {"NVIDIA_A30", 4},
      {"NVIDIA A100-SXM4-80GB", 7},
      {"A100-80GB-PCIe", 7},
      {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 7},
      {"nvidia h100 80gb hbm3", 7},
      {"NVIDIA H100 NVL", 7},
      {"NVIDIA H20", 7},
      {"NVIDIA H200", 7},
      {"NVIDIA GH200 480GB", 7},
      {"NVIDIA B200", 7},
      {"NVIDIA GB300", 7},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 4},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 4},
      {"NVIDIA-RTX-PRO-6000-Blackwell-Workstation-Edition", 4},
      {"NVIDIA RTX PRO 5000 Blackwell", 2},
      {"NVIDIA RTX PRO 4500 Blackwell Server Edition", 2},
      {"NVIDIA Thor", 2},
      {"NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU", std::nullopt},
      {"NVIDIA RTX A3000", std::nullopt},
      {"NVIDIA RTX 6000 Ada Generation", std::nullopt},
      {"NVIDIA L40S", std::nullopt},
      {"NVIDIA A10", std::nullopt},
      {"NVIDIA A1000", std::nullopt},
      {"NVIDIA RTX PRO 4000 Blackwell", std::nullopt},
      {"Tesla T4", std::nullopt},
      {"AMD Instinct MI300X", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [name, slices] : cases) EXPECT_EQ(MigSlices(name), slices) << name;
}

}  // namespace
}  // namespace idleburn

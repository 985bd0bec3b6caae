#include "telemetry/link_speed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "audit/read_run.h"
#include "telemetry/link_speed.h"

// From what inputs say of a PCIe link to what it can move.
namespace idleburn {
namespace {

constexpr const char* kUuid = "GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000";

// Bytes a second each way by the specifications: transfers a second and lane, coded 8b/10b in generation 1, 128b/130b
// from 3 to 5.
constexpr double kGen1 = 2.5e9 / 10;
constexpr double kGen3 = 8e9 * 128 / 130 / 8;
constexpr double kGen5 = 32e9 * 128 / 130 / 8;

// Bytes a second that the PCIe link of the only GPU can move.
double SpeedIn(const std::vector<std::string>& texts) {
  std::vector<std::string> paths;
  for (const std::string& text : texts) {
    const std::string name = fmt::format("idleburn_link_{}_{}", getpid(), paths.size());
    paths.push_back((std::filesystem::temp_directory_path() / name).string());
    std::ofstream(paths.back()) << text;
  }
  const ImportOptions options;
  const Thresholds thresholds;
  const auto run = Read(paths, options, thresholds);
  for (const std::string& path : paths) std::filesystem::remove(path);
  if (!run) {
    ADD_FAILURE() << run.error().message;
    return -1;
  }
  const std::vector<LinkSpeed> links = LinksOf((*run)->devices, (*run)->summary.facts());
  EXPECT_EQ(links.size(), 1U);
  return links.empty() ? -1 : static_cast<double>(links[0].pcie);
}

std::string Csv(const std::string& columns, const std::string& cells) {
  std::string log = "timestamp, uuid, utilization.gpu [%]" + columns + "\n";
  for (int second = 10; second < 16; ++second)
    log += fmt::format("2026/03/02 10:00:{}.000, {}, 50 %{}\n", second, kUuid, cells);
  return log;
}

std::string Xml(const std::string& generations, const std::string& widths) {
  std::string log;
  for (int second = 10; second < 14; ++second) {
    log += fmt::format(
        "<?xml version=\"1.0\" ?>\n<nvidia_smi_log><timestamp>Mon Mar  2 10:00:{} 2026</timestamp>"
        "<attached_gpus>1</attached_gpus><gpu id=\"00000000:01:00.0\"><product_name>NVIDIA A10G</product_name>"
        "<uuid>{}</uuid><pci><pci_gpu_link_info><pcie_gen>{}</pcie_gen><link_widths>{}</link_widths>"
        "</pci_gpu_link_info></pci><utilization><gpu_util>65 %</gpu_util></utilization></gpu></nvidia_smi_log>\n",
        second, kUuid, generations, widths);
  }
  return log;
}

std::string Scrapes(const std::vector<std::pair<std::string, int>>& gauges) {
  std::string text;
  for (int second = 0; second < 120; second += 30) {
    for (const auto& [name, value] : gauges)
      text += fmt::format("{}{{uuid=\"{}\"}} {} {}\n", name, kUuid, value, 1'772'445'600'000 + second * 1000);
  }
  return text;
}

// An idle board lowers its generation: the most counts, with the lanes that it has.
TEST(LinkSpeedsTest, OfAReport) {
  const std::string idle = "<current_link_gen>1</current_link_gen>";
  const std::string lanes = "<max_link_width>16x</max_link_width><current_link_width>8x</current_link_width>";
  EXPECT_NEAR(SpeedIn({Xml("<max_link_gen>3</max_link_gen>" + idle, lanes)}), kGen3 * 8, 8);
  EXPECT_EQ(SpeedIn({Xml("<max_link_gen>1</max_link_gen>" + idle, lanes)}), kGen1 * 8);
  EXPECT_EQ(SpeedIn({Xml("<max_link_gen>N/A</max_link_gen>" + idle, lanes)}), 0);
  EXPECT_EQ(SpeedIn({Xml(idle, lanes)}), 0);
  EXPECT_EQ(SpeedIn({Xml("<max_link_gen>3</max_link_gen>" + idle, "")}), 0);
}

TEST(LinkSpeedsTest, OfALog) {
  const std::string columns =
      ", pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max";
  EXPECT_NEAR(SpeedIn({Csv(columns, ", 1, 5, 8, 16")}), kGen5 * 8, 8);
  EXPECT_EQ(SpeedIn({Csv(columns, ", 1, [N/A], 8, 16")}), 0);
  EXPECT_EQ(SpeedIn({Csv(", pcie.link.gen.current, pcie.link.width.current", ", 1, 16")}), 0);
}

TEST(LinkSpeedsTest, OfScrapes) {
  EXPECT_NEAR(SpeedIn({Scrapes({{"nvidia_smi_utilization_gpu_ratio", 1},
                                {"nvidia_smi_pcie_link_gen_current", 1},
                                {"nvidia_smi_pcie_link_gen_max", 5},
                                {"nvidia_smi_pcie_link_width_current", 16},
                                {"nvidia_smi_pcie_link_width_max", 16}})}),
              kGen5 * 16, 16);
  EXPECT_NEAR(SpeedIn({Scrapes({{"DCGM_FI_DEV_GPU_UTIL", 50},
                                {"DCGM_FI_DEV_PCIE_MAX_LINK_GEN", 3},
                                {"DCGM_FI_DEV_PCIE_LINK_GEN", 1},
                                {"DCGM_FI_DEV_PCIE_LINK_WIDTH", 4}})}),
              kGen3 * 4, 4);
  EXPECT_EQ(SpeedIn({Scrapes({{"DCGM_FI_DEV_GPU_UTIL", 50}, {"DCGM_FI_DEV_PCIE_LINK_WIDTH", 4}})}), 0);
}

// What one input tells of a board holds for the readings of another.
TEST(LinkSpeedsTest, OfOneInputBesideAnother) {
  const std::string told = Csv(", pcie.link.gen.max, pcie.link.width.current", ", 3, 16");
  EXPECT_NEAR(SpeedIn({told, Scrapes({{"DCGM_FI_PROF_PCIE_RX_BYTES", 1000}})}), kGen3 * 16, 16);
}

// Boards without a UUID of their own could be any.
TEST(LinkSpeedsTest, OfABoardThatIsNotNamedIsNotKnown) {
  std::string masked = Csv(", pcie.link.gen.max, pcie.link.width.current, index", ", 3, 16, 0");
  for (std::size_t at = 0; (at = masked.find(kUuid, at)) != std::string::npos;)
    masked.replace(at, std::string(kUuid).size(), "GPU-00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(SpeedIn({masked}), 0);
}

}  // namespace

}  // namespace idleburn

#include <gtest/gtest.h>
#include <simdjson.h>

#include "import/formats.h"
#include "import/tool_readers.h"
#include "support/metrics_testing.h"

namespace idleburn {
namespace {

// What the reference parser says of one key, in our unit; absent where it says that there is no value.
std::optional<std::int64_t> Want(simdjson::dom::object card, const char* key, std::int64_t unit) {
  std::string_view text;
  if (card[key].get(text) != simdjson::SUCCESS || text.substr(0, 3) == "N/A") return std::nullopt;
  if (text.front() == '(') text = text.substr(1, text.size() - 5);  // "(300Mhz)"
  return static_cast<std::int64_t>(std::stod(std::string(text)) * static_cast<double>(unit) + 0.5);
}

std::string WantText(simdjson::dom::object card, const char* key) {
  std::string_view text;
  if (card[key].get(text) != simdjson::SUCCESS || text == "N/A") return {};
  return std::string(text);
}

TEST(RocmSmi, EveryExpectedFieldOfEveryCard) {
  NEED_SHARED_DATA("telemetry/expected.json");
  simdjson::dom::parser parser;
  const simdjson::dom::object files = parser.load(SharedData("telemetry/expected.json").string())["rocm_smi"];
  std::size_t cards = 0;
  for (const auto file : files) {
    const std::string text = FileText(SharedData("telemetry/rocm_smi/" + std::string(file.key)));
    EXPECT_TRUE(SniffRocmSmi(text.substr(0, kSniffBytes))) << file.key;
    const Result<RocmReport> report = ParseRocmSmi(text);
    ASSERT_TRUE(report) << file.key;
    EXPECT_EQ(report->driver_version, WantText(file.value["system"], "Driver version"));
    std::size_t at = 0;
    for (const auto entry : simdjson::dom::object(file.value)) {
      if (entry.key == "system") continue;
      const simdjson::dom::object want = entry.value;
      ASSERT_LT(at, report->cards.size()) << file.key;
      const RocmCard& card = report->cards[at++];
      const std::string where = std::string(file.key) + " " + std::string(entry.key);
      EXPECT_EQ(card.card, entry.key);
      EXPECT_EQ(card.unique_id, WantText(want, "Unique ID")) << where;
      EXPECT_EQ(card.bus_id, WantText(want, "PCI Bus")) << where;
      EXPECT_EQ(card.gfx_version, WantText(want, "GFX Version")) << where;
      const std::string serial = WantText(want, "Serial Number");
      EXPECT_EQ(card.serial_number, serial == "0" ? "" : serial) << where;
      const std::string series = WantText(want, "Card series") + WantText(want, "Card Series");
      EXPECT_EQ(card.series, series == "0x1002" ? "" : series) << where;
      EXPECT_EQ(card.edge, Want(want, "Temperature (Sensor edge) (C)", 1000)) << where;
      EXPECT_EQ(card.junction, Want(want, "Temperature (Sensor junction) (C)", 1000)) << where;
      EXPECT_EQ(card.sclk, Want(want, "sclk clock speed:", 1000)) << where;
      EXPECT_EQ(card.max_power, Want(want, "Max Graphics Package Power (W)", 1000)) << where;
      EXPECT_EQ(card.power, Want(want, "Average Graphics Package Power (W)", 1000)) << where;
      EXPECT_EQ(card.use, Want(want, "GPU use (%)", kPercent)) << where;
      if (file.key != "rx6700xt_rocm612.json") {  // there both have another key
        EXPECT_EQ(card.model, WantText(want, "Card model")) << where;
        EXPECT_EQ(card.memory_use, Want(want, "GPU memory use (%)", kPercent)) << where;
      }
      EXPECT_EQ(card.vram_total, Want(want, "VRAM Total Memory (B)", 1)) << where;
      EXPECT_EQ(card.vram_used, Want(want, "VRAM Total Used Memory (B)", 1)) << where;
      EXPECT_EQ(card.vis_vram_total, Want(want, "VIS_VRAM Total Memory (B)", 1)) << where;
      EXPECT_EQ(card.vis_vram_used, Want(want, "VIS_VRAM Total Used Memory (B)", 1)) << where;
      ++cards;
    }
    EXPECT_EQ(at, report->cards.size()) << file.key;
  }
  EXPECT_EQ(cards, 16U);
}

TEST(RocmSmi, CardsBecomeDevices) {
  NEED_SHARED_DATA("telemetry/rocm_smi/mi100_rocm602.json");
  const std::string text = FileText(SharedData("telemetry/rocm_smi/mi100_rocm602.json"));
  const auto one = ImportText(&ImportRocmSmi, text);
  ASSERT_EQ(one->error, "");
  ASSERT_EQ(one->devices.size(), 4U);
  EXPECT_EQ(one->devices[0].uuid, "GPU-79ccd55167a2124a");
  EXPECT_EQ(one->devices[1].uuid, "GPU-04edfb117a17a07d");
  EXPECT_EQ(one->devices[0].bus_id, "0000:83:00.0");
  EXPECT_EQ(one->devices[0].name, "Arcturus GL-XL [Instinct MI100]");
  EXPECT_EQ(one->Values(Signal::kUtilization, 0), std::vector<std::int64_t>{0});
  EXPECT_EQ(one->Values(Signal::kPower, 0), std::vector<std::int64_t>{36'000});
  EXPECT_EQ(one->Values(Signal::kTemperature, 0), std::vector<std::int64_t>{53'000});
  EXPECT_EQ(one->samples.front().time.nanos(), 0);
  EXPECT_EQ(one->quality.CountOf(QualityId::kPeriodEstimated), 0);
  EXPECT_EQ(one->quality.CountOf(QualityId::kNoTimestamp), 1);

  const auto two = ImportText(&ImportRocmSmi, text + "\n" + text + text.substr(0, 700));
  EXPECT_EQ(two->devices.size(), 4U);
  EXPECT_EQ(two->Values(Signal::kPower, 3), (std::vector<std::int64_t>{39'000, 39'000}));
  EXPECT_EQ(two->samples.back().time.nanos(), kNanosPerSecond);
  EXPECT_EQ(two->quality.CountOf(QualityId::kPeriodEstimated), 4);
  EXPECT_EQ(two->quality.CountOf(QualityId::kTornRow), 1);
  EXPECT_EQ(two->quality.CountOf(QualityId::kBadRow), 0);

  const auto warned = ImportText(&ImportRocmSmi, "WARNING: a card sleeps\r\n\n" + text + "\nlost\n" + text + "}");
  EXPECT_EQ(warned->Values(Signal::kPower, 3), (std::vector<std::int64_t>{39'000, 39'000}));
  EXPECT_EQ(warned->quality.CountOf(QualityId::kBadRow), 1);
  EXPECT_EQ(warned->quality.CountOf(QualityId::kTornRow), 1);
}

TEST(RocmSmi, ReadingsOfNoGpuAreUnobserved) {
  const std::string text = R"json({"card0": {"GPU use (%)": "255", "Average Graphics Package Power (W)": "4294967.295",
      "VRAM Total Memory (B)": "205520896000"}})json";
  const auto in = ImportText(&ImportRocmSmi, text);
  ASSERT_EQ(in->samples.size(), 1U);
  EXPECT_TRUE(in->samples[0].Lacks(Signal::kUtilization));
  EXPECT_EQ(in->samples[0].reason, Unobserved::kInvalidCounter);
  EXPECT_FALSE(in->samples[0].Has(Signal::kPower));
  EXPECT_EQ(in->quality.CountOf(QualityId::kOutOfRange), 2);
  EXPECT_EQ(in->quality.CountOf(QualityId::kUnavailableValue), 0);
}

TEST(RocmSmi, EverySpellingOfNoValueIsMissing) {
  for (const char* text : {"N/A", "n/a (Secondary die)", "None", "Not supported on the given system", "Unsupported",
                           "Unknown", "Not Permitted", "ERR!", ""}) {
    const auto report = ParseRocmSmi(R"({"card0": {"Card series": ")" + std::string(text) + R"("}})");
    EXPECT_EQ(report->cards[0].series, "") << text;
  }
  for (const char* text : {"Navi 22 [Radeon RX 6700]", "[AMD/ATI] Navi 22", "Instinct MI300X"}) {
    const auto report = ParseRocmSmi(R"({"card0": {"Card series": ")" + std::string(text) + R"("}})");
    EXPECT_EQ(report->cards[0].series, text);
  }
}

TEST(RocmSmi, MissingIsMissing) {
  const std::string text = R"json({"card1": {"GPU use (%)": "N/A", "Current Socket Graphics Package Power (W)": "550.5",
      "Average Graphics Package Power (W)": "N/A (Secondary die)", "VRAM Total Memory (B)": 205520896000}})json";
  const auto in = ImportText(&ImportRocmSmi, text);
  ASSERT_EQ(in->samples.size(), 1U);
  EXPECT_TRUE(in->samples[0].Lacks(Signal::kUtilization));
  EXPECT_EQ(in->samples[0].Get(Signal::kPower), 550'500);
  EXPECT_EQ(in->samples[0].Get(Signal::kMemoryTotal), 205'520'896'000);
  EXPECT_EQ(in->devices[0].index, 1);
  EXPECT_EQ(in->quality.CountOf(QualityId::kUnavailableValue), 2);
  EXPECT_EQ(in->samples[0].reason, Unobserved::kUnsupported);
  EXPECT_NE(ImportText(&ImportRocmSmi, "{}")->error, "");
  EXPECT_FALSE(SniffRocmSmi("{\"cards\": 1}"));
}

}  // namespace
}  // namespace idleburn

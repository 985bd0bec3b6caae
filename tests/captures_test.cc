// The captures of nvidia-smi on five machines, idle and under load, against what another parser made of them:
// data/telemetry/expected.json, section nvidia_smi. Its keys compute_apps, pmon_* and dmon_first_row are held
// by the tests beside those importers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "import/formats.h"
#include "support/capture.h"
#include "support/import_run.h"
#include "support/program.h"
#include "support/read_inputs.h"

namespace idleburn {
namespace {

using nlohmann::json;
using test::CaptureSection;
using test::ImportRun;
using test::SectionText;
using testing::MustRead;
using testing::Shared;
using testing::TempFolder;

constexpr std::string_view kQueryGpu = "query-gpu (csv";

// The signals of a row: the column that carries each, and how many of the signal's unit its own unit is.
struct Expected {
  const char* column;
  Signal signal;
  double scale;
};
constexpr double kMebibyte = 1 << 20;
constexpr auto kExpected = std::to_array<Expected>({
    {"memory.total [MiB]", Signal::kMemoryTotal, kMebibyte},
    {"memory.used [MiB]", Signal::kMemoryUsed, kMebibyte},
    {"utilization.gpu [%]", Signal::kUtilization, kPercent},
    {"utilization.memory [%]", Signal::kMemoryUtilization, kPercent},
    {"utilization.encoder [%]", Signal::kEncoderUtilization, kPercent},
    {"utilization.decoder [%]", Signal::kDecoderUtilization, kPercent},
    {"power.draw [W]", Signal::kPower, 1000},
    {"enforced.power.limit [W]", Signal::kPowerLimit, 1000},
    {"power.default_limit [W]", Signal::kPowerDefaultLimit, 1000},
    {"clocks.current.sm [MHz]", Signal::kSmClock, 1000},
    {"clocks.max.sm [MHz]", Signal::kMaxSmClock, 1000},
    {"temperature.gpu", Signal::kTemperature, 1000},
});

bool IsMissing(const std::string& cell) { return cell.find_first_of("0123456789") == std::string::npos; }

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t start = 0;
  for (std::size_t comma = 0; comma != std::string::npos; start = comma + 2) {
    comma = line.find(", ", start);
    cells.push_back(line.substr(start, comma == std::string::npos ? comma : comma - start));
  }
  return cells;
}

// Every run of blanks as one, none at the ends.
std::string Squeezed(const std::string& line) {
  std::istringstream in(line);
  std::string squeezed;
  for (std::string word; in >> word;) squeezed += (squeezed.empty() ? "" : " ") + word;
  return squeezed;
}

// "Key : value" of the first such line at or after *at, which then stands behind it; empty if there is none.
std::string ValueOf(const std::string& key, const std::vector<std::string>& lines, std::size_t* at) {
  while (*at < lines.size()) {
    const std::string line = Squeezed(lines[(*at)++]);
    if (line.rfind(key + " : ", 0) == 0) return line.substr(key.size() + 3);
  }
  return {};
}

class Captures : public ::testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_SHARED(Shared() / "data/telemetry/expected.json");
    machines_ = json::parse(testing::ReadText(Shared() / "data/telemetry/expected.json"))["nvidia_smi"];
    ASSERT_EQ(machines_.size(), 5U);
  }

  static std::vector<CaptureSection> Cut(const std::string& file) {
    return test::CutCapture(testing::ReadText(Shared() / "data/telemetry/nvidia_smi" / file));
  }

  // For every state of every machine: its truth, and the --query-gpu section.
  void ForEachLog(const std::function<void(const json& truth, const std::string& text)>& check) const {
    for (const auto& [file, machine] : machines_.items()) {
      const std::vector<CaptureSection> sections = Cut(file);
      ASSERT_EQ(machine["state"].size(), 2U);
      for (const auto& [state, truth] : machine["state"].items()) {
        SCOPED_TRACE(file + " " + state);
        check(truth, SectionText(sections, state, kQueryGpu));
      }
    }
  }

  json machines_;
};

TEST_F(Captures, AreCutWhereTheirSectionsAre) {
  for (const auto& [file, machine] : machines_.items()) {
    SCOPED_TRACE(file);
    const std::vector<CaptureSection> sections = Cut(file);
    EXPECT_EQ(sections.size(), machine["sections"].get<std::size_t>());
    json names = json::array();
    for (const CaptureSection& s : sections) names.push_back(s.state + " :: " + s.name);
    EXPECT_EQ(names, machine["section_names"]);

    std::size_t at = 0;
    EXPECT_EQ(ValueOf("CUDA Version", Lines(SectionText(sections, "capabilities", "version")), &at),
              machine["cuda_version"]);
    json list = json::array();
    for (const std::string& line : Lines(SectionText(sections, "capabilities", "list (-L)"))) {
      list.push_back(Squeezed(line));
    }
    EXPECT_EQ(list, machine["list"]);
    ASSERT_EQ(list.size(), machine["mig_devices"].size() + 1);
    for (std::size_t i = 0; i + 1 < list.size(); ++i) {
      const json& mig = machine["mig_devices"][i];
      EXPECT_EQ(list[i + 1], "MIG " + mig["profile"].get<std::string>() + " Device " + mig["device"].dump() +
                                 ": (UUID: " + mig["uuid"].get<std::string>() + ")");
    }
  }
}

TEST_F(Captures, NameTheirMigInstances) {
  int instances = 0;
  for (const auto& [file, machine] : machines_.items()) {
    const std::vector<CaptureSection> sections = Cut(file);
    for (const auto& [state, truth] : machine["state"].items()) {
      SCOPED_TRACE(file + " " + state);
      const std::vector<std::string> lines = Lines(SectionText(sections, state, "query (-q)"));
      json found = json::array();
      for (std::size_t at = 0; at < lines.size();) {
        if (Squeezed(lines[at++]) != "MIG Device") continue;
        const auto number = [&](const char* key) { return std::atoi(ValueOf(key, lines, &at).c_str()); };
        json mig;
        mig["index"] = number("Index");
        mig["gpu_instance"] = number("GPU Instance ID");
        mig["compute_instance"] = number("Compute Instance ID");
        mig["multiprocessors"] = number("Multiprocessor count");
        mig["fb_total_mib"] = number("Total");
        mig["fb_used_mib"] = number("Used");
        mig["fb_free_mib"] = number("Free");
        found.push_back(mig);
      }
      EXPECT_EQ(found, truth["mig_instances"]);
      instances += static_cast<int>(found.size());
    }
  }
  EXPECT_EQ(instances, 10) << "five of the H200, idle and under load";
}

TEST_F(Captures, HaveTheCellsOfTheTruth) {
  ForEachLog([](const json& truth, const std::string& text) {
    const std::vector<std::string> lines = Lines(text);
    ASSERT_EQ(lines.size(), truth["rows"].get<std::size_t>() + 1);
    const std::vector<std::string> header = Cells(lines[0]);
    const std::vector<std::string> row = Cells(lines[1]);
    ASSERT_EQ(header.size(), truth["columns"].get<std::size_t>());
    ASSERT_EQ(row.size(), header.size());
    EXPECT_EQ(std::count(row.begin(), row.end(), "[N/A]"), truth["not_available_cells"].get<int>());
    for (const auto& [column, cell] : truth["fields"].items()) {
      const auto at = std::find(header.begin(), header.end(), column);
      ASSERT_NE(at, header.end()) << column;
      EXPECT_EQ(row[static_cast<std::size_t>(at - header.begin())], cell) << column;
    }
  });
}

TEST_F(Captures, TellWhichGpuTheyAreOf) {
  ForEachLog([](const json& truth, const std::string& text) {
    EXPECT_TRUE(SniffNvidiaSmiCsv(text));
    const ImportRun run(ImportNvidiaSmiCsv, text);
    ASSERT_TRUE(run.result) << run.result.error().message;
    ASSERT_EQ(run.devices.size(), 1U);
    const Device& device = run.devices[0];
    const json& fields = truth["fields"];
    EXPECT_EQ(device.name, fields["name"]);
    EXPECT_EQ(device.index, std::stoi(fields["index"].get<std::string>()));
    EXPECT_EQ(device.uuid, "") << "masked: " << fields["uuid"];
    EXPECT_EQ(run.quality.CountOf(QualityId::kMaskedUuid), 1);
    EXPECT_EQ("0000" + device.bus_id, fields["pci.bus_id"]) << "a domain of four digits is enough";
    EXPECT_FALSE(device.mig) << "the board";
  });
}

TEST_F(Captures, AreReadToTheirValues) {
  int missing = 0;
  ForEachLog([&missing](const json& truth, const std::string& text) {
    const ImportRun run(ImportNvidiaSmiCsv, text);
    ASSERT_TRUE(run.result) << run.result.error().message;
    ASSERT_EQ(run.samples.size(), truth["rows"].get<std::size_t>());
    const Sample& sample = run.samples[0];
    const std::vector<std::string> header = Cells(Lines(text)[0]);
    const std::vector<std::string> row = Cells(Lines(text)[1]);
    std::int64_t unavailable = 0;
    for (const Expected& e : kExpected) {
      const auto at = std::find(header.begin(), header.end(), e.column);
      ASSERT_NE(at, header.end()) << e.column;
      const std::string& cell = row[static_cast<std::size_t>(at - header.begin())];
      if (IsMissing(cell)) {
        EXPECT_TRUE(sample.Lacks(e.signal)) << e.column << " " << cell;
        EXPECT_FALSE(sample.Has(e.signal)) << e.column << ": missing is not 0";
        ++unavailable;
      } else {
        ASSERT_TRUE(sample.Has(e.signal)) << e.column << " " << cell;
        EXPECT_FALSE(sample.Lacks(e.signal)) << e.column;
        EXPECT_EQ(sample.Get(e.signal), std::llround(std::stod(cell) * e.scale)) << e.column << " " << cell;
      }
    }
    EXPECT_EQ(run.quality.CountOf(QualityId::kUnavailableValue), unavailable);
    missing += static_cast<int>(unavailable);
    const json& fields = truth["fields"];
    const std::string mask = fields["clocks_event_reasons.active"];
    EXPECT_EQ(sample.Get(Signal::kEventReasons), static_cast<std::int64_t>(std::stoull(mask, nullptr, 16)));
    std::string stamp = fields["timestamp"];  // 2026/06/24 10:26:34.977
    stamp[4] = stamp[7] = '-';
    stamp[10] = 'T';
    EXPECT_EQ(FormatRfc3339(sample.time), stamp + "Z");
    EXPECT_EQ(run.quality.CountOf(QualityId::kTimezoneAssumed), 1);
    EXPECT_EQ(run.quality.CountOf(QualityId::kBadRow), 0);
    EXPECT_EQ(run.quality.CountOf(QualityId::kOutOfRange), 0);
    EXPECT_EQ(run.Counter(0, Signal::kPower), "nvidia_smi.power.draw") << "neither average nor instant";
    EXPECT_EQ(run.Counter(0, Signal::kUtilization), "nvidia_smi.utilization.gpu");
  });
  EXPECT_EQ(missing, 8) << "the four utilisations of the MIG board, twice";
}

// Both sections of a machine as one log: the first row is held until the second.
TEST_F(Captures, AreClassifiedAsOneLog) {
  const TempFolder folder;
  for (const auto& [file, machine] : machines_.items()) {
    SCOPED_TRACE(file);
    const std::vector<CaptureSection> sections = Cut(file);
    const std::string log = SectionText(sections, "idle", kQueryGpu) + SectionText(sections, "load", kQueryGpu);
    const auto inputs = MustRead({folder.Write(file + ".csv", log)});
    ASSERT_EQ(inputs->run.devices.size(), 1U);
    const DeviceResult& device = inputs->run.devices[0];
    std::array<double, 2> seconds{};
    std::size_t state = 0;
    for (const char* name : {"idle", "load"}) {
      const std::string stamp = machine["state"][name]["fields"]["timestamp"];
      seconds[state++] = std::stod(stamp.substr(14, 2)) * 60 + std::stod(stamp.substr(17));
    }
    const std::int64_t held = std::llround((seconds[1] - seconds[0]) * 1e3) * 1'000'000;
    EXPECT_EQ(device.WindowNs(), held);
    const std::string utilization = machine["state"]["idle"]["fields"]["utilization.gpu [%]"];
    if (IsMissing(utilization)) {
      EXPECT_EQ(device.totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kUnsupported)], held);
      EXPECT_EQ(device.totals.UnobservedNs(), held) << "never idle";
    } else {
      const bool busy = std::stoi(utilization) >= 90;  // the query itself woke the L40S
      EXPECT_EQ(device.totals.phase_ns[busy ? 3 : 0], held) << utilization;
      EXPECT_EQ(device.totals.UnobservedNs(), 0);
    }
  }
}

}  // namespace
}  // namespace idleburn

// The table of measured signals of an audit against the text of real and known captures, read here a second time: cells
// and lines taken apart by hand, every figure by its definition in docs/json.md, without anything of the importers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "os/input_file.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::ReadText;
using testing::Shared;

constexpr double kMebibyte = 1048576;

struct Reading {
  std::string gpu;
  std::int64_t ms = 0;  // of the day or of the epoch; 0: the capture has no times
  double value = 0;     // in the unit of the table of signals
};
using Readings = std::map<std::string, std::vector<Reading>>;  // by the name of the signal

// What a source calls a signal, and what one of its units is in the table's.
struct Spelling {
  const char* name;
  const char* signal;
  double factor;
};

// The place of a name in a table of them; absent: no signal of the table.
template <typename Table>
const Spelling* Find(const Table& table, const std::string& name) {
  const auto found =
      std::find_if(std::begin(table), std::end(table), [&](const Spelling& s) { return name == s.name; });
  return found == std::end(table) ? nullptr : &*found;
}

// A number that a text begins with; a reading without one is missing, and never 0.
bool BeginsWithNumber(const std::string& text, double* value) {
  char* end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  return end != text.c_str();
}

constexpr Spelling kColumns[] = {
    {"utilization.gpu [%]", "utilization.gpu", 1},       {"utilization.memory [%]", "utilization.memory", 1},
    {"memory.used [MiB]", "memory.used", kMebibyte},     {"power.draw [W]", "power.draw", 1},
    {"clocks.current.sm [MHz]", "clocks.current.sm", 1}, {"temperature.gpu", "temperature.gpu", 1}};

std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(", ", at), line.size());
    cells.push_back(line.substr(at, end - at));
    at = end + 2;
  }
  return cells;
}

// "2026/03/02 10:00:00.166", of captures within one month.
std::int64_t Milliseconds(const std::string& stamp) {
  int field[7] = {};
  EXPECT_EQ(7, std::sscanf(stamp.c_str(), "%d/%d/%d %d:%d:%d.%d", &field[0], &field[1], &field[2], &field[3], &field[4],
                           &field[5], &field[6]))
      << stamp;
  return (((std::int64_t{field[2]} * 24 + field[3]) * 60 + field[4]) * 60 + field[5]) * 1000 + field[6];
}

Readings OfCsv(const std::filesystem::path& path) {
  Readings readings;
  Result<std::unique_ptr<ByteSource>> in = OpenInput(path.string());
  if (!in) return readings;
  LineReader lines(**in);
  std::vector<std::string> header;
  for (std::string_view line; *lines.Next(&line);) {
    const std::vector<std::string> cells = Cells(std::string(line));
    if (header.empty()) {
      header = cells;
      continue;
    }
    if (cells.size() != header.size()) continue;
    std::string gpu;
    for (std::size_t i = 0; i < cells.size(); ++i) gpu += header[i] == "uuid" ? cells[i] : "";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Spelling* column = Find(kColumns, header[i]);
      double value = 0;
      if (column == nullptr || !BeginsWithNumber(cells[i], &value)) continue;
      readings[column->signal].push_back({gpu, Milliseconds(cells[0]), value * column->factor});
    }
  }
  return readings;
}

// DCGM's 203 counts to 100 under either of its names, the profiling fields to 1.
constexpr Spelling kMetrics[] = {{"DCGM_FI_DEV_GPU_UTIL", "utilization.gpu", 1},
                                 {"DCGM_FI_DEV_GPU_UTIL_RATIO", "utilization.gpu", 1},
                                 {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gr_engine_active", 100},
                                 {"DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "gr_engine_active", 100},
                                 {"DCGM_FI_PROF_SM_ACTIVE", "sm_active", 100},
                                 {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor_active", 100},
                                 {"DCGM_FI_PROF_DRAM_ACTIVE", "dram_active", 100},
                                 {"DCGM_FI_DEV_FB_USED", "memory.used", kMebibyte},
                                 {"DCGM_FI_DEV_POWER_USAGE", "power.draw", 1},
                                 {"DCGM_FI_DEV_SM_CLOCK", "clocks.current.sm", 1},
                                 {"nvidia_smi_utilization_gpu_ratio", "utilization.gpu", 100},
                                 {"nvidia_smi_utilization_memory_ratio", "utilization.memory", 100},
                                 {"nvidia_smi_utilization_encoder_ratio", "utilization.encoder", 100},
                                 {"nvidia_smi_utilization_decoder_ratio", "utilization.decoder", 100},
                                 {"nvidia_smi_memory_used_bytes", "memory.used", 1},
                                 {"nvidia_smi_power_draw_watts", "power.draw", 1},
                                 {"nvidia_smi_temperature_gpu", "temperature.gpu", 1},
                                 {"nvidia_smi_clocks_current_sm_clock_hz", "clocks.current.sm", 1e-6}};

std::string LabelIn(const std::string& line, const std::string& name) {
  for (const char* before : {"{", ","}) {
    const std::size_t at = line.find(before + name + "=\"");
    if (at == std::string::npos) continue;
    const std::size_t from = line.find('"', at) + 1;
    return line.substr(from, line.find('"', from) - from);
  }
  return {};
}

Readings OfMetrics(const std::filesystem::path& path) {
  constexpr double kNoValue = 1e15;  // codes of DCGM: 0x7ffffffffffffff0 and up
  Readings readings;
  std::istringstream in(ReadText(path));
  for (std::string line; std::getline(in, line);) {
    const Spelling* metric = Find(kMetrics, line.substr(0, line.find('{')));
    const std::size_t close = line.rfind('}');
    if (metric == nullptr || close == std::string::npos) continue;
    std::istringstream numbers(line.substr(close + 1));
    Reading reading;
    numbers >> reading.value >> reading.ms;
    if (reading.value > kNoValue) continue;
    // Every instance of a board repeats the board's power.
    const bool board = std::string(metric->signal) == "power.draw";
    reading.gpu = LabelIn(line, "UUID") + LabelIn(line, "uuid") + (board ? "" : "/" + LabelIn(line, "GPU_I_ID"));
    reading.value *= metric->factor;
    readings[metric->signal].push_back(reading);
  }
  return readings;
}

// "element/leaf", the first with a number: v13 of the documents tells the average draw first.
constexpr Spelling kElements[] = {
    {"utilization/gpu_util", "utilization.gpu", 1},         {"utilization/memory_util", "utilization.memory", 1},
    {"utilization/encoder_util", "utilization.encoder", 1}, {"utilization/decoder_util", "utilization.decoder", 1},
    {"fb_memory_usage/used", "memory.used", kMebibyte},     {"gpu_power_readings/average_power_draw", "power.draw", 1},
    {"gpu_power_readings/power_draw", "power.draw", 1},     {"power_readings/power_draw", "power.draw", 1},
    {"temperature/gpu_temp", "temperature.gpu", 1},         {"clocks/sm_clock", "clocks.current.sm", 1}};

std::string Inside(const std::string& text, const std::string& tag) {
  const std::size_t open = text.find("<" + tag + ">");
  if (open == std::string::npos) return {};
  const std::size_t from = open + tag.size() + 2;
  return text.substr(from, text.find("</" + tag + ">", from) - from);
}

// Of a document of one GPU.
Readings OfXml(const std::filesystem::path& path) {
  Readings readings;
  const std::string text = ReadText(path);
  for (const Spelling& element : kElements) {
    const std::string name = element.name;
    const std::size_t slash = name.find('/');
    double value = 0;
    const std::string leaf = Inside(Inside(text, name.substr(0, slash)), name.substr(slash + 1));
    if (readings[element.signal].empty() && BeginsWithNumber(leaf, &value))
      readings[element.signal].push_back({"", 0, value * element.factor});
  }
  return readings;
}

struct Figures {
  double mean = 0;
  double p95 = 0;
  double peak = 0;
  bool timed = false;
};

// Values and for how long each held: with several readings a second the mean of each second, else each reading until
// the next, at most 2.5 of the shortest distance. A reading of a GPU and time that was there before says nothing.
std::vector<std::pair<double, double>> Held(const std::vector<Reading>& readings) {
  std::map<std::string, std::map<std::int64_t, double>> gpus;
  for (const Reading& r : readings) gpus[r.gpu].emplace(r.ms, r.value);
  std::vector<std::pair<double, double>> held;
  for (const auto& [gpu, values] : gpus) {
    std::int64_t period = INT64_MAX;
    for (auto next = values.begin(), at = next++; next != values.end(); at = next++)
      period = std::min(period, next->first - at->first);
    if (period <= 500) {
      std::map<std::int64_t, std::vector<double>> seconds;
      for (const auto& [ms, value] : values) seconds[ms / 1000].push_back(value);
      for (const auto& [second, ticks] : seconds) {
        double sum = 0;
        for (const double tick : ticks) sum += tick;
        held.emplace_back(sum / static_cast<double>(ticks.size()), 1);
      }
      continue;
    }
    for (auto next = values.begin(), at = next++; next != values.end(); at = next++) {
      const auto apart = static_cast<double>(next->first - at->first);
      held.emplace_back(at->second, std::min(apart, 2.5 * static_cast<double>(period)) / 1000);
    }
  }
  return held;
}

Figures FiguresOf(const std::vector<Reading>& readings) {
  Figures figures;
  figures.peak = readings.front().value;
  for (const Reading& r : readings) figures.peak = std::max(figures.peak, r.value);
  std::vector<std::pair<double, double>> held = Held(readings);
  double time = 0;
  for (const auto& [value, seconds] : held) {
    figures.mean += value * seconds;
    time += seconds;
  }
  figures.timed = time > 0;
  if (!figures.timed) return figures;
  figures.mean /= time;
  std::sort(held.begin(), held.end());
  double below = 0;
  for (const auto& [value, seconds] : held) {
    figures.p95 = value;
    below += seconds;
    if (below >= 0.95 * time - 1e-9) break;
  }
  return figures;
}

// What a p95 may lie below the true one, and how fine the values of a unit are kept.
struct Fineness {
  double step;
  double value;
};
const std::map<std::string, Fineness> kFineness = {{"percent", {0.125, 1e-6}},
                                                   {"W", {0.125, 1e-3}},
                                                   {"C", {0.125, 1e-3}},
                                                   {"MHz", {1, 1e-3}},
                                                   {"bytes", {kMebibyte, 1}}};

// Compares the named signals. The capture must hold all of them.
void Compare(const std::filesystem::path& path, const Readings& readings, const std::set<std::string>& signals) {
  const json audit = testing::AuditJsonOf(path.string());
  for (const std::string& name : signals) {
    SCOPED_TRACE(path.filename().string() + " " + name);
    const auto found = readings.find(name);
    ASSERT_TRUE(found != readings.end() && !found->second.empty());
    const Figures want = FiguresOf(found->second);
    const json& rows = audit["signals"];
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const json& s) { return s["signal"] == name; });
    ASSERT_NE(row, rows.end());
    ASSERT_TRUE((*row)["peak"].is_number()) << *row;
    const Fineness fineness = kFineness.at((*row)["unit"]);
    EXPECT_NEAR((*row)["peak"].get<double>(), want.peak, fineness.value);
    ASSERT_EQ((*row)["mean"].is_number(), want.timed) << *row;
    if (!want.timed) continue;
    EXPECT_NEAR((*row)["mean"].get<double>(), want.mean, fineness.value);
    const double p95 = (*row)["p95"].get<double>();
    EXPECT_LE(p95, want.p95 + fineness.value);
    EXPECT_GT(p95, want.p95 * (1 - 1.0 / 128) - fineness.step);
  }
}

TEST(MeasuredCapture, LogsOfNvidiaSmi) {
  for (const char* name : {"01_oversampled_gauge", "02_square_wave_fast_gauge", "14_reason_bits"}) {
    const std::filesystem::path path = Shared() / "data/traps" / name / "nvidia_smi.csv";
    REQUIRE_SHARED(path);
    const Readings readings = OfCsv(path);
    std::set<std::string> all;
    for (const auto& [signal, of_it] : readings) all.insert(signal);
    EXPECT_GE(all.size(), 2U);
    Compare(path, readings, all);
  }
}

TEST(MeasuredCapture, EightGpusTenTimesASecond) {
  const std::filesystem::path path = Shared() / "data/telemetry/synthetic/smi_8gpu_10hz.csv.gz";
  REQUIRE_SHARED(path);
  Compare(
      path, OfCsv(path),
      {"utilization.gpu", "utilization.memory", "memory.used", "power.draw", "clocks.current.sm", "temperature.gpu"});
}

// Sentinels, a hole, a repeated series, power that every instance repeats, a ratio by name that is a percentage.
TEST(MeasuredCapture, ScrapesOfDcgm) {
  const std::vector<std::pair<const char*, std::set<std::string>>> kScrapes = {
      {"03_gap_is_not_idle", {"utilization.gpu"}},
      {"04_integer_sentinels", {"utilization.gpu"}},
      {"05_ratio_that_is_percent", {"utilization.gpu", "gr_engine_active"}},
      {"06_profiling_field_stuck_at_zero", {"utilization.gpu", "power.draw"}},
      {"07_collective_spin",
       {"utilization.gpu", "sm_active", "tensor_active", "dram_active", "memory.used", "power.draw"}},
      {"08_two_jobs_one_gpu", {"utilization.gpu"}},
      {"10_mig_repeats_board_power", {"power.draw"}}};
  for (const auto& [name, signals] : kScrapes) {
    const std::filesystem::path path = Shared() / "data/traps" / name / "scrapes.prom";
    REQUIRE_SHARED(path);
    Compare(path, OfMetrics(path), signals);
  }
}

// A single scrape covers no time: its peaks alone are known. On a board in MIG mode the exporter tells no utilization.
TEST(MeasuredCapture, ScrapesOfRealGpus) {
  const std::filesystem::path folder = Shared() / "data/telemetry/prometheus";
  REQUIRE_SHARED(folder);
  std::size_t captures = 0;
  for (const std::filesystem::directory_entry& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (file.path().extension() != ".metrics" || name.rfind("constructed", 0) == 0) continue;
    ++captures;
    std::set<std::string> signals = {"memory.used", "power.draw", "temperature.gpu", "clocks.current.sm"};
    if (name.find("-mig__") == std::string::npos)
      signals.insert({"utilization.gpu", "utilization.memory", "utilization.encoder", "utilization.decoder"});
    Compare(file.path(), OfMetrics(file.path()), signals);
  }
  EXPECT_EQ(captures, 10U);
}

TEST(MeasuredCapture, ReportsOfRealGpus) {
  const std::filesystem::path folder = Shared() / "data/telemetry/nvidia_smi";
  REQUIRE_SHARED(folder);
  for (const char* name : {"a10g", "gtx-1070-ti", "rtx-3080-v12", "rtx-3080-v13", "tesla-t4"}) {
    const std::filesystem::path path = folder / (std::string(name) + ".xml");
    std::set<std::string> signals = {"utilization.gpu", "utilization.memory", "memory.used", "temperature.gpu",
                                     "clocks.current.sm"};
    if (std::string(name) != "gtx-1070-ti")
      signals.insert({"power.draw", "utilization.encoder", "utilization.decoder"});
    Compare(path, OfXml(path), signals);
  }
}

}  // namespace
}  // namespace idleburn

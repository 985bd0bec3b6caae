#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "import/formats.h"
#include "support/collecting_sink.h"
#include "support/cut_source.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using testing::Collected;

Result<void> Import(const std::string& text, Collected& into, const ImportOptions& options = {}) {
  StringSource in(text, "gpu.csv");
  return ImportNvidiaSmiCsv(in, options, into.target);
}

std::string ErrorOf(const std::string& text) {
  Collected c;
  const Result<void> done = Import(text, c);
  return done ? "" : done.error().message;
}

constexpr const char* kTwoRows =
    "timestamp, index, utilization.gpu [%], power.draw [W], memory.used [MiB], clocks.current.sm [MHz]\n"
    "2026/03/02 10:00:00.123, 0, 79 %, 537.05 W, 61234 MiB, 1980 MHz\n"
    "2026/03/02 10:00:01.123, 0, 0 %, 70.00 W, 0 MiB, 345 MHz\n";

TEST(NvidiaSmiCsvTest, ReadsValuesInTheirUnits) {
  Collected c;
  ASSERT_TRUE(Import(kTwoRows, c));
  ASSERT_EQ(c.samples.size(), 2U);
  const Sample& s = c.samples[0];
  EXPECT_EQ(FormatRfc3339(s.time), "2026-03-02T10:00:00.123Z");
  EXPECT_EQ(s.Get(Signal::kUtilization), 79 * kPercent);
  EXPECT_EQ(s.Get(Signal::kPower), 537'050);
  EXPECT_EQ(s.Get(Signal::kMemoryUsed), std::int64_t{61234} << 20);
  EXPECT_EQ(s.Get(Signal::kSmClock), 1'980'000);
  EXPECT_EQ(c.devices[s.device].counter[Index(Signal::kUtilization)], "nvidia_smi.utilization.gpu");
  EXPECT_EQ(c.quality.CountOf(QualityId::kTimezoneAssumed), 1);
}

TEST(NvidiaSmiCsvTest, UnitsMayStandInHeaderOrCellsOrNowhere) {
  for (const char* text :
       {"timestamp, index, utilization.gpu [%], power.draw [W]\n2026/03/02 10:00:00.000, 3, 45, 300.5\n",
        "timestamp,index,utilization.gpu,power.draw\n2026/03/02 10:00:00.000,3,45 %,300.50 W\n",
        "timestamp,index,utilization.gpu,power.draw\n2026/03/02 10:00:00.000,3,45,300.5\n",
        "power.draw [W], utilization.gpu [%], timestamp, index\r\n300.50 W, 45 %, 2026/03/02 10:00:00.000, 3\r\n",
        "timestamp, index, utilization.gpu [%], power.draw [W]\n2026/03/02 10:00:00.000, 3, 45 %, 300.50 W"}) {
    Collected c;
    ASSERT_TRUE(Import(text, c)) << text;
    ASSERT_EQ(c.samples.size(), 1U);
    EXPECT_EQ(c.samples[0].Get(Signal::kUtilization), 45 * kPercent) << text;
    EXPECT_EQ(c.samples[0].Get(Signal::kPower), 300'500) << text;
    EXPECT_EQ(c.devices[0].index, 3);
  }
}

TEST(NvidiaSmiCsvTest, MegabytesOfOldDriversAreMebibytes) {
  Collected c;
  ASSERT_TRUE(Import("timestamp, index, memory.used [MB]\n2014/03/02 10:00:00.000, 0, 500 MB\n", c));
  EXPECT_EQ(c.samples.at(0).Get(Signal::kMemoryUsed), std::int64_t{500} << 20);
}

TEST(NvidiaSmiCsvTest, MissingIsNeverZero) {
  Collected c;
  ASSERT_TRUE(
      Import("timestamp, index, utilization.gpu [%], power.draw [W], memory.used [MiB]\n"
             "2026/03/02 10:00:00.000, 0, [N/A], [Not Supported], [Insufficient Permissions]\n"
             "2026/03/02 10:00:01.000, 0, [Requested functionality has been deprecated], ERR!, N/A\n"
             "2026/03/02 10:00:02.000, 0, [Unknown Error], [GPU requires reset], -\n",
             c));
  ASSERT_EQ(c.samples.size(), 3U);
  for (const Sample& s : c.samples) {
    EXPECT_EQ(s.present, 0U);
    EXPECT_TRUE(s.Lacks(Signal::kUtilization) && s.Lacks(Signal::kPower) && s.Lacks(Signal::kMemoryUsed));
  }
  EXPECT_EQ(c.quality.CountOf(QualityId::kUnavailableValue), 9);
}

TEST(NvidiaSmiCsvTest, ImpossibleReadingsAreCountedNotClamped) {
  Collected c;
  ASSERT_TRUE(
      Import("timestamp, index, utilization.gpu [%]\n"
             "2026/03/02 10:00:00.000, 0, 300 %\n"
             "2026/03/02 10:00:01.000, 0, -1 %\n"
             "2026/03/02 10:00:02.000, 0, NaN\n"
             "2026/03/02 10:00:03.000, 0, inf %\n"
             "2026/03/02 10:00:04.000, 0, 1e30 %\n"
             "2026/03/02 10:00:05.000, 0, 100.4 %\n",
             c));
  EXPECT_EQ(c.quality.CountOf(QualityId::kOutOfRange), 3);
  EXPECT_EQ(c.quality.CountOf(QualityId::kNotFinite), 2);
  EXPECT_EQ(c.samples.back().Get(Signal::kUtilization), kFull);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(c.samples[i].Lacks(Signal::kUtilization)) << i;
}

TEST(NvidiaSmiCsvTest, RowsWithoutNumbersHaveTheirCellsCounted) {
  Collected c;
  ASSERT_TRUE(
      Import("timestamp, index, clocks_event_reasons.active\n"
             "2026/03/02 10:00:00.000, 0, 0x0000000000000004\n"
             "2026/03/02 10:00:01.000, 0\n"
             "2026/03/02 10:00:02.000, 0, 0x0000000000000004, 7\n"
             "2026/03/02 10:00:03.000, 0, 0x0000000000000001\n",
             c));
  ASSERT_EQ(c.samples.size(), 2U);
  EXPECT_EQ(c.samples[1].Get(Signal::kEventReasons), 1);
  EXPECT_EQ(c.quality.CountOf(QualityId::kBadRow), 2);
}

TEST(NvidiaSmiCsvTest, ImpossibleMasksAreCountedNotCut) {
  for (const char* const mask : {"0xFFFFFFFFFFFFFFFF", "0x0000000080000000", "4294967296"}) {
    Collected c;
    ASSERT_TRUE(
        Import("timestamp, index, clocks_event_reasons.active\n"
               "2026/03/02 10:00:00.000, 0, 0x0000000000000004\n"
               "2026/03/02 10:00:01.000, 0, 0x0000000000000004\n"
               "2026/03/02 10:00:02.000, 0, " +
                   std::string(mask) +
                   "\n"
                   "2026/03/02 10:00:03.000, 0, 0x000000007FFFFFFF\n",
               c));
    EXPECT_EQ(c.quality.CountOf(QualityId::kOutOfRange), 1) << mask;
    EXPECT_TRUE(c.samples[2].Lacks(Signal::kEventReasons)) << mask;
    EXPECT_EQ(c.samples[3].Get(Signal::kEventReasons), INT32_MAX) << mask;
  }
}

TEST(NvidiaSmiCsvTest, ATornLastRowIsDroppedAndCounted) {
  Collected c;
  ASSERT_TRUE(Import(std::string(kTwoRows) + "2026/03/02 10:00:02.123, 0, 50 %, 3", c));
  EXPECT_EQ(c.samples.size(), 2U);
  EXPECT_EQ(c.quality.CountOf(QualityId::kTornRow), 1);
  EXPECT_EQ(c.quality.CountOf(QualityId::kBadRow), 0);
}

TEST(NvidiaSmiCsvTest, BadRowsAreCountedWithTheirPlace) {
  Collected c;
  ASSERT_TRUE(Import(std::string(kTwoRows) +
                         "\nError: lost connection\n2026/03/02 10:00:03.123, 0, 61234 MiB, 1 W, 5 %, 7 MHz\n" +
                         "2026/03/02 10:00:04.123, 0, 50 %, 300.00 W, 100 MiB, 1980 MHz\n",
                     c));
  EXPECT_EQ(c.samples.size(), 3U);
  EXPECT_EQ(c.quality.CountOf(QualityId::kBadRow), 2);  // the second has its cells in other columns
  EXPECT_EQ(c.quality.Get(QualityId::kBadRow).first_place, "gpu.csv:5");
}

TEST(NvidiaSmiCsvTest, ChangedColumnsAreRefusedRepeatedHeadersAreNot) {
  Collected c;
  ASSERT_TRUE(Import(std::string(kTwoRows) + kTwoRows, c));
  EXPECT_EQ(c.samples.size(), 4U);
  EXPECT_EQ(ErrorOf(std::string(kTwoRows) + "timestamp, index, power.draw [W]\n2026/03/02 10:00:02.123, 0, 5 W\n"),
            "gpu.csv:4: the columns change here; split the file at this line and give both parts");
}

TEST(NvidiaSmiCsvTest, AHeaderAfterATornRowEndsThatRow) {
  Collected c;
  ASSERT_TRUE(Import(std::string(kTwoRows) + "2026/03/02 10:00:02." + kTwoRows, c));
  EXPECT_EQ(c.samples.size(), 4U);
  EXPECT_EQ(c.quality.CountOf(QualityId::kTornRow), 1);
  EXPECT_EQ(c.quality.Get(QualityId::kTornRow).first_place, "gpu.csv:4");
}

TEST(NvidiaSmiCsvTest, SaysWhatIsWrongInOneLine) {
  EXPECT_EQ(ErrorOf("timestamp, index, utilization.gpu [%]\n"),
            "gpu.csv: has a header but no rows; record again with --format=csv");
  EXPECT_NE(ErrorOf("timestamp, index, utilization.gpu [parsecs]\nx\n")
                .find("gpu.csv:1: column 'utilization.gpu' has the unit [parsecs]"),
            std::string::npos);
  const auto first_row = [](const std::string& row) {
    return ErrorOf("timestamp, index, utilization.gpu [%], power.draw [W]\n" + row + "\n");
  };
  EXPECT_EQ(first_row("07/03/2026 10:00:00, 0, 5 %, 70 W"),
            "gpu.csv:2: its time '07/03/2026 10:00:00' differs from nvidia-smi's form 2026/07/03 22:22:01.444 (did a "
            "spreadsheet save it?); no other row fits the header either");
  EXPECT_NE(
      first_row("2026/03/02 10:00:00.000, 0, 5 %, 1,312 W").find("has 5 cells and the header 4; are there commas"),
      std::string::npos);
  EXPECT_NE(
      first_row("2026/03/02 10:00:00.000, 0, soon, 70 W").find("a cell that is neither a number nor a known word"),
      std::string::npos);
  EXPECT_NE(ErrorOf("timestamp, index, utilization.gpu [%]\n2026/03/02 10:00:00.000, x, 5 %\n").find("names no GPU"),
            std::string::npos);
  EXPECT_NE(ErrorOf("timestamp, index, utilization.gpu [%]\n2026/03/02 10:00:00.000, 0, " + std::string(1 << 20, '5'))
                .find("gpu.csv:2: a line is longer than"),
            std::string::npos);
}

TEST(NvidiaSmiCsvTest, GpusAreToldApartByUuidWhenIndicesMove) {
  Collected c;
  ASSERT_TRUE(
      Import("timestamp, index, uuid, utilization.gpu [%]\n"
             "2026/03/02 10:00:00.000, 0, GPU-00000000-4d1c-11ee-9a6b-00000000000a, 10 %\n"
             "2026/03/02 10:00:00.000, 1, GPU-00000000-4d1c-11ee-9a6b-00000000000b, 20 %\n"
             "2026/03/02 10:00:01.000, 0, GPU-00000000-4d1c-11ee-9a6b-00000000000b, 21 %\n",
             c));
  EXPECT_EQ(c.devices.size(), 2U);
  EXPECT_EQ(c.samples[2].device, c.samples[1].device);
  EXPECT_EQ(c.quality.CountOf(QualityId::kIndexRemapped), 1);
}

TEST(NvidiaSmiCsvTest, AnIndexThatChangesItsModelIsRefused) {
  EXPECT_NE(ErrorOf("timestamp, index, name, utilization.gpu [%]\n"
                    "2026/03/02 10:00:00.000, 0, NVIDIA H100 80GB HBM3, 10 %\n"
                    "2026/03/02 10:00:01.000, 0, Tesla T4, 20 %\n")
                .find("the GPU indices changed"),
            std::string::npos);
}

// A driver upgrade renames the model in the middle of a log: the UUID says that it is the same GPU.
TEST(NvidiaSmiCsvTest, AGpuOfOneUuidMayBeRenamed) {
  Collected c;
  ASSERT_TRUE(
      Import("timestamp, index, name, uuid, utilization.gpu [%]\n"
             "2026/03/02 10:00:00.000, 0, A100-SXM4-40GB, GPU-00000000-4d1c-11ee-9a6b-00000000000a, 10 %\n"
             "2026/03/02 10:00:01.000, 0, NVIDIA A100-SXM4-40GB, GPU-00000000-4d1c-11ee-9a6b-00000000000a, 20 %\n",
             c));
  EXPECT_EQ(c.devices.size(), 1U);
  EXPECT_EQ(c.samples.size(), 2U);
  // An all-zero UUID, or none, tells nobody apart.
  for (const std::string uuid : {"GPU-00000000-0000-0000-0000-000000000000", "[N/A]"}) {
    EXPECT_NE(ErrorOf("timestamp, index, name, uuid, utilization.gpu [%]\n"
                      "2026/03/02 10:00:00.000, 0, NVIDIA H100 80GB HBM3, " +
                      uuid +
                      ", 10 %\n"
                      "2026/03/02 10:00:01.000, 0, Tesla T4, " +
                      uuid + ", 20 %\n")
                  .find("the GPU indices changed"),
              std::string::npos);
  }
}

// Time is unobserved for want of the busy counter, whatever else has no value and in whichever order it is asked.
TEST(NvidiaSmiCsvTest, TheReasonOfUnobservedTimeIsThatOfTheBusyCounter) {
  for (const bool first : {true, false}) {
    const std::string busy = "[Unknown Error]";
    Collected c;
    ASSERT_TRUE(Import(
        "timestamp, index, " +
            std::string(first ? "utilization.gpu [%], power.limit [W]" : "power.limit [W], utilization.gpu [%]") +
            "\n2026/03/02 10:00:00.000, 0, " + (first ? busy + ", [N/A]" : "[N/A], " + busy) + "\n",
        c));
    ASSERT_EQ(c.samples.size(), 1U);
    EXPECT_EQ(c.samples[0].reason, Unobserved::kSentinel) << first;
  }
}

std::string Unnamed(int sweeps, int gpus, int drop_at = -1) {
  std::string text = "timestamp, utilization.gpu [%]\n";
  for (int s = 0; s < sweeps; ++s) {
    for (int g = 0; g < gpus; ++g) {
      if (s == drop_at && g == 1) continue;
      text += "2026/03/02 10:" + std::string(s / 60 < 10 ? "0" : "") + std::to_string(s / 60) + ":" +
              (s % 60 < 10 ? "0" : "") + std::to_string(s % 60) + ".00" + std::to_string(g) + ", " +
              std::to_string(10 * g) + " %\n";
    }
  }
  return text;
}

// Of a GPU that fell off the bus nvidia-smi says "[Unknown Error]" for its names too. It is no other GPU for that.
TEST(NvidiaSmiCsvTest, AGpuThatIsLostKeepsItsIdentity) {
  struct Case {
    const char* columns;
    const char* alive;
    const char* lost;
    std::int64_t dropped;  // rows that name nobody
  };
  const std::string uuid = "GPU-00000000-4d1c-11ee-9a6b-00000000000";
  for (const char* none : {"[Unknown Error]", "[GPU is lost]", "ERR!", "[N/A]"}) {
    for (const Case& c :
         {Case{"index, uuid, name", "{i}, {u}{i}, H100", "{i}, {x}, {x}", 0},
          Case{"pci.bus_id, name", "00000000:0{i}:00.0, H100", "00000000:0{i}:00.0, {x}", 0},
          Case{"index, name", "{i}, H100", "{i}, {x}", 0}, Case{"uuid, name", "{u}{i}, H100", "{x}, {x}", 10},
          Case{"index, uuid", "{i}, {u}{i}", "{x}, {x}", 10}}) {
      std::string text = "timestamp, " + std::string(c.columns) + ", utilization.gpu [%]\n";
      for (int second = 0; second < 20; ++second) {
        for (int gpu = 0; gpu < 3; ++gpu) {
          const bool lost = gpu == 1 && second >= 10;
          text += fmt::format("2026/03/02 10:00:{:02}.000, ", second) +
                  fmt::format(fmt::runtime(lost ? c.lost : c.alive), fmt::arg("i", gpu), fmt::arg("u", uuid),
                              fmt::arg("x", none)) +
                  (lost ? fmt::format(", {}\n", none) : ", 50 %\n");
        }
      }
      Collected got;
      const Result<void> done = Import(text, got);
      ASSERT_TRUE(done) << done.error().message;
      EXPECT_EQ(got.devices.size(), 3U) << text;
      EXPECT_EQ(got.quality.CountOf(QualityId::kBadRow), c.dropped) << text;
      EXPECT_EQ(static_cast<std::int64_t>(got.samples.size()), 60 - c.dropped);
      for (const Sample& sample : got.samples) {
        EXPECT_EQ(sample.Lacks(Signal::kUtilization),
                  sample.device == 1 && sample.time.nanos() / kNanosPerSecond % 60 >= 10);
      }
    }
  }
}

TEST(NvidiaSmiCsvTest, RowsWithoutIdentityAreToldApartBySweep) {
  for (const int sweeps : {30, 3000}) {
    Collected c;
    ASSERT_TRUE(Import(Unnamed(sweeps, 4), c));
    ASSERT_EQ(c.devices.size(), 4U);
    EXPECT_EQ(c.samples.size(), static_cast<std::size_t>(4 * sweeps));
    for (const Sample& s : c.samples)
      EXPECT_EQ(s.Get(Signal::kUtilization), static_cast<std::int64_t>(s.device) * 10 * kPercent);
    EXPECT_EQ(c.quality.CountOf(QualityId::kInferredIdentity), 1);
  }
  Collected one;
  ASSERT_TRUE(Import(Unnamed(50, 1), one));
  EXPECT_EQ(one.devices.size(), 1U);
}

TEST(NvidiaSmiCsvTest, ASweepWithAMissingRowIsDroppedWhole) {
  Collected c;
  ASSERT_TRUE(Import(Unnamed(3000, 4, 2000), c));
  EXPECT_EQ(c.devices.size(), 4U);
  EXPECT_EQ(c.samples.size(), 4U * 2999);
  for (const Sample& s : c.samples) {
    ASSERT_EQ(s.Get(Signal::kUtilization), static_cast<std::int64_t>(s.device) * 10 * kPercent);
  }
  EXPECT_EQ(c.quality.CountOf(QualityId::kTornRow), 3);
  EXPECT_EQ(c.quality.Get(QualityId::kTornRow).first_place, "gpu.csv:8002");
  // Of few sweeps none may be torn.
  EXPECT_NE(ErrorOf(Unnamed(15, 4, 7)).find("add `index,uuid` to --query-gpu, or pass `--gpus N`"), std::string::npos);
}

// The models of four GPUs by turns, or of one GPU, by a column of names.
TEST(NvidiaSmiCsvTest, ANameColumnWithoutAnIndexTellsModels) {
  std::string text = "timestamp, name, utilization.gpu [%]\n";
  for (int i = 0; i < 4000; ++i) {
    text +=
        fmt::format("2026/03/02 {:02}:{:02}:{:02}.00{}, {}, {} %\n", i / 4 / 3600, i / 4 / 60 % 60, i / 4 % 60, i % 4,
                    i % 4 < 2   ? "NVIDIA A100-SXM4-40GB"
                    : i == 1002 ? "[Unknown Error]"
                                : "Tesla T4",
                    10 * (i % 4));
  }
  for (const int threads : {1, 3}) {
    ImportOptions options;
    options.threads = threads;
    Collected c;
    ASSERT_TRUE(Import(text, c, options));
    ASSERT_EQ(c.devices.size(), 4U);
    EXPECT_EQ(c.devices[1].name, "NVIDIA A100-SXM4-40GB");
    EXPECT_EQ(c.devices[2].name, "Tesla T4");
    EXPECT_EQ(c.samples.size(), 4000U);
  }
  // Without pauses between sweeps only the names show that there are several.
  std::string even = "timestamp, name, utilization.gpu [%]\n";
  for (int i = 0; i < 900; ++i) {
    even += fmt::format("2026/03/02 10:{:02}:{:02}.000, {}, 50 %\n", i / 60, i % 60, i % 3 < 2 ? "A100" : "T4");
  }
  EXPECT_NE(ErrorOf(even).find("name repeats after 3 rows, as with several GPUs in turn"), std::string::npos)
      << ErrorOf(even);
}

TEST(NvidiaSmiCsvTest, WhatStandsBeforeEveryLineIsSaidNotReadAsAColumn) {
  for (const std::string& before : {std::string("2026-07-03T22:22:01.444Z "), std::string("gpu.csv\0\0", 9)}) {
    const std::string error =
        ErrorOf(before + "timestamp, index, utilization.gpu [%]\n" + before + "2026/07/03 22:22:01.444, 0, 97 %\n");
    EXPECT_NE(error.find("the header has other text before 'timestamp'"), std::string::npos) << error;
  }
}

// Rows of a log that names no GPU, so many milliseconds after one another; the n-th after the n-th of `pauses`.
std::string Paused(const std::vector<int>& rows, std::int64_t apart_ms, std::int64_t pause_ms) {
  std::string text = "timestamp, utilization.gpu [%]\n";
  std::int64_t ms = 0;
  for (const int n : rows) {
    for (int i = 0; i < n; ++i, ms += apart_ms) {
      text += fmt::format("2026/03/02 {:02}:{:02}:{:02}.{:03}, 50 %\n", ms / 3'600'000, ms / 60'000 % 60,
                          ms / 1000 % 60, ms % 1000);
    }
    ms += pause_ms;
  }
  return text;
}

TEST(NvidiaSmiCsvTest, PausesOfOneGpuAreNoSweepsOfMany) {
  // Restarted in the middle; cut into equal parts; with pauses anywhere, and faster.
  for (const std::string& text : {Paused({20, 20}, 1000, 600'000), Paused({10, 10, 10, 10}, 1000, 600'000),
                                  Paused({19, 7, 31, 2, 11, 19}, 500, 9'000), Paused({200, 90, 310}, 100, 2'000)}) {
    Collected c;
    ASSERT_TRUE(Import(text, c)) << text;
    EXPECT_EQ(c.devices.size(), 1U) << text;
  }
  // Eight slow GPUs, or one whose log pauses after eight rows: nothing tells which.
  EXPECT_NE(ErrorOf(Paused({8, 8, 8, 8}, 100, 9'000)).find("pass `--gpus N`"), std::string::npos);
  for (const int gpus : {1, 8}) {
    ImportOptions options;
    options.gpus = gpus;
    Collected said;
    ASSERT_TRUE(Import(Paused({8, 8, 8, 8}, 100, 9'000), said, options));
    EXPECT_EQ(said.devices.size(), static_cast<std::size_t>(gpus));
    EXPECT_EQ(said.samples.size(), 32U);
  }
}

TEST(NvidiaSmiCsvTest, LocalTimesKeepGoingThroughTheRepeatedHour) {
  ImportOptions options;
  options.timezone = TimeZone::Load("Europe/Berlin").value();
  std::string text = "timestamp, index, utilization.gpu [%]\n";
  // 2026-10-25: 03:00 summer time becomes 02:00. Ten minutes a row, from 01:30 to 03:30 of real time passing.
  for (const char* stamp : {"01:30", "01:40", "01:50", "02:00", "02:10", "02:20", "02:30", "02:40", "02:50", "02:00",
                            "02:10", "02:20", "02:30", "02:40", "02:50", "03:00", "03:10"}) {
    text += std::string("2026/10/25 ") + stamp + ":00.000, 0, 50 %\n";
  }
  Collected c;
  ASSERT_TRUE(Import(text, c, options));
  ASSERT_EQ(c.samples.size(), 17U);
  for (std::size_t i = 1; i < c.samples.size(); ++i) {
    EXPECT_EQ(c.samples[i].time - c.samples[i - 1].time, Nanos(600 * kNanosPerSecond)) << i;
  }
  EXPECT_EQ(FormatRfc3339(c.samples.front().time), "2026-10-24T23:30:00Z");
  EXPECT_EQ(c.quality.CountOf(QualityId::kTimezoneAssumed), 0);
  EXPECT_GT(c.quality.CountOf(QualityId::kTimezoneAmbiguous), 0);
}

TEST(NvidiaSmiCsvTest, NoZoneIsAssumedWhereStampsCarryOne) {
  const std::string header = "timestamp, index, utilization.gpu [%]\n";
  Collected zoned;
  ASSERT_TRUE(Import(header + "2026-03-02T10:00:00.123+02:00, 0, 50 %\n2026-03-02T08:00:01.123Z, 0, 50 %\n", zoned));
  ASSERT_EQ(zoned.samples.size(), 2U);
  EXPECT_EQ(FormatRfc3339(zoned.samples[0].time), "2026-03-02T08:00:00.123Z");
  EXPECT_EQ(FormatRfc3339(zoned.samples[1].time), "2026-03-02T08:00:01.123Z");
  EXPECT_EQ(zoned.quality.CountOf(QualityId::kTimezoneAssumed), 0);

  Collected mixed;
  ASSERT_TRUE(Import(header + "2026-03-02T10:00:00Z, 0, 50 %\n2026/03/02 10:00:01.000, 0, 50 %\n", mixed));
  EXPECT_EQ(mixed.quality.CountOf(QualityId::kTimezoneAssumed), 1);
}

TEST(NvidiaSmiCsvTest, WhatNohupOrTheDriverSaysFirstIsCounted) {
  for (const std::string& before :
       std::vector<std::string>{"nohup: ignoring input\n", "\n\n{junk\n", "WARNING: infoROM\r\n"}) {
    Collected c;
    ASSERT_TRUE(SniffNvidiaSmiCsv(before + kTwoRows)) << before;
    ASSERT_TRUE(Import(before + kTwoRows + "junk\n", c)) << before;
    EXPECT_EQ(c.samples.size(), 2U);
    EXPECT_EQ(c.quality.CountOf(QualityId::kBadRow), 2) << before;
  }
  Collected c;
  ASSERT_TRUE(Import("nohup: ignoring input\n\n" + std::string(kTwoRows), c));
  EXPECT_EQ(c.quality.Get(QualityId::kBadRow).first_place, "gpu.csv:1");
  EXPECT_EQ(ErrorOf("nohup: ignoring input\ntimestamp, index, utilization.gpu [parsecs]\nx\n").substr(0, 9),
            "gpu.csv:2");
  EXPECT_FALSE(SniffNvidiaSmiCsv("a\nb\nc\nd\ne\nf\ng\nh\ni\n" + std::string(kTwoRows))) << "no end of talk";
}

TEST(NvidiaSmiCsvTest, WithoutTimesRowsStandAPeriodApartFromTheStart) {
  const std::string log =
      "index, utilization.gpu [%], pstate\n1, 10 %, P0\n0, 20 %, P0\n1, 30 %, P0\n0, 40 %, P0\n1, 50 %, P0\n";
  const std::int64_t start = 1'783'117'321 * kNanosPerSecond;
  ImportOptions options;
  options.start = Instant::FromNanos(start);
  options.period = Nanos(5 * kNanosPerSecond);
  ASSERT_TRUE(SniffNvidiaSmiCsv(log));
  const auto expect_rows = [&](const Collected& c) {
    ASSERT_EQ(c.samples.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(c.samples[i].time.nanos(), start + static_cast<std::int64_t>(i / 2) * 5 * kNanosPerSecond);
      EXPECT_EQ(c.samples[i].Get(Signal::kUtilization), static_cast<std::int64_t>(i + 1) * 10 * kPercent);
      EXPECT_EQ(c.samples[i].device, i % 2);
    }
  };
  Collected named;
  ASSERT_TRUE(Import(log, named, options));
  expect_rows(named);
  EXPECT_EQ(named.quality.CountOf(QualityId::kNoTimestamp), 0);
  // Without index: only --gpus says that they are two.
  options.gpus = 2;
  Collected counted;
  ASSERT_TRUE(
      Import("utilization.gpu [%], pstate\n10 %, P0\n20 %, P0\n30 %, P0\n40 %, P0\n50 %, P0\n", counted, options));
  expect_rows(counted);
  EXPECT_EQ(counted.quality.CountOf(QualityId::kInferredIdentity), 1);
}

TEST(NvidiaSmiCsvTest, WithoutTimesNoClockIsInvented) {
  const std::string named = "index, utilization.gpu [%]\n0, 50 %\n0, 60 %\n";
  const std::string bare = "utilization.gpu [%], memory.used [MiB]\n50 %, 100 MiB\n";
  const auto error_of = [](const std::string& text, bool start, bool period) {
    ImportOptions options;
    if (start) options.start = Instant::FromNanos(1'783'117'321 * kNanosPerSecond);
    if (period) options.period = Nanos(kNanosPerSecond);
    Collected c;
    const Result<void> done = Import(text, c, options);
    return done ? std::string() : done.error().message;
  };
  for (const auto& [start, period] : {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
    const std::string error = error_of(named, start, period);
    EXPECT_EQ(error.rfind("gpu.csv:1: no column says when a row was read", 0), 0U) << error;
    EXPECT_NE(error.find("--start "), std::string::npos) << error;
    EXPECT_NE(error.find("--period "), std::string::npos) << error;
  }
  EXPECT_EQ(error_of(named, true, true), "");
  EXPECT_NE(error_of(bare, true, true).find("also give --gpus N"), std::string::npos);
  ImportOptions options;
  options.start = Instant();
  options.period = Nanos(kNanosPerSecond);
  options.gpus = 2;
  Collected twice;
  const Result<void> again = Import(bare + bare, twice, options);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message.rfind("gpu.csv:3: the log starts again here", 0), 0U) << again.error().message;
}

TEST(NvidiaSmiCsvTest, GpusThatContradictTheLogAreRefusedWithBothFigures) {
  ImportOptions options;
  const auto error_of = [&](const std::string& text, int gpus) {
    options.gpus = gpus;
    Collected c;
    const Result<void> done = Import(text, c, options);
    return done ? std::string() : done.error().message;
  };
  EXPECT_EQ(error_of(Unnamed(300, 4), 4), "");
  for (const int wrong : {1, 2, 8}) {
    const std::string error = error_of(Unnamed(300, 4), wrong);
    EXPECT_NE(error.find("--gpus " + std::to_string(wrong) + " contradicts"), std::string::npos) << error;
    EXPECT_NE(error.find("4 GPUs"), std::string::npos) << error;
  }
  EXPECT_NE(error_of(Unnamed(300, 1), 2).find("1 GPU"), std::string::npos);
  EXPECT_NE(error_of(kTwoRows, 4).find("--gpus 4, but its rows name 1 GPU"), std::string::npos);
}

// GPU 1 of 3 falls off the bus: what was GPU 2 is called GPU 1 from then on.
TEST(NvidiaSmiCsvTest, ALogByIndexAloneThatLosesAGpuIsRefused) {
  const auto log = [](bool with_uuid) {
    std::string text =
        with_uuid ? "timestamp, index, uuid, utilization.gpu [%]\n" : "timestamp, index, utilization.gpu [%]\n";
    for (int i = 0; i < 600; ++i) {
      int index = 0;
      for (int gpu = 0; gpu < 3; ++gpu) {
        if (i >= 300 && gpu == 1) continue;
        text += fmt::format("2026/03/02 10:{:02}:{:02}.000, {}, ", i / 60, i % 60, index++);
        if (with_uuid) text += fmt::format("GPU-0000000{}-4d1c-11ee-9a6b-00000000000a, ", gpu);
        text += fmt::format("{} %\n", 20 + gpu * 30);
      }
    }
    return text;
  };
  for (const int threads : {1, 4}) {
    Collected c;
    ImportOptions options;
    options.threads = threads;
    const Result<void> done = Import(log(false), c, options);
    ASSERT_FALSE(done);
    EXPECT_EQ(
        done.error().message.rfind("gpu.csv:902: GPU 2 is missing from the rows from here on, where other GPUs are", 0),
        0U)
        << done.error().message;
  }
  EXPECT_EQ(ErrorOf(log(true)), "");
}

TEST(NvidiaSmiCsvTest, ThreadsDeliverTheSameInTheSameOrder) {
  std::string text = "timestamp, index, uuid, utilization.gpu [%], power.draw [W]\n";
  for (int i = 0; i < 40'000; ++i) {
    const std::string seconds = std::to_string(10 + i / 8 % 50);
    text += "2026/03/02 1" + std::to_string(i / 16'000) + ":" + std::to_string(10 + i / 400 % 40) + ":" + seconds +
            ".00" + std::to_string(i % 8) + ", " + std::to_string(i % 8) + ", GPU-0000000" + std::to_string(i % 8) +
            "-4d1c-11ee-9a6b-0000000000aa, " + std::to_string(i % 101) + " %, " + std::to_string(i % 700) + ".25 W\n";
    if (i % 7000 == 6999) text += "junk\n";
  }
  Collected one;
  Collected four;
  ASSERT_TRUE(Import(text, one));
  ImportOptions options;
  options.threads = 4;
  ASSERT_TRUE(Import(text, four, options));
  ASSERT_EQ(one.samples.size(), four.samples.size());
  for (std::size_t i = 0; i < one.samples.size(); ++i) {
    ASSERT_EQ(one.samples[i].time, four.samples[i].time);
    ASSERT_EQ(one.samples[i].device, four.samples[i].device);
    ASSERT_EQ(one.samples[i].Get(Signal::kPower), four.samples[i].Get(Signal::kPower));
  }
  EXPECT_EQ(one.quality.Get(QualityId::kBadRow).first_place, four.quality.Get(QualityId::kBadRow).first_place);
  EXPECT_EQ(one.quality.CountOf(QualityId::kBadRow), 5);
}

// A log and what it says, written side by side: several blocks of rows of which now and then one is odd.
struct WrittenLog {
  std::string text = "timestamp, index, utilization.gpu, power.draw, clocks_event_reasons.active\n";
  std::vector<Sample> samples;
  std::int64_t bad = 0;
  std::int64_t unavailable = 0;
};

WrittenLog RandomLog(std::mt19937& random) {
  constexpr std::int64_t kMidnight = 1'772'409'600 * kNanosPerSecond;  // 2026-03-02
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  const std::int64_t gpus = 1 + below(9);
  const std::int64_t odd = below(2) == 0 ? 2000 : 4;  // one row of so many
  const std::int64_t rows = 20 + below(9000);
  const bool units = below(2) == 0;
  WrittenLog log;
  std::int64_t ms = 36'000'000;
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool strange = row > gpus && below(static_cast<std::uint32_t>(odd)) == 0;
    const std::int64_t kind = strange ? below(4) : -1;
    if (kind == 0) {
      log.text += "2026/03/02 junk, 1\n";
      ++log.bad;
      continue;
    }
    ms += row % gpus == 0 ? 100 + below(9) : 0;
    Sample sample;
    sample.time = Instant::FromNanos(kMidnight + ms * 1'000'000);
    sample.device = static_cast<DeviceId>(row % gpus);
    sample.Set(Signal::kUtilization, below(101) * kPercent);
    const std::int64_t centiwatts = below(70'000);
    const std::int64_t mask = below(64);
    kind == 1 ? sample.SetUnavailable(Signal::kPower, Unobserved::kUnsupported)
              : sample.Set(Signal::kPower, centiwatts * 10);
    kind == 2 ? sample.SetUnavailable(Signal::kEventReasons, Unobserved::kUnsupported)
              : sample.Set(Signal::kEventReasons, mask);
    log.unavailable += kind == 1 || kind == 2 ? 1 : 0;
    const bool unit = units != (kind == 3);
    log.text += fmt::format(
        "2026/03/02 {:02}:{:02}:{:02}.{:03}, {}, {}{}, {}, {}\n", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60,
        ms % 1000, row % gpus, sample.Get(Signal::kUtilization) / kPercent, unit ? " %" : "",
        kind == 1 ? "[N/A]" : fmt::format("{}.{:02}{}", centiwatts / 100, centiwatts % 100, unit ? " W" : ""),
        kind == 2 ? "[N/A]" : fmt::format("0x{:016X}", mask));
    log.samples.push_back(sample);
  }
  return log;
}

TEST(NvidiaSmiCsvTest, AnyNumberOfThreadsReadsWhatWasWritten) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const WrittenLog log = RandomLog(random);
    ImportOptions options;
    options.threads = 1 + i % 5;
    Collected c;
    ASSERT_TRUE(Import(log.text, c, options));
    ASSERT_EQ(c.samples.size(), log.samples.size()) << i;
    for (std::size_t row = 0; row < log.samples.size(); ++row) {
      const Sample& got = c.samples[row];
      const Sample& want = log.samples[row];
      ASSERT_EQ(got.time, want.time) << i << ", row " << row;
      ASSERT_EQ(c.devices[got.device].index, static_cast<int>(want.device)) << i << ", row " << row;
      ASSERT_EQ(got.present, want.present) << i << ", row " << row;
      ASSERT_EQ(got.unavailable, want.unavailable) << i << ", row " << row;
      for (const Signal s : {Signal::kUtilization, Signal::kPower, Signal::kEventReasons}) {
        ASSERT_TRUE(!want.Has(s) || got.Get(s) == want.Get(s)) << i << ", row " << row;
      }
    }
    EXPECT_EQ(c.quality.CountOf(QualityId::kBadRow), log.bad) << i;
    EXPECT_EQ(c.quality.CountOf(QualityId::kUnavailableValue), log.unavailable) << i;
  }
}

TEST(NvidiaSmiCsvTest, AColumnWithoutAUnitCountsOnceOnAnyNumberOfThreads) {
  std::string text = "timestamp, index, utilization.gpu, power.draw\n";
  for (int i = 0; i < 9000; ++i) {
    text +=
        "2026/03/02 10:00:00." + std::to_string(100 + i % 900) + (i % 7 == 0 ? ", 0, 45, [N/A]\n" : ", 0, 45, 300.5\n");
  }
  for (const int threads : {1, 4}) {
    ImportOptions options;
    options.threads = threads;
    Collected c;
    ASSERT_TRUE(Import(text, c, options));
    EXPECT_EQ(c.quality.CountOf(QualityId::kUnitAssumed), 2) << threads;
  }
}

// A shorter number reads as well as a whole one.
TEST(NvidiaSmiCsvTest, ARowCutInItsLastNumberIsDroppedAndCounted) {
  const auto torn = [](const std::string& text, std::size_t rows, int threads) {
    Collected c;
    ImportOptions options;
    options.threads = threads;
    EXPECT_TRUE(Import(text, c, options));
    EXPECT_EQ(c.samples.size(), rows) << text.substr(text.size() - 10);
    return c.quality.CountOf(QualityId::kTornRow);
  };
  for (const int threads : {1, 4}) {
    std::string text = "timestamp, index, memory.used [MiB]\n";
    std::string bare = text;
    for (int i = 0; i < 5000; ++i) {
      const std::string row = "2026/03/02 10:00:00." + std::to_string(100 + i % 900) + ", 0, 16384";
      text += row + " MiB\r\n";
      bare += row + "\r\n";
    }
    const std::string last = "2026/03/02 10:00:02.000, 0, ";
    EXPECT_EQ(torn(text + last + "16", 5000, threads), 1);
    EXPECT_EQ(torn(text + last + "16384 M", 5000, threads), 1);
    EXPECT_EQ(torn(text + last + "16384 MiB", 5001, threads), 0);
    EXPECT_EQ(torn(text + last + "[N/A]", 5001, threads), 0);
    EXPECT_EQ(torn(text + last + "16\n", 5001, threads), 0);
    EXPECT_EQ(torn(bare + last + "16384", 5001, threads), 0);  // a log without units, put together by hand
  }
}

TEST(NvidiaSmiCsvTest, OfACompressedLogThatWasCutTheLastRowIsNone) {
  Collected c;
  testing::CutSource in(
      "timestamp, index, memory.used [MiB]\n2026/03/02 10:00:00.000, 0, 16384\n"
      "2026/03/02 10:00:01.000, 0, 16");
  ASSERT_TRUE(ImportNvidiaSmiCsv(in, {}, c.target));
  EXPECT_EQ(c.samples.size(), 1U);
  EXPECT_EQ(c.quality.CountOf(QualityId::kTornRow), 1);
}

TEST(NvidiaSmiCsvTest, FlagColumnsMakeTheMask) {
  Collected c;
  ASSERT_TRUE(
      Import("timestamp, index, clocks_throttle_reasons.sw_power_cap, clocks_throttle_reasons.hw_thermal_slowdown\n"
             "2026/03/02 10:00:00.000, 0, Active, Not Active\n"
             "2026/03/02 10:00:01.000, 0, Active, Active\n",
             c));
  EXPECT_EQ(c.samples[0].Get(Signal::kEventReasons), 0x4);
  EXPECT_EQ(c.samples[1].Get(Signal::kEventReasons), 0x44);
}

TEST(NvidiaSmiCsvTest, SniffsItsHeaderOnly) {
  EXPECT_TRUE(SniffNvidiaSmiCsv(kTwoRows));
  EXPECT_TRUE(SniffNvidiaSmiCsv("utilization.gpu [%], timestamp\n"));
  EXPECT_FALSE(SniffNvidiaSmiCsv("time,value\n1,2\n"));
  EXPECT_FALSE(SniffNvidiaSmiCsv(std::string(1000, '\0')));
  EXPECT_FALSE(SniffNvidiaSmiCsv(""));
}

}  // namespace
}  // namespace idleburn

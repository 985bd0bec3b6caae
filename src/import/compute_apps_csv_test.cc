#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "import/formats.h"
#include "import/tool_readers.h"
#include "support/capture.h"
#include "support/import_run.h"
#include "support/shared_data.h"

namespace idleburn {
namespace {

using nlohmann::json;
using test::ImportRun;

const std::string kA = "GPU-aaaaaaaa-0000-0000-0000-000000000000";
const std::string kB = "GPU-bbbbbbbb-0000-0000-0000-000000000000";

TEST(ComputeAppsCsv, CapturesOfAllMachines) {
  const auto expected = test::ReadShared("data/telemetry/expected.json");
  if (!expected) GTEST_SKIP() << "missing: " << test::SharedPath("data/telemetry/expected.json");
  const json machines = json::parse(*expected)["nvidia_smi"];
  ASSERT_EQ(machines.size(), 5U);
  for (const auto& [file, machine] : machines.items()) {
    const auto capture = test::ReadShared("data/telemetry/nvidia_smi/" + file);
    ASSERT_TRUE(capture) << file;
    const std::vector<test::CaptureSection> sections = test::CutCapture(*capture);
    for (const auto& [state, truth] : machine["state"].items()) {
      SCOPED_TRACE(file + " " + state);
      const std::string text = test::SectionText(sections, state, "query-compute-apps");
      EXPECT_TRUE(SniffComputeAppsCsv(text));
      StringSource source(text);
      DataQuality quality;
      ComputeAppsReader reader(source, quality);
      json rows = json::array();
      ComputeApp app;
      while (reader.Next(&app).value()) {
        rows.push_back(
            {app.Get(ComputeApp::kPid), app.Get(ComputeApp::kProcessName), app.Get(ComputeApp::kUsedMemory)});
        EXPECT_EQ(app.Get(ComputeApp::kBusId), truth["fields"]["pci.bus_id"].get<std::string>());
        EXPECT_EQ(app.Get(ComputeApp::kGpuName), truth["fields"]["name"].get<std::string>());
      }
      EXPECT_EQ(rows, truth["compute_apps"]);

      const ImportRun run(ImportComputeAppsCsv, text);
      ASSERT_TRUE(run.result) << run.result.error().message;
      ASSERT_EQ(run.samples.size(), rows.empty() ? 0U : 1U);
      if (rows.empty()) continue;
      EXPECT_EQ(run.samples[0].Get(Signal::kProcesses), static_cast<std::int64_t>(rows.size()));
      EXPECT_FALSE(run.samples[0].Has(Signal::kMemoryUsed)) << "the processes are not all of it";
      EXPECT_EQ(run.quality.CountOf(QualityId::kMaskedUuid), 1);
      EXPECT_EQ(run.quality.CountOf(QualityId::kUnavailableValue), 0);
    }
  }
}

TEST(ComputeAppsCsv, TheAccountedAppsAreAnotherFormat) {
  const std::string file = "data/telemetry/nvidia_smi/linux-x86_64__nvidia-l40s__595.80.txt";
  const auto capture = test::ReadShared(file);
  if (!capture) GTEST_SKIP() << "missing: " << file;
  const auto sections = test::CutCapture(*capture);
  EXPECT_FALSE(SniffComputeAppsCsv(test::SectionText(sections, "load", "query-accounted-apps")));
  EXPECT_FALSE(SniffComputeAppsCsv(test::SectionText(sections, "load", "query-gpu (csv")));
}

TEST(ComputeAppsCsv, NamesMayHoldCommasAndColumnsAnyOrder) {
  StringSource source(
      "used_gpu_memory [MiB], process_name, gpu_uuid, pid\n"
      "[N/A], C:\\Program Files\\A, B, and C\\x y.exe, " +
      kA +
      ", 7\n"
      "12 MiB, python, " +
      kA + ", 8\n");
  DataQuality quality;
  ComputeAppsReader reader(source, quality);
  ComputeApp app;
  ASSERT_TRUE(reader.Next(&app).value());
  EXPECT_EQ(app.Get(ComputeApp::kProcessName), "C:\\Program Files\\A, B, and C\\x y.exe");
  EXPECT_EQ(app.Get(ComputeApp::kUuid), kA);
  EXPECT_EQ(app.Get(ComputeApp::kPid), "7");
  EXPECT_FALSE(app.cells[ComputeApp::kTimestamp]);
  ASSERT_TRUE(reader.Next(&app).value());
  EXPECT_EQ(app.Get(ComputeApp::kProcessName), "python");
}

std::string Rows(std::initializer_list<std::string> rows) {
  std::string text = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n";
  for (const std::string& row : rows) text += "2026/07/03 22:22:" + row + ", x, 1 MiB\n";
  return text;
}
std::vector<std::string> Held(const ImportRun& run) {
  std::vector<std::string> held;
  for (const Sample& s : run.samples) {
    held.push_back(FormatRfc3339(s.time).substr(17, 2) + " " + run.devices[s.device].uuid.substr(4, 1) + " " +
                   std::to_string(s.Get(Signal::kProcesses)));
  }
  return held;
}

TEST(ComputeAppsCsv, AGpuThatIsNotListedAnyMoreHoldsNone) {
  const ImportRun run(
      ImportComputeAppsCsv,
      Rows({"01.000, " + kA + ", 1", "01.000, " + kA + ", 2", "01.005, " + kB + ", 3", "02.000, " + kA + ", 1",
            "03.000, " + kA + ", 1", "04.000, " + kA + ", 1", "04.005, " + kB + ", 9"}));
  ASSERT_TRUE(run.result);
  EXPECT_EQ(Held(run),
            (std::vector<std::string>{"01 a 2", "01 b 1", "02 b 0", "02 a 1", "03 b 0", "03 a 1", "04 a 1", "04 b 1"}));
  EXPECT_EQ(run.quality.CountOf(QualityId::kProcessDetail), 7);
  EXPECT_EQ(run.quality.CountOf(QualityId::kTimezoneAssumed), 1);
  EXPECT_EQ(run.Counter(0, Signal::kProcesses), "nvidia_smi_compute_apps.pid");
}

TEST(ComputeAppsCsv, WithoutTimesSweepsAreASecondApart) {
  const ImportRun run(ImportComputeAppsCsv, "gpu_uuid, pid, process_name\n" + kA + ", 1, x\n" + kA + ", 2, x\n" + kB +
                                                ", 1, x\n" + kA + ", 1, x\n" + kA + ", 2, x\n");
  EXPECT_EQ(Held(run), (std::vector<std::string>{"00 a 2", "00 b 1", "01 b 0", "01 a 2"}));
  EXPECT_EQ(run.quality.CountOf(QualityId::kNoTimestamp), 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kPeriodEstimated), 1);
}

TEST(ComputeAppsCsv, BadRowsAreCountedAndHeadersMayRepeat) {
  const std::string good = Rows({"01.000, " + kA + ", 1"});
  const ImportRun run(ImportComputeAppsCsv,
                      good + "No devices were found\n" + "2026/07/03 22:22:02.000, N/A, 2, x, 1 MiB\n" +
                          "2026/07/03 22:22:02.000, " + kA + ", -, x, 1 MiB\n" + "soon, " + kA + ", 2, x, 1 MiB\n\n" +
                          Rows({"03.000, " + kA + ", 1"}) + "2026/07/03 22:22:04.000, " + kA);
  ASSERT_TRUE(run.result);
  EXPECT_EQ(Held(run), (std::vector<std::string>{"01 a 1", "03 a 1"}));
  EXPECT_EQ(run.quality.CountOf(QualityId::kBadRow), 4);
  EXPECT_EQ(run.quality.CountOf(QualityId::kTornRow), 1);
}

TEST(ComputeAppsCsv, TwoNamesOfOneColumnDoNotConfuseIt) {
  const ImportRun run(ImportComputeAppsCsv, "gpu_uuid, pid, name, process_name, extra\n" + kA + ", 1, a, b, c, d, e\n");
  ASSERT_TRUE(run.result);
  EXPECT_EQ(run.samples.size(), 1U);
  EXPECT_EQ(run.quality.Get(QualityId::kUnknownColumn).names, std::set<std::string>{"extra"});
}

TEST(ComputeAppsCsv, WhatCannotBeUsedIsOneClearError) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "the first line names no columns"},
      {std::string("\0\1\2\n", 4), "the first line names no columns"},
      {kA + ", 1, x, 5 MiB\n", "without noheader"},
      {"pid, process_name\n1, x\n", "the rows name no GPU; add gpu_uuid"},
      {std::string(3 << 20, 'x'), "line is longer"},
  };
  for (const auto& [text, part] : kCases) {
    const ImportRun run(ImportComputeAppsCsv, text);
    ASSERT_FALSE(run.result);
    EXPECT_NE(run.result.error().message.find(part), std::string::npos) << run.result.error().message;
  }
}

}  // namespace
}  // namespace idleburn

// Inputs that are no single log: answers of a real Prometheus, folders, journals, other forms of the same readings.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "os/input_file.h"
#include "support/engines.h"
#include "support/live_stream.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "telemetry/recording_writer.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::ProgramRun;
using testing::RunIdleburn;
using testing::RunShell;
using testing::TempFolder;

constexpr std::int64_t kStart = 1'783'117'320;  // seconds
constexpr int kScrapes = 120;
constexpr int kPeriod = 15;

int BusyOf(int gpu, int scrape) { return gpu == 0 ? 95 : scrape % 3 == 0 ? 0 : 40; }

std::string Labels(int gpu) {
  return "{gpu=\"" + std::to_string(gpu) + "\",UUID=\"GPU-aaaaaaaa-0000-0000-0000-00000000000" + std::to_string(gpu) +
         "\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node-1\"}";
}

// Half an hour of two GPUs as OpenMetrics, a family after the other.
std::string OpenMetrics() {
  std::string text;
  for (const char* name : {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE"}) {
    const bool power = std::string(name) == "DCGM_FI_DEV_POWER_USAGE";
    text += "# TYPE " + std::string(name) + " gauge\n";
    for (const int gpu : {0, 1}) {
      for (int i = 0; i < kScrapes; ++i) {
        const int busy = BusyOf(gpu, i);
        text += name + Labels(gpu) + " " + std::to_string(power ? 100 + 5 * busy : busy) + " " +
                std::to_string(kStart + kPeriod * i) + "." + std::to_string(250 + i % 3) + "\n";
      }
    }
  }
  return text + "# EOF\n";
}

// The parts of an audit that tell what was read, without how it was read.
json Figures(json audit) {
  for (const char* key : {"inputs", "data_quality", "generated", "generated_at"}) audit.erase(key);
  return audit;
}

TEST(InputForms, AnswersOfARealPrometheusAreTheScrapesTheyCameFrom) {
  const std::string missing = testing::WithoutPrograms({"prometheus", "promtool"});
  if (!missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  testing::TestEngines engines;
  const std::string url = engines.PrometheusWith(folder.Write("in.om", OpenMetrics()));
  const std::string end = std::to_string(kStart + kPeriod * kScrapes + 60);
  const auto ask = [&](const std::string& words, const std::string& name) {
    std::string out = (folder.path() / name).string();
    ProgramRun run;
    for (int i = 0; i < 100; ++i) {
      run = RunShell("promtool query " + words + " > " + out);
      if (run.code == 0) return out;
      RunShell("sleep 0.1");
    }
    ADD_FAILURE() << run.err;
    return out;
  };
  const std::string metrics = "'{__name__=~\"DCGM.*\"}[1h]'";
  const std::string scrapes = ask("instant -o json --time=" + end + " " + url + " " + metrics, "range.json");
  const json of_json = AuditJsonOf(scrapes + " --price 3");
  const json of_text = AuditJsonOf((folder.path() / "in.om").string() + " --price 3");
  EXPECT_NEAR(of_json["gpu_hours"]["observed"].get<double>(), 2.0 * kScrapes * kPeriod / 3600, 0.02);
  EXPECT_EQ(Figures(of_json), Figures(of_text));

  const std::string held = ask("range -o json --start=" + std::to_string(kStart) + " --end=" + end + " --step=10s " +
                                   url + " DCGM_FI_DEV_GPU_UTIL",
                               "held.json");
  EXPECT_NE(RunIdleburn("audit " + held + " --price 3").out.find("query_range"), std::string::npos);
  const std::string one =
      ask("instant -o json --time=" + std::to_string(kStart + 600) + " " + url + " DCGM_FI_DEV_GPU_UTIL", "one.json");
  const json instant = AuditJsonOf(one + " --price 3");
  EXPECT_EQ(instant["gpu_hours"]["observed"].get<double>(), 0);
  EXPECT_NE(RunIdleburn("audit " + one + " --price 3 --full").out.find("METRIC[1h]"), std::string::npos);
  const std::string mean =
      ask("instant -o json --time=" + end + " " + url + " 'rate(DCGM_FI_DEV_GPU_UTIL[5m])'", "rate.json");
  const ProgramRun nameless = RunIdleburn("audit " + mean);
  EXPECT_NE(nameless.code, 0);
  EXPECT_NE(nameless.err.find("--metric NAME"), std::string::npos) << nameless.err;
}

TEST(InputForms, AFolderGivesItsFilesOfKnownKindsAndNamesTheOthers) {
  const TempFolder folder;
  const std::filesystem::path logs = folder.path() / "logs";
  std::filesystem::create_directories(logs / "deeper");
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(logs / name, std::ios::binary) << text;
    return (logs / name).string();
  };
  const std::string scrapes = write("scrapes.prom", OpenMetrics());
  const std::string readme = write("README.md", "These are logs.\n");
  const json audit = AuditJsonOf(logs.string() + " --price 3");
  EXPECT_EQ(audit["inputs"].dump(), AuditJsonOf(scrapes + " --price 3")["inputs"].dump());
  EXPECT_EQ(Figures(audit), Figures(AuditJsonOf(scrapes + " --price 3")));
  const std::string text = RunIdleburn("audit --full " + logs.string() + " --price 3").out;
  EXPECT_NE(text.find(readme), std::string::npos) << text;
  EXPECT_NE(text.find((logs / "deeper").string()), std::string::npos) << text;
  const ProgramRun none = RunIdleburn("audit " + (logs / "deeper").string());
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("no file in a known format"), std::string::npos) << none.err;
  EXPECT_EQ(std::count(none.err.begin(), none.err.end(), '\n'), 1);
}

// Samples of a GPU, in a recording whose journal still lies beside it.
std::string CutRecording(const TempFolder& folder) {
  const std::string path = (folder.path() / "run.idleburn").string();
  DeviceTable devices;
  DeviceKey key;
  key.uuid = "GPU-00000000-1111-2222-3333-444444444440";
  key.index = 0;
  key.name = "NVIDIA H100 80GB HBM3";
  const DeviceId id = devices.Enter(key);
  devices.NameCounter(id, Signal::kUtilization, "nvml.utilization.gpu");
  const auto writer = RecordingWriter::Create(path, devices, {});
  EXPECT_TRUE(writer);
  for (int tick = 0; tick < 1200; ++tick) {
    Sample s;
    s.time = Instant::FromNanos(kStart * kNanosPerSecond + tick * 100'000'000LL);
    s.device = id;
    s.Set(Signal::kUtilization, tick % 7 == 0 ? 0 : 80 * kPercent);
    (*writer)->OnSamples({&s, 1});
  }
  // What is there now is what a kill would leave.
  for (const char* end : {"", ".journal"}) {
    std::filesystem::copy_file(path + end, (folder.path() / "cut.idleburn").string() + end);
  }
  EXPECT_TRUE((*writer)->Close());
  return (folder.path() / "cut.idleburn").string();
}

TEST(InputForms, AJournalIsReadAsItsRecording) {
  const TempFolder folder;
  const std::string recording = CutRecording(folder);
  const json expected = AuditJsonOf(recording + " --price 3");
  EXPECT_GT(expected["gpu_hours"]["observed"].get<double>(), 0.03);
  EXPECT_EQ(AuditJsonOf(recording + ".journal --price 3"), expected);
  EXPECT_EQ(AuditJsonOf(recording + " " + recording + ".journal --price 3"), expected);
  std::filesystem::remove((folder.path() / "run.idleburn").string());
  EXPECT_EQ(AuditJsonOf(folder.path().string() + " --price 3"), expected);
}

// 3 of 6 cycles were active between two scrapes an hour apart, whatever a gauge says at either end.
TEST(InputForms, TwoScrapesOfCyclesGiveTheMeanOfTheTimeBetweenThem) {
  const TempFolder folder;
  std::string text;
  for (const int scrape : {0, 1}) {
    const std::string stamp = " " + std::to_string((kStart + 3600 * scrape) * 1000) + "\n";
    text += "DCGM_FI_DEV_GPU_UTIL" + Labels(0) + " 100" + stamp + "DCGM_FI_PROF_SM_ACTIVE" + Labels(0) + " 0.9" + stamp;
    text += "DCGM_FI_PROF_SM_CYCLES_ELAPSED_TOTAL" + Labels(0) + (scrape == 0 ? " 1000" : " 7000") + stamp;
    text += "DCGM_FI_PROF_SM_CYCLES_ACTIVE_TOTAL" + Labels(0) + (scrape == 0 ? " 500" : " 3500") + stamp;
  }
  const auto run = testing::MustRead({folder.Write("two.prom", text)});
  ASSERT_EQ(run->run.devices.size(), 1U);
  const Integral& sm = run->run.devices[0].totals.sm_active;
  EXPECT_EQ(sm.ns, 3600 * kNanosPerSecond);
  EXPECT_TRUE(sm.area == static_cast<Int128>(50 * kPercent) * sm.ns);
}

TEST(InputForms, APercentFieldOfRatiosIsRefusedUntilTheUserSaysWhatItIs) {
  const TempFolder folder;
  std::string ratios;
  std::string percents;
  for (int i = 0; i < 200; ++i) {
    const std::string stamp = " " + std::to_string((kStart + kPeriod * i) * 1000) + "\n";
    ratios += "DCGM_FI_DEV_GPU_UTIL" + Labels(0) + " " + (i % 2 == 0 ? "0.25" : "0.5") + stamp;
    percents += "DCGM_FI_DEV_GPU_UTIL" + Labels(0) + " " + (i % 2 == 0 ? "25" : "50") + stamp;
  }
  const std::string file = folder.Write("ratios.prom", ratios);
  const ProgramRun refused = RunIdleburn("audit " + file);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("ratios.prom: DCGM_FI_DEV_GPU_UTIL has fractions and never exceeds 1: ratio or percent? "
                             "Say --unit ratio or --unit percent"),
            std::string::npos)
      << refused.err;
  EXPECT_EQ(Figures(AuditJsonOf(file + " --price 3 --unit ratio")),
            Figures(AuditJsonOf(folder.Write("percents.prom", percents) + " --price 3")));
  EXPECT_EQ(RunIdleburn("audit " + file + " --price 3 --unit DCGM_FI_DEV_GPU_UTIL=percent").code, 0);
  EXPECT_EQ(RunIdleburn("audit " + file + " --unit per").code, 2);
}

}  // namespace
}  // namespace idleburn

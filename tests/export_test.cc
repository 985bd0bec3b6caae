// Samples as tables: what `export` writes, `audit` reads back to the same audit.
#include <gtest/gtest.h>

#include <regex>

#include "os/input_file.h"
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
using testing::TempFolder;

// Ten minutes of two GPUs with every signal, some of them without a value.
std::string Recording(const TempFolder& folder) {
  std::string path = (folder.path() / "run.idleburn").string();
  DeviceTable devices;
  for (int gpu = 0; gpu < 2; ++gpu) {
    DeviceKey key;
    key.uuid = "GPU-00000000-1111-2222-3333-44444444444" + std::to_string(gpu);
    key.index = gpu;
    key.name = "NVIDIA H100 80GB, \"HBM3\"";
    const DeviceId id = devices.Enter(key);
    for (const SignalInfo& info : kSignals) devices.NameCounter(id, info.id, "nvml." + std::string(info.name));
  }
  const auto writer = RecordingWriter::Create(path, devices, {});
  EXPECT_TRUE(writer);
  std::mt19937_64 random(6);
  for (int tick = 0; tick < 6000; ++tick) {
    for (DeviceId id = 0; id < 2; ++id) {
      Sample s;
      s.time = Instant::FromNanos(1'772'445'600'000'000'000 + tick * 100'000'007LL);
      s.device = id;
      for (const SignalInfo& info : kSignals) {
        if (info.unit == Unit::kMicroPercent) s.Set(info.id, static_cast<std::int64_t>(random() % (kFull + 1)));
      }
      if (tick % 100 < 40) s.Set(Signal::kUtilization, 0);
      s.Set(Signal::kPower, 100'123 + static_cast<std::int64_t>(random() % 500'000));
      s.Set(Signal::kPowerLimit, 700'000);
      s.Set(Signal::kPowerDefaultLimit, 700'000);
      s.Set(Signal::kEnergy, tick * 40'000LL + 7);
      s.Set(Signal::kSmClock, 1'980'001 - static_cast<std::int64_t>(random() % 300'000));
      s.Set(Signal::kMaxSmClock, 1'980'000);
      s.Set(Signal::kMemoryUsed, 20'000'000'001);
      s.Set(Signal::kMemoryTotal, 80'000'000'000);
      s.Set(Signal::kTemperature, 61'500);
      s.Set(Signal::kEventReasons, tick % 7 == 0 ? 0x44 : 0);
      s.Set(Signal::kProcesses, 1);
      for (const Signal bus : {Signal::kPcieRx, Signal::kPcieTx, Signal::kNvlink}) s.Set(bus, 1'234'567'891);
      s.Set(Signal::kXid, 0);
      if (tick / 50 % 20 == 3) {
        s.present &= ~Bit(Signal::kUtilization);
        s.SetUnavailable(Signal::kUtilization, Unobserved::kUnsupported);
      }
      (*writer)->OnSamples({&s, 1});
    }
  }
  EXPECT_TRUE((*writer)->Close());
  return path;
}

// What an audit says, without what it says of the text it was read from, and whatever the counters are called there.
json AuditOf(const std::string& file) {
  json audit = AuditJsonOf(file + " --price 3");
  audit.erase("data_quality");
  audit.erase("inputs");
  const std::regex counter(R"((nvml|csv|parquet)\.([a-z_.]+[a-z])( \[[^\]]+\])?)");
  return json::parse(std::regex_replace(audit.dump(), counter, "counter $2"));
}

TEST(ExportTest, CsvIsAuditedAsTheRecordingIs) {
  const TempFolder folder;
  const std::string recording = Recording(folder);
  const std::string csv = (folder.path() / "run.csv").string();
  const ProgramRun run = RunIdleburn("export " + recording + " -o " + csv);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const std::string text = testing::ReadText(csv);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 12'001);
  EXPECT_EQ(text.substr(0, text.find("utilization.memory")), "time,uuid,gpu,name,utilization.gpu [%],");
  EXPECT_NE(text.find("\n2026-03-02T10:00:00.100000007Z,GPU-00000000-1111-2222-3333-444444444440,0,\"NVIDIA H100 80GB, "
                      "\"\"HBM3\"\"\",0,"),
            std::string::npos)
      << text.substr(0, 2000);
  EXPECT_EQ(json::diff(AuditOf(recording), AuditOf(csv)), json::array());
  EXPECT_FALSE(std::filesystem::exists(csv + ".part"));
  EXPECT_EQ(RunIdleburn("export " + recording).out, text);
}

TEST(ExportTest, ParquetIsAuditedAsTheRecordingIs) {
  const TempFolder folder;
  const std::string recording = Recording(folder);
  const std::string parquet = (folder.path() / "it's run.parquet").string();
  const ProgramRun run = RunIdleburn("export " + recording + " --format parquet -o \"" + parquet + "\"");
  EXPECT_EQ(run.code, 0) << run.err;
  json of_recording = AuditOf(recording);
  json of_parquet = AuditOf("\"" + parquet + "\"");
  for (json* audit : {&of_recording, &of_parquet}) {  // NULL does not say why
    (*audit)["unobserved"].erase("by_reason");
    for (json& gpu : (*audit)["per_gpu"]) gpu["unobserved"].erase("by_reason");
  }
  EXPECT_EQ(json::diff(of_recording, of_parquet), json::array());
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files += std::size_t{entry.exists()};
  EXPECT_EQ(files, 2U);  // nothing is left beside it
}

// A log without times is read as audit reads it.
TEST(ExportTest, RowsWithoutTimesAreAPeriodApart) {
  const TempFolder folder;
  std::string text = "index, utilization.gpu [%], power.draw [W]\n";
  for (int row = 0; row < 61; ++row) text += "0, 50 %, 300.00 W\n";
  const std::string log = folder.Write("log.csv", text);
  const std::string csv = (folder.path() / "out.csv").string();
  for (const auto& [flags, seconds] : {std::pair(" --start 2026-03-02T10:00:00Z --period 1s", 60),
                                       std::pair(" --start 2026-03-02T10:00:00Z --period 5s", 300)}) {
    const ProgramRun run = RunIdleburn("export " + log + flags + " -o " + csv);
    EXPECT_EQ(run.code, 0) << run.err;
    for (const std::string& audited : {csv, log + flags}) {
      EXPECT_NEAR(AuditJsonOf(audited + " --price 3600")["gpu_hours"]["window"].get<double>() * 3600, seconds, 1e-6)
          << audited;
    }
  }
}

// Ten minutes of a board cut into four slices, two and one, of which the last idles.
std::string MigRecording(const TempFolder& folder) {
  std::string path = (folder.path() / "mig.idleburn").string();
  DeviceTable devices;
  std::vector<DeviceId> instances;
  const std::vector<std::string> profiles = {"4g.40gb", "2g.20gb", "1g.10gb"};
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    DeviceKey key;
    key.uuid = "GPU-00000000-1111-2222-3333-444444444440";
    key.index = 0;
    key.name = "NVIDIA H100 80GB HBM3";
    key.mig = MigInstance{std::to_string(5 + i), profiles[i], ProfileSlices(profiles[i])};
    instances.push_back(devices.Enter(key));
    devices.NameCounter(instances.back(), Signal::kGrEngineActive, "nvml.gr_engine_active");
  }
  const DeviceId board = *devices[instances[0]].board;
  devices.NameCounter(board, Signal::kPower, "nvml.power.draw");
  const auto writer = RecordingWriter::Create(path, devices, {});
  EXPECT_TRUE(writer);
  for (int second = 0; second <= 600; ++second) {
    Sample s;
    s.time = Instant::FromNanos((1'772'445'600 + second) * kNanosPerSecond);
    s.device = board;
    s.Set(Signal::kPower, 250'000);
    (*writer)->OnSamples({&s, 1});
    for (std::size_t i = 0; i < instances.size(); ++i) {
      Sample busy;
      busy.time = s.time;
      busy.device = instances[i];
      busy.Set(Signal::kGrEngineActive, (i == 0 ? 95 : i == 1 ? 50 : 0) * kPercent);
      (*writer)->OnSamples({&busy, 1});
    }
  }
  EXPECT_TRUE((*writer)->Close());
  return path;
}

// Instances stay shares of one board: its price counts once, and each of them by its slices.
TEST(ExportTest, MigInstancesAreAuditedAsTheRecordingIs) {
  const TempFolder folder;
  const std::string recording = MigRecording(folder);
  // A column is every device's, whether it has a reading of it or not; and a table does not say who read the values, so
  // that how many of them are independent is less known.
  const auto without_counters = [](json audit) {
    std::vector<json*> all = {&audit};
    for (json& gpu : audit["per_gpu"]) all.push_back(&gpu);
    for (json* part : all) {
      for (const char* key :
           {"counter", "counter_reason", "counters", "scrapes_per_collection", "scrapes_per_collection_reason"}) {
        part->erase(key);
      }
      for (const char* key : {"independent", "independent_reason", "standard_error_pp", "standard_error_pp_reason"}) {
        (*part)["ticks"].erase(key);
      }
    }
    return audit;
  };
  const json audit = without_counters(AuditOf(recording));
  EXPECT_EQ(audit["cost"]["total"], "0.50");  // ten minutes at $3
  EXPECT_NEAR(audit["cost"]["waste"].is_string() ? std::stod(audit["cost"]["waste"].get<std::string>()) : -1,
              0.50 * (4 * 0.05 + 2 * 0.5 + 1) / 7, 0.005);
  for (const std::string format : {"csv", "parquet"}) {
    const std::string table = (folder.path() / ("mig." + format)).string();
    const ProgramRun run = RunIdleburn("export " + recording + " --format " + format + " -o " + table);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(json::diff(audit, without_counters(AuditOf(table))), json::array()) << format;
  }
}

TEST(ExportTest, WrongUseIsSaidInOneLine) {
  const TempFolder folder;
  const std::string recording = Recording(folder);
  const auto refusal = [&](const std::string& arguments, int code) {
    const ProgramRun run = RunIdleburn("export " + arguments);
    EXPECT_EQ(run.code, code) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  EXPECT_EQ(refusal(recording + " --format arrow", 2),
            "idleburn: export: --format is csv, parquet or perfetto, not 'arrow'\n");
  EXPECT_EQ(refusal(recording + " --format parquet", 2), "idleburn: export: Parquet needs a file; give -o FILE\n");
  EXPECT_NE(refusal(recording + " -o " + recording, 1).find("is also an input; choose another file with -o"),
            std::string::npos);
  EXPECT_NE(refusal(recording + " -o /dev/full", 1).find("not a regular file"), std::string::npos);
  EXPECT_NE(refusal(recording + " -o no/such/folder.csv", 1).find("No such file or directory"), std::string::npos);
}

}  // namespace
}  // namespace idleburn

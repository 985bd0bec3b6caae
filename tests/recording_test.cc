// Recordings as the program and a kill see them.
#include "telemetry/recording.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <random>

#include "os/input_file.h"
#include "support/live_stream.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/smi_log.h"
#include "telemetry/recording_writer.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::RunIdleburn;
using testing::TempFolder;

constexpr std::int64_t kStart = 1'772'445'600'000'000'000;
constexpr std::uint64_t kGpus = 4;

// Record number i of an endless stream: four GPUs at 10 Hz.
Sample RecordOf(std::uint64_t i) {
  Sample sample;
  sample.time = Instant::FromNanos(kStart + static_cast<std::int64_t>(i / kGpus) * 100'000'000);
  sample.device = static_cast<DeviceId>(i % kGpus);
  sample.Set(Signal::kUtilization, static_cast<std::int64_t>(i * 2654435761U % 101) * kPercent);
  sample.Set(Signal::kEnergy, static_cast<std::int64_t>(i * 71'393));
  return sample;
}

struct CheckedStream final : LiveSink {
  void OnSamples(std::span<const Sample> samples) override {
    for (const Sample& sample : samples) {
      as_written = as_written && testing::Described(sample) == testing::Described(RecordOf(count));
      energy += sample.Get(Signal::kEnergy);
      ++count;
    }
  }
  void OnHost(std::span<const HostSample> /*samples*/) override { as_written = false; }
  void OnWork(const WorkMark& /*mark*/) override { as_written = false; }
  void OnNote(const Note& /*note*/) override { as_written = false; }
  void OnFact(const RunFact& /*fact*/) override { as_written = false; }

  std::uint64_t count = 0;
  std::int64_t energy = 0;
  bool as_written = true;
};

// Records without a pause until it is killed; *pushed counts what it was given.
[[noreturn]] void RecordForever(const std::string& path, std::atomic<std::uint64_t>* pushed) {
  DeviceTable devices;
  testing::EnterNode(devices);
  RecordingOptions options;
  options.sync = false;
  const auto writer = RecordingWriter::Create(path, devices, options);
  for (std::uint64_t i = 0; writer && i < 20'000'000; ++i) {
    const Sample sample = RecordOf(i);
    (*writer)->OnSamples({&sample, 1});
    pushed->store(i + 1, std::memory_order_relaxed);
  }
  _exit(1);
}

TEST(RecordingTest, AKillAtAnyMomentCostsASecondAtMost) {
  const TempFolder folder;
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const pushed = new (shared) std::atomic<std::uint64_t>(0);
  std::mt19937 random(20);
  int with_chunks = 0;
  int without = 0;
  for (int kill_number = 0; kill_number < 200; ++kill_number) {
    const std::string path = (folder.path() / (std::to_string(kill_number) + ".idleburn")).string();
    *pushed = 0;
    const pid_t child = fork();
    if (child == 0) RecordForever(path, pushed);
    // A chunk is 2,400 records. The moment is counted in them, and is anywhere in the work on the next one.
    const std::uint64_t moment = 1 + random() % (kill_number % 4 == 0 ? 60'000 : 5'000);
    while (pushed->load() < moment) {
      ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "the writer ended by itself";
      usleep(20);
    }
    usleep(static_cast<useconds_t>(random() % 200));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);

    const auto source = OpenInput(path);
    ASSERT_TRUE(source);
    DeviceTable devices;
    DataQuality quality;
    CheckedStream stream;
    const auto summary = ReadRecording(**source, devices, quality, stream);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_TRUE(stream.as_written) << kill_number;
    EXPECT_EQ(summary->records, stream.count);
    EXPECT_LE(stream.count, *pushed + 1);
    EXPECT_LE(*pushed - std::min<std::uint64_t>(*pushed, stream.count), kGpus * 10) << kill_number;
    const auto n = static_cast<std::int64_t>(stream.count);
    EXPECT_EQ(stream.energy, n * (n - 1) / 2 * 71'393);
    EXPECT_EQ(quality.CountOf(QualityId::kBadRow), 0);
    ++(summary->chunks > 0 ? with_chunks : without);
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".journal");
  }
  munmap(shared, 4096);
  EXPECT_GT(with_chunks, 20);  // the moments are spread over both
  EXPECT_GT(without, 20);
}

// Two GPUs for ten minutes, a row a second, with all that an audit looks at.
std::string Log() {
  std::string log =
      "timestamp, index, uuid, name, utilization.gpu [%], power.draw [W], memory.used [MiB], clocks.current.sm [MHz]\n";
  std::mt19937 random(3);
  for (int second = 0; second < 600; ++second) {
    if (second >= 200 && second < 230) continue;
    for (int gpu = 0; gpu < 2; ++gpu) {
      const auto util = second < 60 ? 0 : second % 7 < 3 ? random() % 30 : 70 + random() % 31;
      log += testing::SmiStamp(second) + ", " + std::to_string(gpu) + ", GPU-5d1e0000-0000-4000-8000-00000000000" +
             std::to_string(gpu) + ", NVIDIA H100 80GB HBM3, " + std::to_string(util) + " %, " +
             (random() % 50 == 0 ? "[N/A]" : std::to_string(100 + 5 * util) + ".25 W") + ", 20000 MiB, 1980 MHz\n";
    }
  }
  return log;
}

// The same samples as a recording.
std::string Recorded(const std::string& log, const TempFolder& folder) {
  const std::string path = (folder.path() / "run.idleburn").string();
  const auto source = OpenInput(log);
  EXPECT_TRUE(source);
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  const auto writer = RecordingWriter::Create(path, devices, {});
  EXPECT_TRUE(writer);
  ImportTarget target{devices, quality, owners, **writer};
  for (const Importer& importer : Importers()) {
    if (importer.name != "nvidia-smi CSV") continue;
    EXPECT_TRUE(importer.import(**source, {}, target));
  }
  EXPECT_TRUE((*writer)->Close());
  return path;
}

TEST(RecordingTest, ItsAuditIsThatOfTheLogTheSamplesCameFrom) {
  const TempFolder folder;
  const std::string log = folder.Write("run.csv", Log());
  const std::string recording = Recorded(log, folder);
  json of_log = AuditJsonOf(log + " --price 3");
  json of_recording = AuditJsonOf(recording + " --price 3");
  EXPECT_GT(of_log["gpu_hours"]["observed"].get<double>(), 0.3);
  // What was doubtful about the text is not about the samples.
  for (json* audit : {&of_log, &of_recording}) {
    audit->erase("data_quality");
    audit->erase("inputs");
  }
  EXPECT_EQ(json::diff(of_log, of_recording), json::array());
  EXPECT_LT(std::filesystem::file_size(recording), std::filesystem::file_size(log) / 8);
}

TEST(RecordingTest, WhatIsNoneIsRefusedInOneLine) {
  const TempFolder folder;
  const std::string recording = testing::ReadText(Recorded(folder.Write("run.csv", Log()), folder));
  const auto refusal = [&](const std::string& name, const std::string& content) {
    const testing::ProgramRun run = RunIdleburn("audit " + folder.Write(name, content));
    EXPECT_EQ(run.code, 1);
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err.substr(run.err.rfind('/') + 1);
  };
  EXPECT_EQ(refusal("cut", recording.substr(0, 20)), "cut: was cut off in its first bytes; the recording is lost\n");
  std::string newer = recording;
  newer[8] = 2;
  EXPECT_EQ(refusal("newer", newer),
            "newer: is a recording of format 2, but this idleburn reads only up to 1; read it with a newer idleburn\n");
  std::string damaged = recording;
  damaged[60] = '?';
  EXPECT_EQ(refusal("damaged", damaged), "damaged: its first bytes are damaged or cut off; restore it from a copy\n");
}

}  // namespace
}  // namespace idleburn

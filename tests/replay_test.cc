// The stand-in driven by a recorded run: measuring it gives that run again.
#include <gtest/gtest.h>

#include <random>

#include "support/live_command.h"
#include "support/replay_script.h"
#include "support/stand_in.h"
#include "telemetry/recording_writer.h"

namespace idleburn::testing {
namespace {

// A run of a script on a clock of its own, recorded.
void Record(const std::string& script, double seconds, const std::string& path) {
  StandInRun run(script);
  ASSERT_EQ(run.error, "");
  run.RunUntil(seconds);
  run.Finish();
  RecordingOptions options;
  options.start = run.line.At(Nanos(0));
  const auto writer = RecordingWriter::Create(path, run.devices, options);
  ASSERT_TRUE(writer);
  for (const RunFact& fact : run.log.facts) (*writer)->OnFact(fact);
  (*writer)->OnSamples(run.log.samples);
  ASSERT_TRUE((*writer)->Close());
}

TEST(ReplayTest, ARecordedRunThatIsDoneAgainIsMeasuredAsTheSame) {
  std::mt19937 random(4);
  std::string script = "gpu 0\ngpu 1 window=500ms phase=130ms memory=40GiB limit=400 energy=5000\n";
  for (int at = 0; at < 600; at += 1 + static_cast<int>(random() % 20)) {
    for (int gpu = 0; gpu < 2; ++gpu) {
      script += "at " + std::to_string(at) + "00ms gpu " + std::to_string(gpu) +
                " util=" + std::to_string(random() % 101) + " power=" + std::to_string(70 + random() % 600) +
                " memory=" + std::to_string(random() % 30) + "GiB sm=" + std::to_string(random() % 101) +
                " clock=" + std::to_string(300 + random() % 1600) + " temp=" + std::to_string(30 + random() % 50) +
                "\n";
    }
  }
  const TempFolder folder;
  const std::string first = (folder.path() / "first.idleburn").string();
  const std::string again = (folder.path() / "again.idleburn").string();
  Record(script, 60, first);
  const RecordedLog was(first);
  Record(ReplayScript(was), 60, again);
  const RecordedLog is(again);
  ASSERT_EQ(is.devices.size(), 2U);
  for (DeviceId id = 0; id < 2; ++id) {
    EXPECT_EQ(is.devices[id].uuid, was.devices[id].uuid);
    EXPECT_EQ(is.devices[id].name, was.devices[id].name);
    for (const Signal signal : {Signal::kUtilization, Signal::kPower, Signal::kMemoryUsed, Signal::kMemoryTotal,
                                Signal::kSmClock, Signal::kTemperature, Signal::kPowerLimit}) {
      const auto a = was.log.Of(id, signal);
      const auto b = is.log.Of(id, signal);
      ASSERT_FALSE(a.empty());
      ASSERT_EQ(a.size(), b.size()) << kSignals[Index(signal)].name;
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_LE(std::abs((a[i].first - b[i].first).count()), 2000) << kSignals[Index(signal)].name << i;
        EXPECT_EQ(a[i].second, b[i].second) << kSignals[Index(signal)].name << " at " << i;
      }
    }
  }
}

// The same with the program and the machine's clock: what it was recorded to have done is what it does again.
TEST(ReplayTest, TheProgramRecordsItAgain) {
  const TempFolder folder;
  const LiveMachine machine("gpu 0\nat 0s gpu 0 util=20 power=150 memory=2GiB\nat 2s gpu 0 util=90 power=600\n");
  ASSERT_EQ(machine.Run("$I record --quiet --for 5s -o $F/k.idleburn").code, 0);
  const LiveMachine twin(ReplayScript(RecordedLog(machine.Path("k.idleburn"))));
  ASSERT_EQ(twin.Run("$I record --quiet --for 5s -o $F/k.idleburn").code, 0);
  const RecordedLog was(machine.Path("k.idleburn"));
  const RecordedLog is(twin.Path("k.idleburn"));
  const auto seen = [](const RecordedLog& recorded, Signal signal) {
    std::map<std::int64_t, int> values;
    for (const auto& reading : recorded.log.Of(0, signal)) ++values[reading.second];
    return values;
  };
  for (const auto& [value, times] : seen(was, Signal::kPower)) {
    EXPECT_TRUE(seen(is, Signal::kPower).contains(value)) << value << " " << times;
  }
  for (const std::int64_t percent : {20, 90}) {
    EXPECT_GE(seen(is, Signal::kUtilization)[percent * kPercent], 5) << percent;
  }
  EXPECT_EQ(is.log.Of(0, Signal::kMemoryUsed).back().second, std::int64_t{2} << 30);
}

}  // namespace
}  // namespace idleburn::testing

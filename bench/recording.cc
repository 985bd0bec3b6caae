// What a recording costs and how fast it is read, for tools/bench_recording.sh.
//   recording make FOLDER SECONDS   writes FOLDER/trace.idleburn and the same samples as FOLDER/trace.csv
//   recording read FILE             reads FILE back until two seconds are over; prints samples a second, one core
// The samples are those of a node of 8 GPUs with ten signals, ticking as a real loop of 100 ms does: every 107.8 ms,
// stamped in milliseconds. Jobs of several kinds follow one another on each GPU.
#include "telemetry/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "os/input_file.h"
#include "telemetry/recording_writer.h"

namespace {

using idleburn::DeviceId;
using idleburn::Instant;
using idleburn::Result;
using idleburn::Sample;
using idleburn::Signal;

constexpr DeviceId kGpus = 8;
constexpr std::int64_t kTickMicros = 107'800;
constexpr std::int64_t kGaugeMicros = 166'667;
constexpr std::int64_t kQueryMicros = 400;  // from one GPU to the next
constexpr std::int64_t kStartMicros = 1'772'445'600'000'000;

// splitmix64: the same trace on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::int64_t Below(std::int64_t n) {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return static_cast<std::int64_t>((z ^ (z >> 31)) % static_cast<std::uint64_t>(n));
  }
  std::int64_t Around(std::int64_t spread) { return Below(2 * spread + 1) - spread; }

 private:
  std::uint64_t state_;
};

struct Job {
  std::int64_t low;  // utilisation
  std::int64_t high;
  std::int64_t period;  // of so many readings the first `starved` wait for data
  std::int64_t starved;
  std::int64_t watts;  // at full utilisation
  std::int64_t memory_mib;
};
constexpr std::array<Job, 5> kJobs = {{
    {0, 0, 1, 0, 72, 4},
    {94, 100, 1, 0, 640, 71'400},
    {88, 99, 14, 3, 520, 66'100},
    {25, 60, 1, 0, 300, 30'500},
    {70, 89, 1, 0, 450, 52'800},
}};

// One GPU over time. Gauges change six times a second; the counter and the bus are read anew at each tick.
struct Gpu {
  std::int64_t gauge = -1;
  std::int64_t job = 0;
  std::int64_t job_ends = 0;
  std::int64_t util = 0;
  std::int64_t memory_util = 0;
  std::int64_t centiwatts = 7200;
  std::int64_t clock_mhz = 1980;
  std::int64_t celsius_tenths = 340;
  std::int64_t microjoules = 0;
  std::int64_t before_micros = 0;

  void Step(std::int64_t micros, Random& random) {
    if (micros >= job_ends) {
      job = random.Below(kJobs.size());
      job_ends = micros + (300 + random.Below(3600)) * 1'000'000;
    }
    microjoules += centiwatts * (micros - before_micros) / 100;
    before_micros = micros;
    if (gauge == micros / kGaugeMicros) return;
    gauge = micros / kGaugeMicros;
    const Job& now = kJobs[static_cast<std::size_t>(job)];
    const bool starved = gauge % now.period < now.starved;
    if (starved || util < now.low || util > now.high || random.Below(4) == 0) {  // mostly a step looks like the last
      util = starved ? 0 : now.low + random.Below(now.high - now.low + 1);
      memory_util = util * 6 / 10 + (util > 5 ? random.Around(3) : 0);
    }
    const std::int64_t target = 7200 + (now.watts * 100 - 7200) * util / 100;
    centiwatts += (target - centiwatts) / 2 + random.Around(util > 0 ? 400 : 12);
    clock_mhz = util > 90 && random.Below(20) == 0 ? 1980 - 15 * random.Below(4) : 1980;
    celsius_tenths += (300 + centiwatts / 160 - celsius_tenths) / 40;
  }

  void Fill(Sample& sample, Random& random) const {
    sample.Set(Signal::kUtilization, util * idleburn::kPercent);
    sample.Set(Signal::kMemoryUtilization, memory_util * idleburn::kPercent);
    sample.Set(Signal::kPower, centiwatts * 10);
    sample.Set(Signal::kPowerLimit, 700'000);
    sample.Set(Signal::kEnergy, microjoules / 1000);
    sample.Set(Signal::kSmClock, clock_mhz * 1000);
    sample.Set(Signal::kMemoryUsed, kJobs[static_cast<std::size_t>(job)].memory_mib << 20);
    sample.Set(Signal::kTemperature, celsius_tenths / 10 * 1000);
    sample.Set(Signal::kEventReasons, clock_mhz < 1980 ? 4 : util == 0 ? 1 : 0);
    sample.Set(Signal::kPcieRx, util > 0 ? random.Below(1 << 20) * 1024 : 0);
  }
};

// In the units in which a table would keep them: milliseconds, per cent, watts, MHz, MiB, KiB/s.
void Print(std::FILE* out, const Sample& s) {
  fmt::print(out, "{},{},{},{},{}.{:02},{},{},{},{},{},{},{}\n", s.time.nanos() / 1'000'000, s.device,
             s.Get(Signal::kUtilization) / idleburn::kPercent, s.Get(Signal::kMemoryUtilization) / idleburn::kPercent,
             s.Get(Signal::kPower) / 1000, s.Get(Signal::kPower) / 10 % 100, s.Get(Signal::kPowerLimit) / 1000,
             s.Get(Signal::kEnergy), s.Get(Signal::kSmClock) / 1000, s.Get(Signal::kMemoryUsed) >> 20,
             s.Get(Signal::kTemperature) / 1000, s.Get(Signal::kEventReasons), s.Get(Signal::kPcieRx) / 1024);
}

Result<void> Make(const std::string& folder, std::int64_t seconds) {
  idleburn::DeviceTable devices;
  for (DeviceId id = 0; id < kGpus; ++id) {
    idleburn::DeviceKey key;
    key.uuid = fmt::format("GPU-8d3f1c2{}-77aa-4b1e-9d20-5c6f70a1b2c{}", id, id);
    key.bus_id = fmt::format("0000:{:02X}:00.0", 0x19 + 9 * id);
    key.index = static_cast<int>(id);
    key.name = "NVIDIA H100 80GB HBM3";
    devices.NameCounter(devices.Enter(key), Signal::kUtilization, "nvml.utilization.gpu");
  }
  idleburn::RecordingOptions options;
  options.sync = false;
  const auto writer = idleburn::RecordingWriter::Create(folder + "/trace.idleburn", devices, options);
  if (!writer) return tl::unexpected<idleburn::Error>(writer.error());
  std::FILE* const csv = std::fopen((folder + "/trace.csv").c_str(), "w");
  if (csv == nullptr) return idleburn::Fail(folder + "/trace.csv: cannot be written");
  Random random(1);
  std::array<Gpu, kGpus> gpus;
  std::array<Sample, kGpus> row;
  for (std::int64_t tick = 0; tick < seconds * 1'000'000; tick += kTickMicros) {
    const std::int64_t late = random.Below(300);
    for (DeviceId id = 0; id < kGpus; ++id) {
      const std::int64_t micros = tick + late + id * kQueryMicros;
      gpus[id].Step(micros, random);
      row[id] = Sample();
      row[id].time = Instant::FromNanos((kStartMicros + micros) / 1000 * 1'000'000);
      row[id].device = id;
      gpus[id].Fill(row[id], random);
      Print(csv, row[id]);
    }
    (*writer)->OnSamples(row);
  }
  std::fclose(csv);
  return (*writer)->Close();
}

struct Counting final : idleburn::LiveSink {
  void OnSamples(std::span<const Sample> samples) override {
    count += samples.size();
    for (const Sample& sample : samples) sum += sample.Get(Signal::kPower);
  }
  void OnHost(std::span<const idleburn::HostSample>) override {}
  void OnWork(const idleburn::WorkMark&) override {}
  void OnNote(const idleburn::Note&) override {}
  void OnFact(const idleburn::RunFact&) override {}
  std::uint64_t count = 0;
  std::int64_t sum = 0;
};

Result<void> Read(const std::string& file) {
  double best = 0;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::seconds(2)) {
    Result<std::unique_ptr<idleburn::ByteSource>> source = idleburn::OpenInput(file);
    if (!source) return tl::unexpected<idleburn::Error>(source.error());
    idleburn::DeviceTable devices;
    idleburn::DataQuality quality;
    Counting sink;
    const std::clock_t before = std::clock();
    const auto summary = idleburn::ReadRecording(**source, devices, quality, sink);
    if (!summary) return tl::unexpected<idleburn::Error>(summary.error());
    const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    best = std::max(best, static_cast<double>(sink.count) / seconds);
  }
  fmt::print("{:.0f}\n", best);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  Result<void> done = idleburn::Fail("usage: recording make FOLDER SECONDS | recording read FILE");
  if (mode == "make" && argc == 4) done = Make(argv[2], std::atoll(argv[3]));
  if (mode == "read" && argc == 3) done = Read(argv[2]);
  if (done) return 0;
  fmt::print(stderr, "recording: {}\n", done.error().message);
  return 1;
}

// Writes a log as `nvidia-smi --query-gpu=... --format=csv -lms 100` does: ROWS rows of 8 GPUs.
//   make_log ROWS units|nounits FILE
// The loop asks for 100 ms and ticks every 107.8 ms, as real ones do, and reads gauges that change six times a second.
// Jobs of several kinds follow one another on each GPU; the recorder pauses now and then, for less and for more than
// 5 s.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/time.h"
#include "text/time_zone.h"

namespace {

constexpr int kGpus = 8;
constexpr std::int64_t kTickMicros = 107'800;
constexpr std::int64_t kGaugeMicros = 166'667;
constexpr std::int64_t kQueryMicros = 400;  // from one GPU's row to the next
constexpr std::size_t kBlock = 1 << 20;

// splitmix64: the same log on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::int64_t Below(std::int64_t n) {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return static_cast<std::int64_t>((z ^ (z >> 31)) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

// What a GPU does for a while. Utilisation of a reading is low..high; of every `period` readings the first `starved`
// see it wait for data.
struct Job {
  int low;
  int high;
  int period;
  int starved;
  int idle_watts;
  int busy_watts;
  int memory_mib;
};
constexpr std::array<Job, 6> kJobs = {{
    {0, 0, 1, 0, 72, 72, 4},            // empty
    {0, 3, 1, 0, 118, 122, 41'200},     // held, nothing runs
    {94, 100, 1, 0, 120, 640, 71'400},  // trains
    {88, 99, 14, 3, 120, 520, 66'100},  // trains, waits for its loader
    {25, 60, 1, 0, 120, 300, 30'500},   // small batches
    {70, 89, 1, 0, 120, 450, 52'800},   // serves
}};

struct Gpu {
  Random random;
  const Job* job = kJobs.data();
  std::int64_t readings_left = 0;
  std::int64_t reading = -1;  // number of the one last published
  std::int64_t util = 0;
  std::int64_t centiwatts = 0;
  std::int64_t mhz = 0;
};

class Writer {
 public:
  Writer(std::FILE* file, bool units) : file_(file), units_(units) {}
  void Header() {
    Text(units_ ? "timestamp, index, utilization.gpu [%], power.draw [W], memory.used [MiB], clocks.current.sm [MHz]\n"
                : "timestamp, index, utilization.gpu, power.draw, memory.used, clocks.current.sm\n");
  }
  void Row(std::int64_t micros, int gpu, std::int64_t util, std::int64_t centiwatts, std::int64_t mib,
           std::int64_t mhz) {
    if (micros / 1'000'000 != second_) {
      second_ = micros / 1'000'000;
      const idleburn::CivilTime t =
          idleburn::ToCivil(idleburn::Instant::FromNanos(second_ * idleburn::kNanosPerSecond));
      fmt::format_to_n(stamp_.data(), stamp_.size(), "{:04}/{:02}/{:02} {:02}:{:02}:{:02}.", t.year, t.month, t.day,
                       t.hour, t.minute, t.second);
    }
    Text({stamp_.data(), stamp_.size()});
    const std::int64_t milli = micros / 1000 % 1000;
    Padded(milli / 100, milli % 100);
    Text(", ");
    Number(gpu);
    Text(", ");
    Number(util);
    Text(units_ ? " %, " : ", ");
    Number(centiwatts / 100);
    Text(".");
    Padded(centiwatts % 100 / 10, centiwatts % 10, 1);
    Text(units_ ? " W, " : ", ");
    Number(mib);
    Text(units_ ? " MiB, " : ", ");
    Number(mhz);
    Text(units_ ? " MHz\n" : "\n");
    if (used_ > kBlock) Flush();
  }
  bool Flush() {
    const bool written = std::fwrite(buffer_.data(), 1, used_, file_) == used_;
    used_ = 0;
    return written;
  }

 private:
  void Text(std::string_view text) {
    text.copy(buffer_.data() + used_, text.size());
    used_ += text.size();
  }
  void Number(std::int64_t n) {
    used_ = static_cast<std::size_t>(std::to_chars(buffer_.data() + used_, buffer_.data() + buffer_.size(), n).ptr -
                                     buffer_.data());
  }
  void Padded(std::int64_t high, std::int64_t low, int low_digits = 2) {
    Number(high);
    if (low_digits == 2 && low < 10) Text("0");
    Number(low);
  }

  std::FILE* file_;
  bool units_;
  std::int64_t second_ = -1;
  std::array<char, 20> stamp_{};
  std::array<char, kBlock + 4096> buffer_{};
  std::size_t used_ = 0;
};

// Microseconds for which the recorder pauses after a tick: mostly none.
std::int64_t Pause(Random& random) {
  const std::int64_t event = random.Below(400'000);
  if (event < 4) return (60 + random.Below(1200)) * 1'000'000;  // the node was drained
  if (event < 24) return 5'200'000 + random.Below(20'000'000);  // past the benchmark's gap of 5 s
  if (event < 224) return 300'000 + random.Below(4'000'000);    // the recorder was late
  return 0;
}

void Publish(Gpu& gpu) {
  if (gpu.readings_left-- == 0) {
    gpu.job = &kJobs[static_cast<std::size_t>(gpu.random.Below(kJobs.size()))];
    gpu.readings_left = 600 + gpu.random.Below(40'000);
  }
  const Job& job = *gpu.job;
  const bool starved = gpu.reading % job.period < job.starved;
  gpu.util = starved ? 0 : job.low + gpu.random.Below(job.high - job.low + 1);
  const std::int64_t noise = gpu.random.Below(800) - 400;
  gpu.centiwatts = job.idle_watts * 100 + (job.busy_watts - job.idle_watts) * gpu.util + noise;
  gpu.mhz = gpu.util > 0 ? 1755 + gpu.random.Below(15) * 15 : 345;
}

void Tick(Gpu& gpu, int index, std::int64_t micros, Writer& out) {
  if (micros / kGaugeMicros != gpu.reading) {
    gpu.reading = micros / kGaugeMicros;
    Publish(gpu);
  }
  out.Row(micros, index, gpu.util, gpu.centiwatts, gpu.job->memory_mib, gpu.mhz);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t rows = argc == 4 ? std::atoll(argv[1]) : 0;
  std::FILE* const file = rows > 0 ? std::fopen(argv[3], "wb") : nullptr;
  if (file == nullptr) {
    fmt::print(stderr, "usage: make_log ROWS units|nounits FILE\n");
    return 2;
  }
  static Writer out(file, std::string_view(argv[2]) == "units");
  out.Header();
  Random pauses(1);
  std::array<Gpu, kGpus> gpus = {Gpu{Random(10)}, Gpu{Random(11)}, Gpu{Random(12)}, Gpu{Random(13)},
                                 Gpu{Random(14)}, Gpu{Random(15)}, Gpu{Random(16)}, Gpu{Random(17)}};
  std::int64_t micros = idleburn::DaysFromCivil(2026, 9, 1) * 86'400'000'000;
  for (std::int64_t tick = 0; tick * kGpus < rows; ++tick) {
    for (int i = 0; i < kGpus && tick * kGpus + i < rows; ++i) {
      Tick(gpus[static_cast<std::size_t>(i)], i, micros + i * kQueryMicros, out);
    }
    micros += kTickMicros + Pause(pauses);
  }
  const bool written = out.Flush();
  if (std::fclose(file) == 0 && written) return 0;
  fmt::print(stderr, "make_log: {} cannot be written\n", argv[3]);
  return 1;
}

// A program that behaves like training on a GPU of the stand-in: real loader processes burn real CPU and read real
// files, and what its kernels do is marked in the file that IDLEBURN_STANDIN_SHM names. It knows the truth about its
// own time and writes it down at the end. See README.md.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "standin/gpu_marks.h"
#include "standin/script.h"

namespace idleburn::standin {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

volatile sig_atomic_t stop_asked = 0;
void AskToStop(int) { stop_asked = 1; }

constexpr Kernel kSpin = {0.05F, 0.01F, 0.08F, 0, 0};

struct Job {
  std::string mode;
  double seconds = 5;
  int device = 0;
  int workers = 1;
  double batch_cpu = 0.08;  // seconds of CPU a loader spends on a batch
  double kernel = 0.02;     // seconds the GPU spends on it
  double setup = 0;         // seconds before the first batch
  double epoch = 0;         // seconds of an epoch; 0: no epochs
  std::uint64_t memory = std::uint64_t{20} << 30;
  std::string data;            // a file the loaders read, or rank 0 writes; empty: none
  std::size_t read = 1 << 20;  // bytes of it that a loader reads for a batch
  bool direct = false;         // past the page cache
  double every = 6;            // seconds from one stall of all ranks to the next
  double stall = 3;            // that it lasts
  std::string truth;           // where the truth goes; empty: standard output
  Kernel kind;
};

std::int64_t Clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * kSecond + t.tv_nsec;
}

void SleepUntil(std::int64_t monotonic) {
  const timespec t = {monotonic / kSecond, monotonic % kSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR && stop_asked == 0) {
  }
}

void BurnCpu(double seconds) {
  const std::int64_t end = Clock(CLOCK_PROCESS_CPUTIME_ID) + static_cast<std::int64_t>(seconds * 1e9);
  volatile double value = 1;
  while (Clock(CLOCK_PROCESS_CPUTIME_ID) < end) {
    for (int i = 0; i < 2000; ++i) value = value * 1.0000001 + 1e-9;
  }
}

// Reads `bytes` of the file from where it stands, from its start again at its end.
void ReadSome(int data, std::size_t bytes) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  static std::byte* const room = static_cast<std::byte*>(std::aligned_alloc(4096, kBlock));  // as O_DIRECT wants it
  for (std::size_t done = 0; done < bytes; done += kBlock) {
    if (read(data, room, kBlock) < static_cast<ssize_t>(kBlock)) lseek(data, 0, SEEK_SET);
  }
}

// A loader: for each byte that asks for a batch, reads and decodes one, and answers with a byte.
[[noreturn]] void Load(const Job& job, int asked, int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int flags = O_RDONLY | O_CLOEXEC | (job.direct ? O_DIRECT : 0);
  const int data = job.data.empty() ? -1 : open(job.data.c_str(), flags);
  if (data < 0 && !job.data.empty()) _exit(1);
  char token = 0;
  while (read(asked, &token, 1) == 1) {
    if (data >= 0) ReadSome(data, job.read);
    BurnCpu(job.batch_cpu);
    if (write(ready, &token, 1) != 1) break;
  }
  _exit(0);
}

class Loaders {
 public:
  explicit Loaders(const Job& job) {
    if (pipe2(asked_.data(), O_CLOEXEC) != 0 || pipe2(ready_.data(), O_CLOEXEC) != 0) std::abort();
    for (int i = 0; i < job.workers; ++i) {
      const pid_t child = fork();
      if (child == 0) Load(job, asked_[0], ready_[1]);
      children_.push_back(child);
    }
    for (int i = 0; i < 2 * job.workers; ++i) Ask();  // what is fetched ahead
  }
  ~Loaders() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  Loaders(const Loaders&) = delete;
  Loaders& operator=(const Loaders&) = delete;
  // Waits for a batch; false when asked to stop.
  bool Next() {
    char token = 0;
    while (read(ready_[0], &token, 1) != 1) {
      if (stop_asked != 0) return false;
    }
    Ask();
    return stop_asked == 0;
  }

 private:
  void Ask() {
    const char token = 1;
    if (write(asked_[1], &token, 1) != 1) std::abort();
  }
  std::array<int, 2> asked_{};
  std::array<int, 2> ready_{};
  std::vector<pid_t> children_;
};

// What really happened, by the program's own clock.
struct Truth {
  std::int64_t start = 0;  // monotonic
  std::int64_t end = 0;
  std::int64_t start_wall = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> busy;
  std::int64_t steps = 0;
  std::int64_t driver_start = 0;  // monotonic; 0: no driver was there
};

void RunKernel(const Job& job, Marker& gpu, std::int64_t end, Truth& truth) {
  const std::int64_t start = gpu.Begin(job.kind);
  SleepUntil(std::min(end, start + static_cast<std::int64_t>(job.kernel * 1e9)));
  truth.busy.emplace_back(start, gpu.End());
  ++truth.steps;
  if (truth.steps % 10 == 0) std::fprintf(stderr, "step %lld loss %.4f\n", static_cast<long long>(truth.steps), 0.5);
}

// Ranks that agree by the clock: every `every` seconds all of them stall, device 0 because it writes (or, without a
// file, because it is late), the others because they wait for it in a kernel.
void TrainInStep(const Job& job, Marker& gpu, std::int64_t end, Truth& truth) {
  const auto every = static_cast<std::int64_t>(job.every * 1e9);
  const auto stall = static_cast<std::int64_t>(job.stall * 1e9);
  const int out = job.data.empty() ? -1 : open(job.data.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::vector<char> page(1 << 20, 'c');
  Job waiting = job;
  waiting.kind = kSpin;
  while (MonotonicNow() < end && stop_asked == 0) {
    const std::int64_t now = MonotonicNow();
    const std::int64_t until = std::min(end, now - now % every + (now % every < stall ? stall : every));
    if (now % every >= stall) {
      RunKernel(job, gpu, until, truth);
    } else if (job.device != 0) {
      RunKernel(waiting, gpu, until, truth);
    } else {
      if (out >= 0 && (pwrite(out, page.data(), page.size(), 0) < 0 || fdatasync(out) != 0)) std::perror("write");
      SleepUntil(std::min(until, MonotonicNow() + kSecond / 20));
    }
  }
}

// Batches of the first third of an epoch are in memory, those of the second are waited for, and in the last third a
// checkpoint is written.
void TrainEpochs(const Job& job, Marker& gpu, std::int64_t end, Truth& truth) {
  const auto epoch = static_cast<std::int64_t>(job.epoch * 1e9);
  const std::int64_t first = MonotonicNow();
  Loaders loaders(job);
  while (MonotonicNow() < end && stop_asked == 0) {
    const std::int64_t passed = MonotonicNow() - first;
    if (passed % epoch >= epoch / 3 * 2) {
      SleepUntil(std::min(end, first + (passed / epoch + 1) * epoch));
    } else if (passed % epoch < epoch / 3 || loaders.Next()) {
      RunKernel(job, gpu, end, truth);
    }
  }
}

Truth Train(const Job& job, MarkFile* file) {
  Truth truth;
  Marker gpu(file, job.device);
  truth.start = MonotonicNow();
  truth.start_wall = Clock(CLOCK_REALTIME);
  const std::int64_t end = truth.start + static_cast<std::int64_t>(job.seconds * 1e9);
  SleepUntil(std::min(end, truth.start + static_cast<std::int64_t>(job.setup * 1e9)));
  gpu.Hold(job.memory);
  if (job.mode == "idle-held") {
    while (MonotonicNow() < end && stop_asked == 0) SleepUntil(std::min(end, MonotonicNow() + kSecond / 10));
  } else if (job.mode == "starved" && job.epoch > 0) {
    TrainEpochs(job, gpu, end, truth);
  } else if (job.mode == "starved") {
    Loaders loaders(job);
    while (MonotonicNow() < end && loaders.Next()) RunKernel(job, gpu, end, truth);
  } else if (job.mode == "in-step") {
    TrainInStep(job, gpu, end, truth);
  } else {  // launched one after the other, with what the host needs between two launches
    while (MonotonicNow() < end && stop_asked == 0) {
      RunKernel(job, gpu, end, truth);
      if (job.batch_cpu > 0) BurnCpu(job.batch_cpu);
    }
  }
  gpu.Release();
  truth.driver_start = file->driver_start;
  truth.end = MonotonicNow();
  return truth;
}

// The phases of the seconds of the wall clock, each by the share of it in which the GPU was busy.
std::array<double, 4> Phases(const Truth& truth) {
  std::array<double, 4> phases{};
  const std::int64_t wall = truth.start_wall - truth.start;
  std::int64_t cell = (truth.start + wall) / kSecond * kSecond - wall;
  std::size_t next = 0;
  for (; cell < truth.end; cell += kSecond) {
    const std::int64_t from = std::max(cell, truth.start);
    const std::int64_t to = std::min(cell + kSecond, truth.end);
    std::int64_t busy = 0;
    while (next < truth.busy.size() && truth.busy[next].second <= from) ++next;
    for (std::size_t i = next; i < truth.busy.size() && truth.busy[i].first < to; ++i) {
      busy += std::min(to, truth.busy[i].second) - std::max(from, truth.busy[i].first);
    }
    const double percent = 100.0 * static_cast<double>(busy) / static_cast<double>(to - from);
    phases[percent < 10 ? 0 : percent < 70 ? 1 : percent < 90 ? 2 : 3] += static_cast<double>(to - from) / 1e9;
  }
  return phases;
}

void Write(const Job& job, const Truth& truth) {
  std::int64_t busy = 0;
  for (const auto& [from, to] : truth.busy) busy += to - from;
  const std::array<double, 4> phases = Phases(truth);
  std::FILE* const out = job.truth.empty() ? stdout : std::fopen(job.truth.c_str(), "w");
  if (out == nullptr) return std::perror(job.truth.c_str());
  std::fprintf(out,
               "{\"mode\": \"%s\", \"device\": %d, \"start_wall_ns\": %lld, \"seconds\": %.9f, \"busy_s\": %.9f,\n"
               " \"steps\": %lld, \"phases_s\": {\"idle\": %.9f, \"underutilized\": %.9f, \"productive\": %.9f, "
               "\"compute_bound\": %.9f},\n \"start_ns\": %lld, \"driver_start_ns\": %lld, \"kernels_ns\": [",
               job.mode.c_str(), job.device, static_cast<long long>(truth.start_wall),
               static_cast<double>(truth.end - truth.start) / 1e9, static_cast<double>(busy) / 1e9,
               static_cast<long long>(truth.steps), phases[0], phases[1], phases[2], phases[3],
               static_cast<long long>(truth.start), static_cast<long long>(truth.driver_start));
  for (std::size_t i = 0; i < truth.busy.size(); ++i) {
    std::fprintf(out, "%s[%lld, %lld]", i == 0 ? "" : ", ", static_cast<long long>(truth.busy[i].first),
                 static_cast<long long>(truth.busy[i].second));
  }
  std::fputs("]}\n", out);
  if (out != stdout) std::fclose(out);
}

// The driver's number of the board that CUDA counts so: of boards of one model, in the order of the PCI bus.
int BoardOf(int device) {
  const char* const path = std::getenv("IDLEBURN_STANDIN_SCRIPT");
  std::ifstream in(path != nullptr ? path : "");
  const Script script = ReadScript(std::string(std::istreambuf_iterator<char>(in), {}));
  std::vector<std::pair<std::string, int>> by_bus;
  for (const ScriptGpu& gpu : script.gpus) by_bus.emplace_back(gpu.facts.bus_id, static_cast<int>(by_bus.size()));
  std::sort(by_bus.begin(), by_bus.end());
  const auto place = static_cast<std::size_t>(device);
  return place < by_bus.size() ? by_bus[place].second : device;
}

// CUDA_VISIBLE_DEVICES numbers the devices of a program anew.
int VisibleDevice(int device) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string list = visible != nullptr ? visible : "";
  for (int i = 0; i < device && !list.empty(); ++i) {
    const std::size_t comma = list.find(',');
    list = comma == std::string::npos ? "" : list.substr(comma + 1);
  }
  return BoardOf(list.empty() ? device : static_cast<int>(std::strtol(list.c_str(), nullptr, 10)));
}

bool SetMode(const std::string& mode, Job& job) {
  job.mode = mode;
  if (mode == "starved" || mode == "idle-held") return true;
  if (mode == "small-batch") {
    job.kernel = 0.002;
    job.batch_cpu = 0.004;
    job.kind = {0.15F, 0.1F, 0.2F, 0, 0.07F};
    return true;
  }
  job.batch_cpu = 0;
  job.kernel = 0.2;
  if (mode == "spin-wait") job.kind = kSpin;
  return mode == "compute-bound" || mode == "spin-wait" || mode == "in-step";
}

bool SetFlag(const std::string& flag, const std::string& value, Job& job) {
  if (flag == "--device")
    job.device = static_cast<int>(std::strtol(value.c_str(), nullptr, 10));
  else if (flag == "--workers")
    job.workers = static_cast<int>(std::strtol(value.c_str(), nullptr, 10));
  else if (flag == "--batch-cpu")
    job.batch_cpu = std::strtod(value.c_str(), nullptr);
  else if (flag == "--kernel")
    job.kernel = std::strtod(value.c_str(), nullptr);
  else if (flag == "--setup")
    job.setup = std::strtod(value.c_str(), nullptr);
  else if (flag == "--epoch")
    job.epoch = std::strtod(value.c_str(), nullptr);
  else if (flag == "--memory")
    job.memory = std::strtoull(value.c_str(), nullptr, 10);
  else if (flag == "--data")
    job.data = value;
  else if (flag == "--truth")
    job.truth = value;
  else if (flag == "--read")
    job.read = std::strtoull(value.c_str(), nullptr, 10);
  else if (flag == "--direct")
    job.direct = value == "1";
  else if (flag == "--every")
    job.every = std::strtod(value.c_str(), nullptr);
  else if (flag == "--stall")
    job.stall = std::strtod(value.c_str(), nullptr);
  else
    return false;
  return true;
}

int Main(int count, char** words) {
  Job job;
  const char* const shared = std::getenv("IDLEBURN_STANDIN_SHM");
  bool right = count >= 3 && count % 2 == 1 && shared != nullptr && SetMode(words[1], job);
  if (right) job.seconds = std::strtod(words[2], nullptr);
  for (int i = 3; right && i + 1 < count; i += 2) right = SetFlag(words[i], words[i + 1], job);
  if (!right) {
    std::fputs(
        "usage: IDLEBURN_STANDIN_SHM=FILE simulated_training starved|small-batch|compute-bound|idle-held|"
        "spin-wait|in-step SECONDS [--device N] [--workers N] [--batch-cpu S] [--kernel S] [--setup S] [--epoch S] "
        "[--memory BYTES] [--data FILE] [--read BYTES] [--direct 1] [--every S] [--stall S] [--truth FILE]\n",
        stderr);
    return 2;
  }
  job.device = VisibleDevice(job.device);
  struct sigaction action = {};
  action.sa_handler = AskToStop;  // without SA_RESTART: a wait ends
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  MarkFile* const file = MapMarks(shared);
  if (file == nullptr) {
    std::perror(shared);
    return 1;
  }
  Write(job, Train(job, file));
  return 0;
}

}  // namespace
}  // namespace idleburn::standin

int main(int count, char** words) { return idleburn::standin::Main(count, words); }

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace idleburn::standin {

// What a simulated GPU does, as quantities that hold between changes.
enum class Quantity : std::uint8_t {
  kBusy,    // percent of time with a kernel resident
  kPower,   // mW
  kSm,      // percent, as the profiling counters see it
  kTensor,  // percent
  kDram,    // percent
  kClock,   // MHz
  kPcieRx,  // bytes per second
  kPcieTx,
  kNvlink,  // bytes per second, each direction
  kCount
};
inline constexpr std::size_t kQuantities = static_cast<std::size_t>(Quantity::kCount);

struct Process {
  std::uint32_t pid = 0;
  std::uint64_t memory = 0;  // all ones: the driver does not know
};

// Where a board's truth comes from. Times are nanoseconds since the stand-in started.
class Activity {
 public:
  Activity() = default;
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  virtual ~Activity() = default;
  // Integral of a quantity over [from, to), in its unit x ns.
  virtual double Integral(Quantity quantity, std::int64_t from, std::int64_t to) = 0;
  virtual double At(Quantity quantity, std::int64_t t) = 0;
  virtual std::uint64_t MemoryUsed(std::int64_t t) = 0;
  virtual std::vector<Process> Processes(std::int64_t t) = 0;
  virtual std::vector<Process> Drawing(std::int64_t) { return {}; }
  virtual std::uint64_t EventReasons(std::int64_t t) = 0;
  virtual std::uint32_t Celsius(std::int64_t t) = 0;
  virtual bool Lost(std::int64_t t) = 0;
  // Up to when everything that happened is known.
  virtual std::int64_t KnownUntil(std::int64_t now) { return now; }
};

struct BoardFacts {
  std::string name = "NVIDIA H100 80GB HBM3";
  std::string uuid;
  std::string bus_id;
  std::uint64_t memory = std::uint64_t{80} << 30;
  std::int64_t window_ns = 166'667'000;
  std::int64_t phase_ns = 0;  // of the window's grid
  double idle_mw = 70'000;
  double limit_mw = 700'000;
  double default_limit_mw = 700'000;
  double max_clock_mhz = 1980;
  std::uint64_t energy_mj = 9'000'000'000;  // the counter at the start
  std::size_t ring = 120;                   // published utilizations that are kept
  bool samples = true;                      // has GetSamples
  bool gpm = true;
  std::string vbios = "96.00.99.00.01";
  std::uint32_t pcie_generation = 5;
  std::uint32_t pcie_width = 16;   // now; the board and its slot have 16
  std::uint32_t nvlinks = 0;       // that are up
  std::uint32_t gpu_instance = 0;  // of a MIG instance, as the rest
  std::uint32_t compute_instance = 0;
  std::uint32_t slices = 0;
  std::string profile;
  bool hidden = false;  // a control group keeps it from this process
};

struct Published {
  std::int64_t time;  // end of the window
  std::uint32_t percent;
};

// A GPU, or a MIG instance of one.
class Board {
 public:
  Board(BoardFacts facts, std::unique_ptr<Activity> activity)
      : facts_(std::move(facts)), activity_(std::move(activity)), next_window_(facts_.phase_ns + facts_.window_ns) {}

  [[nodiscard]] const BoardFacts& facts() const { return facts_; }
  Activity& activity() { return *activity_; }
  // The utilizations of all completed windows that are still kept: the busy share, in integer percent.
  const std::deque<Published>& Windows(std::int64_t now);
  // mJ since the driver was loaded, renewed every 20 ms.
  std::uint64_t Energy(std::int64_t now);
  void ReloadDriver(std::int64_t at);
  // Bytes since the start.
  std::uint64_t Moved(Quantity quantity, std::int64_t now);

 private:
  double Since(Quantity quantity, std::int64_t now);

  BoardFacts facts_;
  std::unique_ptr<Activity> activity_;
  std::int64_t next_window_;
  std::deque<Published> windows_;
  struct Counter {
    std::int64_t until = 0;
    double sum = 0;  // unit x s
  };
  std::array<Counter, kQuantities> counters_{};
};

}  // namespace idleburn::standin

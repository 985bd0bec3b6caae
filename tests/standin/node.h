#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "measure/nvml_abi.h"
#include "standin/board.h"
#include "standin/control.h"
#include "standin/script.h"

namespace idleburn::standin {

// What a handle of the library points to. Handles of an earlier initialisation are known to be stale.
struct Handle {
  int generation = 0;
  int gpu = 0;  // as numbered in the script
  Board* board = nullptr;
  bool instance = false;
};

struct GpmState {
  std::int64_t time = -1;
  Board* board = nullptr;
  std::array<double, kQuantities> sum{};  // integrals until `time`
};

// The simulated machine: its clock, its boards, its faults.
class Node {
 public:
  static Node& This();  // the library has no other place to keep it

  void Load(const std::string& text);
  void LoadFromEnvironment();

  std::int64_t Now();  // ns since the stand-in was loaded
  // The wall clock at t: what was stamped then keeps its stamp, however the clock is set later.
  std::uint64_t WallMicros(std::int64_t t) const;
  void Advance(std::int64_t ns) { manual_ns_ += ns; }
  void StepWall(std::int64_t ns) { wall_steps_.push_back({Now(), ns}); }
  std::int64_t MonotonicBase() const { return base_ns_; }

  nvml::Return Init();
  nvml::Return Shutdown();
  // Handle of the GPU that the driver lists at that place.
  nvml::Return HandleAt(std::uint32_t index, nvml::Device* out);
  nvml::Return InstanceAt(nvml::Device board, std::uint32_t index, nvml::Device* out);
  Handle* Find(nvml::Device device);
  // What the script wants to go wrong with this call; waits and hangs take place here. kSuccess: go on.
  nvml::Return Trouble(const char* function, const Handle* handle);
  Xid* NextXid();

  std::recursive_mutex mutex;
  bool initialised = false;
  Script script;
  std::atomic<int> inside{0};
  std::atomic<bool> released{false};
  StandinCounts counts{};

 private:
  struct Gpu {
    std::unique_ptr<Board> board;
    std::vector<std::unique_ptr<Board>> instances;
  };
  nvml::Device HandleOf(int gpu, Board& board, bool instance);
  void Reload();
  void BuildLive(const std::string& path);
  void BuildScripted();
  static std::int64_t Clock(int id);

  int generation_ = 0;
  bool loaded_ = false;
  std::vector<Gpu> gpus_;
  std::vector<int> order_;
  std::vector<std::unique_ptr<Handle>> handles_;
  std::atomic<std::int64_t> manual_ns_{0};
  std::int64_t base_ns_ = 0;       // monotonic time at which t = 0
  std::int64_t wall_base_ns_ = 0;  // wall clock at t = 0
  struct WallStep {
    std::int64_t at;
    std::int64_t ns;
  };
  std::vector<WallStep> wall_steps_;
  std::size_t reloads_done_ = 0;
};

}  // namespace idleburn::standin

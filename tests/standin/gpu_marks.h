#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace idleburn::standin {

// The shared-memory file in which simulated programs mark what their GPU does, and from which the stand-in of the
// driver derives what NVML says. One slot a process and device; a slot has one writer. Times: CLOCK_MONOTONIC ns.
struct Mark {
  std::atomic<std::uint64_t> sequence;  // its number from 1 on when whole; 0 while written
  std::int64_t start;
  std::atomic<std::int64_t> end;  // 0: still busy
  float sm;                       // shares of the GPU while busy, 0 to 1
  float dram;
  float power;   // of what lies between idle and the limit
  float pcie;    // bytes from the host per second, in GB/s
  float tensor;  // of the GPU
};

struct MarkSlot {
  static constexpr std::size_t kMarks = 4096;
  std::atomic<std::int32_t> pid;  // 0: free
  std::int32_t device;
  std::atomic<std::uint64_t> memory;  // bytes held; with `context`, what makes a process a holder
  std::atomic<std::int32_t> context;
  std::atomic<std::uint64_t> count;  // marks begun
  std::array<Mark, kMarks> marks;
};

struct MarkFile {
  static constexpr std::uint64_t kMagic = 0x336b72616d757067;
  static constexpr std::size_t kSlots = 32;
  std::atomic<std::uint64_t> magic;
  std::atomic<std::int64_t> driver_start;  // when the stand-in was loaded: windows of utilization count from there
  std::array<MarkSlot, kSlots> slots;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

// Maps the file, making it if it is not there; null if that cannot be done. Mapped until the process ends.
MarkFile* MapMarks(const std::string& path);

// How hard a kernel uses the GPU.
struct Kernel {
  float sm = 1;
  float dram = 0.5F;
  float power = 0.9F;
  float pcie = 0;
  float tensor = 0.5F;
};

// What one process marks of one device.
class Marker {
 public:
  // `file` from MapMarks. Aborts when all slots are taken.
  Marker(MarkFile* file, int device);
  ~Marker();
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;

  void Hold(std::uint64_t bytes);  // opens a context that holds this much memory
  void Release();
  // Both return the time that they marked.
  std::int64_t Begin(const Kernel& kernel);
  std::int64_t End();

 private:
  MarkSlot* slot_;
};

std::int64_t MonotonicNow();

}  // namespace idleburn::standin

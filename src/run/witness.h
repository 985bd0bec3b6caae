#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace idleburn {

// Tells whether a signal that reached this process reached its whole process group, and with it the workload.
//
//   kill PID        only we get it: it must be passed on, or the workload never hears of it
//   kill -- -PGID   timeout(1), `kill %1`, a batch system that signals every process: the workload has it already,
//                   and a second copy would interrupt the clean-up that the first one began
//
// Nothing in a signal says which it was. So a tiny process stays in the group with every signal blocked and counts
// what it receives: what it received too was sent to the group.
class Witness {
 public:
  // Null if no process can be made; then every signal is taken for one that only we received. To be called while
  // this process has one thread.
  static std::unique_ptr<Witness> Start();
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // For a signal that was just received here: whether the witness received it too. Waits for that a moment, and for
  // what is pending there for as long as a busy machine takes to let it count.
  bool SawToo(int signal);
  [[nodiscard]] pid_t pid() const { return pid_; }
  // It was waited for: somebody ended it.
  void Ended() { pid_ = -1; }

 private:
  static constexpr int kPatienceMilliseconds = 20;
  static constexpr int kPendingPatienceMilliseconds = 10'000;
  static constexpr std::size_t kSignals = 65;
  struct Counts {
    std::array<std::atomic<std::uint32_t>, kSignals> received;
  };

  explicit Witness(Counts* counts) : counts_(counts) {}
  [[nodiscard]] bool IsPending(int signal) const;
  [[noreturn]] static void Watch(Counts& counts);

  Counts* counts_;  // shared with the process
  std::array<std::uint32_t, kSignals> known_ = {};
  pid_t pid_ = -1;
};

}  // namespace idleburn

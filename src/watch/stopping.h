#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "watch/watch.h"

namespace idleburn {

struct StopRules {
  bool checkpoint = false;  // a signal of the user's asks it to checkpoint, before SIGTERM
  Nanos grace{120 * kNanosPerSecond};
  bool kill = false;  // SIGKILL when SIGTERM did not help
};

enum class StopDeed : std::uint8_t { kCheckpoint, kTerminate, kSayItRuns, kKill };

// What is to be done, and when, to a workload that is asked to stop; each thing once. Who was asked to checkpoint has
// `grace` for it before SIGTERM, and `grace` again after that. That it becomes active meanwhile takes nothing back.
class Stopping {
 public:
  explicit Stopping(const StopRules& rules) : rules_(rules) {}

  void Ask(WatchAct act);
  // The next deed that is due; call until there is none.
  std::optional<StopDeed> Next(Nanos now);
  // The request to checkpoint reached nobody: there is nothing to wait for.
  void NobodyCheckpoints() { checkpoint_at_.reset(); }
  // SIGTERM was due.
  [[nodiscard]] bool terminated() const { return terminated_at_.has_value(); }

 private:
  StopRules rules_;
  bool checkpoint_ = false;
  bool stop_ = false;
  bool checkpoint_done_ = false;
  bool last_done_ = false;
  std::optional<Nanos> checkpoint_at_;
  std::optional<Nanos> terminated_at_;
};

}  // namespace idleburn

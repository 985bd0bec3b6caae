#include "watch/stopping.h"

namespace idleburn {

void Stopping::Ask(WatchAct act) {
  checkpoint_ = checkpoint_ || (rules_.checkpoint && act != WatchAct::kWarn);
  stop_ = stop_ || act == WatchAct::kStop;
}

std::optional<StopDeed> Stopping::Next(Nanos now) {
  if (checkpoint_ && !checkpoint_done_) {
    checkpoint_done_ = true;
    checkpoint_at_ = now;
    return StopDeed::kCheckpoint;
  }
  if (stop_ && !terminated_at_ && (!checkpoint_at_ || now - *checkpoint_at_ >= rules_.grace)) {
    terminated_at_ = now;
    return StopDeed::kTerminate;
  }
  if (terminated_at_ && !last_done_ && now - *terminated_at_ >= rules_.grace) {
    last_done_ = true;
    return rules_.kill ? StopDeed::kKill : StopDeed::kSayItRuns;
  }
  return std::nullopt;
}

}  // namespace idleburn

#include "trial/leg_trace.h"

#include <algorithm>

#include "text/number.h"

namespace idleburn {

void LegTrace::Take(const Marker& marker, Nanos now) {
  // A stamp of another clock (a container may have one of its own) is no time of this leg.
  const Nanos said(marker.restart.at_ns.value_or(-1));
  const Nanos at = said >= started_ && said <= now ? said : now;
  if (marker.restart.resumed) ranks_[marker.rank].resumed = marker.restart.resumed;
  if (marker.done[WorkUnit::kStep]) TakeSteps(marker, at);
  TakeCheckpoint(marker, at);
}

void LegTrace::TakeSteps(const Marker& marker, Nanos at) {
  Writer& writer = writers_[marker.rank];
  if (writer.pid != marker.pid) writer = {marker.pid, 0, writer.before + writer.steps};
  RankTrace& rank = ranks_[marker.rank];
  const RestartSaid& said = marker.restart;
  if (said.first_sample && !rank.first_sample) rank.first_sample = said.first_sample;
  writer.steps = std::max(writer.steps, *marker.done[WorkUnit::kStep]);
  const std::int64_t steps = writer.before + writer.steps;
  std::optional<std::int64_t> next;
  if (said.last_sample) next = *said.last_sample + 1;
  if (!rank.seen.empty() && rank.seen.back().steps == steps) {
    // Its samples came in more than one piece.
    if (next) rank.seen.back().next = next;
  } else if (steps > 0) {
    from_markers_ = true;
    rank.seen.push_back({at, steps, next, said.order});
  }
  Reach(steps, at);
}

void LegTrace::TakeCheckpoint(const Marker& marker, Nanos at) {
  const RestartSaid& said = marker.restart;
  if (said.checkpoint_begin) checkpoints_.push_back({marker.rank, *said.checkpoint_begin, at, {}, {}, false});
  if (!said.checkpoint_end) return;
  const auto open = std::find_if(checkpoints_.rbegin(), checkpoints_.rend(), [&](const CheckpointSeen& c) {
    return c.rank == marker.rank && c.step == *said.checkpoint_end && !c.end;
  });
  if (open == checkpoints_.rend()) return;
  open->end = at;
  open->bytes = said.checkpoint_bytes;
}

void LegTrace::TakeLines(const WorkCount& done, const std::optional<PrintedSteps>& printed, Nanos now) {
  printed_ = printed;
  if (!from_markers()) Reach(done[WorkUnit::kStep].value_or(0), now);
}

void LegTrace::Reach(std::int64_t steps, Nanos at) {
  if (steps <= steps_) return;
  if (!first_step_) {
    first_step_ = at;
    first_steps_ = steps;
  }
  for (CheckpointSeen& checkpoint : checkpoints_) {
    checkpoint.steps_went_on = checkpoint.steps_went_on || (!checkpoint.end && at > checkpoint.begin);
  }
  steps_ = steps;
  last_step_ = at;
}

std::optional<std::int64_t> LegTrace::resumed() const {
  for (const auto& [rank, trace] : ranks_) {
    if (trace.resumed) return trace.resumed;
  }
  return std::nullopt;
}

std::optional<double> LegTrace::SecondsPerStep() const {
  if (!first_step_ || steps_ <= first_steps_) return std::nullopt;
  Nanos time = last_step_ - *first_step_;
  // Ranks write the shards of one checkpoint at the same time: of those that overlap the longest one stands.
  Nanos counted = *first_step_;
  for (const CheckpointSeen& c : checkpoints_) {
    if (!c.end || c.steps_went_on || *c.end > last_step_ || *c.end <= counted) continue;
    time -= *c.end - std::max(c.begin, counted);
    counted = *c.end;
  }
  return InSeconds(time) / static_cast<double>(steps_ - first_steps_);
}

}  // namespace idleburn

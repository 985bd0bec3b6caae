#include "trial/lineage.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/number.h"

namespace idleburn {
namespace {

// A line is printed after its steps: the first one of a leg ends the first stride.
std::optional<std::int64_t> StepBefore(const std::optional<PrintedSteps>& printed) {
  if (!printed) return std::nullopt;
  return std::max<std::int64_t>(printed->first - printed->stride, 0);
}

}  // namespace

void LegTrace::Take(const Marker& marker, Nanos now) {
  // A stamp of another clock (a container may have one of its own) is no time of this leg.
  const Nanos said(marker.restart.at_ns.value_or(-1));
  const Nanos at = said >= started_ && said <= now ? said : now;
  if (marker.restart.resumed) ranks_[marker.rank].resumed = marker.restart.resumed;
  if (marker.done[WorkUnit::kStep]) TakeSteps(marker, at);
  TakeCheckpoint(marker, at);
}

void LegTrace::TakeSteps(const Marker& marker, Nanos at) {
  // A process that took over a rank begins to count anew.
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
  // The newest one first: a job may write the same step again.
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

Lineage::Lineage(const LegTrace& first) {
  start_ = first.resumed().value_or(StepBefore(first.printed()).value_or(0));
  for (const auto& [id, rank] : first.ranks()) ranks_[id].start = rank.first_sample;
  Append(first, start_);
}

void Lineage::Append(const LegTrace& leg, std::int64_t base) {
  reached_ = base + leg.steps();
  if (!leg.from_markers() && leg.printed()) {
    reached_ = leg.printed()->last;
    stride_ = std::max(stride_, leg.printed()->stride);
  }
  for (const auto& [id, rank] : leg.ranks()) {
    Rank& own = ranks_[id];
    for (const StepSeen& seen : rank.seen) {
      if (seen.next) own.next[base + seen.steps] = *seen.next;
      own.orders[base + seen.steps] = seen.order;
    }
  }
  for (const CheckpointSeen& checkpoint : leg.checkpoints()) {
    begun_.insert(checkpoint.step);
    if (checkpoint.end) whole_.insert(checkpoint.step);
  }
}

// Absent where the leg did not say the position after that step.
std::optional<std::int64_t> Lineage::PositionAfter(const Rank& rank, std::int64_t step) const {
  if (step == start_) return rank.start;
  const auto found = rank.next.find(step);
  return found == rank.next.end() ? std::nullopt : std::optional(found->second);
}

RoundReading Lineage::Continue(const LegTrace& next, std::optional<bool> had_checkpoint) {
  RoundReading reading;
  reading.stopped_at = reached_;
  if (!whole_.empty()) reading.checkpoint_at = *whole_.rbegin();
  FindStep(next, reading);
  if (!reading.resumed_at) {
    reading.Add(DrillReason::kStepUnknown, "the step at which it resumed is not known");
    reading.Add(DrillReason::kSamplesUnknown, "so repeated or skipped samples are not known either");
    // What was known is of no use without a step to join it at: the leg begins a lineage of its own.
    Forget(-1);
    start_ = reached_;
    Append(next, reached_);
    return reading;
  }
  if (JudgeStep(next, had_checkpoint, reading)) {
    JudgeSamples(next, reading);
    JudgeOrder(next, reading);
  }
  Forget(*reading.resumed_at);
  if (*reading.resumed_at < start_) start_ = *reading.resumed_at;
  for (const auto& [id, rank] : next.ranks()) {
    if (*reading.resumed_at == start_) ranks_[id].start = rank.first_sample;
  }
  Append(next, *reading.resumed_at);
  return reading;
}

void Lineage::FindStep(const LegTrace& next, RoundReading& reading) const {
  reading.resumed_at = next.resumed();
  for (const auto& [id, rank] : next.ranks()) {
    if (reading.resumed_at) return;
    const auto own = ranks_.find(id);
    if (own == ranks_.end() || !rank.first_sample) continue;
    if (own->second.start == rank.first_sample) {
      reading.resumed_at = start_;
    } else {
      for (const auto& [step, position] : own->second.next) {
        if (position == *rank.first_sample) reading.resumed_at = step;
      }
    }
  }
  if (!reading.resumed_at) reading.resumed_at = StepBefore(next.printed());
}

bool Lineage::JudgeStep(const LegTrace& next, std::optional<bool> had_checkpoint, RoundReading& reading) const {
  const std::int64_t at = *reading.resumed_at;
  const std::optional<std::int64_t>& whole = reading.checkpoint_at;
  reading.lost_steps = std::max<std::int64_t>(reached_ - at, 0);
  if (whole) reading.lost_beyond_checkpoint = std::max<std::int64_t>(std::min(*whole, reached_) - at, 0);
  const bool known_ahead = whole && at > *whole && !begun_.contains(at);
  if (known_ahead || at > reached_ + stride_ - 1) {
    reading.Add(DrillReason::kAheadOfCheckpoint,
                fmt::format("it resumed at step {}, but {}", at,
                            known_ahead ? fmt::format("its newest checkpoint holds step {}", *whole)
                                        : fmt::format("it had reached only step {}", reached_)));
    return false;
  }
  if (whole && at < *whole && at > 0) {
    reading.Add(DrillReason::kOlderCheckpoint,
                fmt::format("it resumed at step {}, although its checkpoint of step {} was complete", at, *whole));
  } else if (at == 0 && reached_ > 0) {
    const bool says = !begun_.empty() || !next.checkpoints().empty();
    const bool none_yet = !whole && (says || had_checkpoint == false);
    if (none_yet) {
      reading.Add(DrillReason::kNoCheckpointYet,
                  fmt::format("it was interrupted at step {}, before its first complete checkpoint", reached_));
    } else {
      reading.Add(DrillReason::kRestartsFromZero,
                  fmt::format("it began again with step 0 after {} steps{}", reached_,
                              whole ? fmt::format(", although its checkpoint of step {} was complete", *whole) : ""));
    }
  }
  return true;
}

// Rank by rank, since each takes samples of its own. One rank that says nothing makes all of it unknown.
void Lineage::JudgeSamples(const LegTrace& next, RoundReading& reading) const {
  bool known = next.from_markers();
  std::int64_t skipped = 0;
  std::int64_t repeated = 0;
  std::int64_t lost = 0;
  for (const auto& [id, rank] : next.ranks()) {
    const auto own = ranks_.find(id);
    const std::optional<std::int64_t> due =
        own == ranks_.end() ? std::nullopt : PositionAfter(own->second, *reading.resumed_at);
    if (!due || !rank.first_sample) {
      known = false;
      continue;
    }
    skipped += std::max<std::int64_t>(*rank.first_sample - *due, 0);
    repeated += std::max<std::int64_t>(*due - *rank.first_sample, 0);
    if (!own->second.next.empty()) {
      lost += std::max<std::int64_t>(own->second.next.rbegin()->second - *due, 0);
    }
  }
  if (!known) {
    reading.Add(DrillReason::kSamplesUnknown, "whether samples were repeated or skipped is not known");
    return;
  }
  reading.skipped = skipped;
  reading.repeated = repeated;
  reading.lost_samples = lost;
  const std::int64_t at = *reading.resumed_at;
  if (skipped > 0) {
    reading.Add(DrillReason::kSkips, fmt::format("{} samples after step {} were never taken", skipped, at));
  }
  if (repeated > 0) {
    reading.Add(DrillReason::kRepeats,
                fmt::format("{} samples that the state of step {} held were taken again", repeated, at));
  }
}

// Only steps at the same position are compared: after a skip the samples differ for that reason alone.
void Lineage::JudgeOrder(const LegTrace& next, RoundReading& reading) const {
  std::int64_t same = 0;
  std::int64_t other = 0;
  for (const auto& [id, rank] : next.ranks()) {
    const auto own = ranks_.find(id);
    if (own == ranks_.end()) continue;
    for (const StepSeen& seen : rank.seen) {
      const std::int64_t step = *reading.resumed_at + seen.steps;
      const auto order = own->second.orders.find(step);
      const auto position = own->second.next.find(step);
      if (order == own->second.orders.end() || !order->second || !seen.order) continue;
      if (position == own->second.next.end() || position->second != seen.next) continue;
      ++(*order->second == *seen.order ? same : other);
    }
  }
  if (same + other == 0) return;
  reading.order_kept = other == 0;
  if (other > 0) {
    reading.Add(DrillReason::kOrderChanges,
                fmt::format("{} of {} repeated steps used other samples than before", other, same + other));
  }
}

// No state holds the steps after that one any more, so what is known of them is of no use.
void Lineage::Forget(std::int64_t after) {
  for (auto& [id, rank] : ranks_) {
    rank.next.erase(rank.next.upper_bound(after), rank.next.end());
    rank.orders.erase(rank.orders.upper_bound(after), rank.orders.end());
  }
  if (after < 0) {
    for (auto& [id, rank] : ranks_) rank.start.reset();
  }
  whole_.erase(whole_.upper_bound(after), whole_.end());
  begun_.erase(begun_.upper_bound(after), begun_.end());
}

}  // namespace idleburn

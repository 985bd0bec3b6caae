#include "run/work_lane.h"

#include <algorithm>
#include <utility>

namespace idleburn {

void ProgressWatcher::OnOutput(int stream, std::string_view bytes) {
  const std::scoped_lock lock(mutex_);
  readers_[stream == 1 ? 0 : 1].Feed(bytes);
}

void ProgressWatcher::Finish() {
  const std::scoped_lock lock(mutex_);
  for (ProgressReader& reader : readers_) reader.Finish();
}

WorkCount ProgressWatcher::done() const {
  const std::scoped_lock lock(mutex_);
  // Bars often go to standard error and logs to standard output. Both tell the same work, so the larger count of each
  // unit is taken and nothing is added.
  const auto more = [](const std::optional<std::int64_t>& a, const std::optional<std::int64_t>& b) {
    return a && b ? std::max(a, b) : a ? a : b;
  };
  WorkCount done;
  for (std::size_t u = 0; u < kWorkUnitCount; ++u)
    done.of[u] = more(readers_[0].done().of[u], readers_[1].done().of[u]);
  done[WorkUnit::kStep] = OfSteps().done()[WorkUnit::kStep];
  return done;
}

// The stream that is more likely to show training. If both are equally likely, the one with more steps.
const ProgressReader& ProgressWatcher::OfSteps() const {
  const auto rank = [](const ProgressReader& reader) {
    return std::pair(reader.trust(), reader.done()[WorkUnit::kStep].value_or(0));
  };
  return readers_[rank(readers_[1]) > rank(readers_[0]) ? 1 : 0];
}

std::optional<PrintedSteps> ProgressWatcher::printed() const {
  const std::scoped_lock lock(mutex_);
  return OfSteps().printed();
}

// A line that is no marker is noted once. More of them say nothing new.
void WorkLane::Tick(Instant now, LiveSink& out) {
  if (markers_ != nullptr) {
    markers_->Poll();
    for (const auto& [rank, done] : markers_->ranks()) {
      if (!from_markers_) ForgetLines(now, out);
      Push(now, rank, done, out);
    }
    if (markers_->refused() > 0 && refused_ == 0) {
      refused_ = markers_->refused();
      out.OnNote({now, NoteKind::kFailure, markers_->path() + ": a line is no marker; see docs/markers.md"});
    }
  }
  if (!from_markers_ && lines_ != nullptr) Push(now, 0, lines_->done(), out);
}

void WorkLane::Finish(Instant now, LiveSink& out) {
  if (lines_ != nullptr) lines_->Finish();
  Tick(now, out);
}

// Printed lines were pushed as rank 0. Markers may have no rank 0, so that count must go.
void WorkLane::ForgetLines(Instant now, LiveSink& out) {
  from_markers_ = true;
  if (pushed_.empty()) return;
  pushed_.clear();
  out.OnWork({now, 0, {}});
}

// Pushes the work of a rank if it differs from what was pushed. An empty count takes back what was said before; a
// rank that never said anything is not pushed.
void WorkLane::Push(Instant now, std::int32_t rank, const WorkCount& done, LiveSink& out) {
  if (!done.any() && pushed_.count(rank) == 0) return;  // else what was said is taken back
  const auto [at, first] = pushed_.try_emplace(rank, done);
  if (!first && at->second == done) return;
  at->second = done;
  out.OnWork({now, rank, done});
}

namespace {

// Bytes of the last line that are kept.
constexpr std::size_t kLongestKeptLine = 300;

}  // namespace

void OutputReader::OnOutput(int stream, std::string_view bytes) {
  progress.OnOutput(stream, bytes);
  const std::scoped_lock lock(mutex_);
  for (const char c : bytes) {
    if (c == '\n' || c == '\r') {
      if (!line_.empty()) last_ = line_;
      line_.clear();
    } else if (line_.size() < kLongestKeptLine) {
      line_ += c;
    }
  }
}

std::string OutputReader::LastLine() const {
  const std::scoped_lock lock(mutex_);
  return line_.empty() ? last_ : line_;
}

}  // namespace idleburn

#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "measure/lane.h"
#include "run/markers.h"
#include "run/output_relay.h"
#include "run/progress_lines.h"

namespace idleburn {

// Reads the work done from what a workload prints, in the threads that copy it.
class ProgressWatcher final : public OutputWatcher {
 public:
  void OnOutput(int stream, std::string_view bytes) override;
  // Nothing more comes: a last line without an end counts too.
  void Finish();
  // Steps are those of the stream that speaks of a training more surely; to be called from any thread.
  [[nodiscard]] WorkCount done() const;
  // Of the same stream; to be called from any thread.
  [[nodiscard]] std::optional<PrintedSteps> printed() const;

 private:
  [[nodiscard]] const ProgressReader& OfSteps() const;

  mutable std::mutex mutex_;
  std::array<ProgressReader, 2> readers_;
};

// Pushes the work that a workload says it has done, when it changed. Markers are believed before printed lines: once
// there is one, lines are no longer read.
class WorkLane final : public Lane {
 public:
  // Either may be null.
  WorkLane(std::shared_ptr<MarkerFile> markers, std::shared_ptr<ProgressWatcher> lines)
      : markers_(std::move(markers)), lines_(std::move(lines)) {}
  void Tick(Instant now, LiveSink& out) override;
  void Finish(Instant now, LiveSink& out) override;

 private:
  void ForgetLines(Instant now, LiveSink& out);
  void Push(Instant now, std::int32_t rank, const WorkCount& done, LiveSink& out);

  std::shared_ptr<MarkerFile> markers_;
  std::shared_ptr<ProgressWatcher> lines_;
  bool from_markers_ = false;
  std::map<std::int32_t, WorkCount> pushed_;
  std::int64_t refused_ = 0;
};

// Reads the progress that a workload prints, and keeps its last line for when something goes wrong.
class OutputReader final : public OutputWatcher {
 public:
  void OnOutput(int stream, std::string_view bytes) override;
  // The last line, as far as it was printed. To be called from any thread.
  [[nodiscard]] std::string LastLine() const;

  ProgressWatcher progress;

 private:
  mutable std::mutex mutex_;
  std::string line_;
  std::string last_;
};

}  // namespace idleburn

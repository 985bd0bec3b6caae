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

// The work that a workload reports, by markers (run/markers.h) or by printed progress (run/progress_lines.h).

// Reads the work done from a workload's output, in the threads that copy it. Each stream has a reader of its own,
// because lines of both come in pieces that mix.
class ProgressWatcher final : public OutputWatcher {
 public:
  void OnOutput(int stream, std::string_view bytes) override;
  // The output ended. A last line without a line end counts too.
  void Finish();
  // The work so far. Steps come from the stream that is more likely to show training. Any thread may call it.
  [[nodiscard]] WorkCount done() const;
  // The printed step numbers of the same stream. Any thread may call it.
  [[nodiscard]] std::optional<PrintedSteps> printed() const;

 private:
  [[nodiscard]] const ProgressReader& OfSteps() const;

  mutable std::mutex mutex_;
  std::array<ProgressReader, 2> readers_;
};

// Pushes the work of a workload when it changed. Markers are more reliable than printed lines: after the first
// marker, lines no longer count. The two are never added, because they report the same work.
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

// Reads the progress that a workload prints. It keeps the last line, which often names the error if the workload
// fails. The runs of trial/ (`isolate`, `drill`) use it to say why one failed.
class OutputReader final : public OutputWatcher {
 public:
  void OnOutput(int stream, std::string_view bytes) override;
  // The last line so far. Any thread may call it.
  [[nodiscard]] std::string LastLine() const;

  ProgressWatcher progress;

 private:
  mutable std::mutex mutex_;
  std::string line_;
  std::string last_;
};

}  // namespace idleburn

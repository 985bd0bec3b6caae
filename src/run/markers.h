#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "measure/lane.h"
#include "run/output_relay.h"
#include "run/progress_lines.h"

namespace idleburn {
// The settings that a program uses and that `idleburn isolate` can change (docs/markers.md, "Hooks for `idleburn
// isolate`"). They come from the environment or from the program's defaults. Absent: the program does not support the
// setting.
struct HooksSaid {
  std::optional<std::int64_t> workers;    // workers of its data loader
  std::optional<std::int64_t> synthetic;  // 1: it generates its data, 0: it reads them
  friend bool operator==(const HooksSaid&, const HooksSaid&) = default;
};

// What a process reports of its samples, its restart and its checkpoints, for `idleburn drill` (docs/markers.md).
// Steps count over the whole training. A position is a sample's place, from 0, in the order in which this rank takes
// samples over all epochs.
struct RestartSaid {
  std::optional<std::int64_t> first_sample;      // first position taken since the last line
  std::optional<std::int64_t> last_sample;       // last position taken since then, included
  std::optional<std::int64_t> order;             // a hash of what these samples are
  std::optional<std::int64_t> resumed;           // the step it continues from; 0: from the start
  std::optional<std::int64_t> checkpoint_begin;  // the step after which a checkpoint begins
  std::optional<std::int64_t> checkpoint_end;    // the step whose checkpoint is complete
  std::optional<std::int64_t> checkpoint_bytes;  // size of the complete checkpoint
  std::optional<std::int64_t> at_ns;             // CLOCK_MONOTONIC when the line was written
  friend bool operator==(const RestartSaid&, const RestartSaid&) = default;
};

// What one process reports since it started. docs/markers.md describes the file.
struct Marker {
  std::int32_t rank = 0;
  std::int64_t pid = 0;
  WorkCount done;
  HooksSaid hooks;
  RestartSaid restart;
};
// Parses a line such as "step=12,samples=384,rank=1,pid=4711". Absent if it has another form, or says nothing that is
// known here. Unknown names are ignored, because a later version of the library may say more.
std::optional<Marker> ParseMarker(std::string_view line);

// The file to which processes of a workload append their markers. IDLEBURN_MARKERS names it. It is a file and not a
// socket for three reasons: markers stay when the writer is killed, nobody has to listen, and a writer needs only one
// write() and no thread.
//
// Memory and time are bounded whatever the workload writes: by the length of a line, the number of writers, and the
// bytes of one Poll.
class MarkerFile {
 public:
  // Creates an empty temporary file, readable by this user only. The destructor removes it.
  static Result<MarkerFile> Create();
  // Opens a file that somebody else created and removes.
  static Result<MarkerFile> Open(const std::string& path);
  ~MarkerFile();
  MarkerFile(MarkerFile&& other) noexcept;
  MarkerFile& operator=(MarkerFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Reads a bounded part of what was appended since the last call. `each` gets every marker in turn; it may be null.
  // A line that is not complete yet is kept for the next call.
  void Poll(const std::function<void(const Marker&)>& each = nullptr);
  // The work of each rank, over all its processes. A restarted process continues the count of the earlier one.
  // Processes whose lines overlap work side by side, such as processes that do not know their rank. Then the furthest
  // step and epoch count, and samples and tokens are added.
  //
  // Example: process 1 of rank 0 wrote step 100 and ended, process 2 then wrote step 40. Rank 0 did 140 steps. If
  // their lines alternate, it did 100.
  [[nodiscard]] std::map<std::int32_t, WorkCount> ranks() const;
  // The latest settings of any process.
  [[nodiscard]] const HooksSaid& hooks() const { return hooks_; }
  // The number of lines that were no markers.
  [[nodiscard]] std::int64_t refused() const { return refused_; }

 private:
  MarkerFile(int fd, std::string path, bool ours) : fd_(fd), path_(std::move(path)), ours_(ours) {}
  struct Writer {
    WorkCount done;
    std::int64_t begin = 0;  // numbers of its first and last line
    std::int64_t end = 0;
  };

  void GiveBackSpace();
  void TakeLine(std::string_view line, const std::function<void(const Marker&)>& each);

  int fd_;
  std::string path_;
  bool ours_;
  std::int64_t offset_ = 0;
  std::int64_t given_back_ = 0;  // bytes from the start that the disk got back
  std::string partial_;
  bool skipping_ = false;                                            // in the rest of a line that is too long
  std::map<std::pair<std::int32_t, std::int64_t>, Writer> writers_;  // by rank and pid
  std::int64_t lines_ = 0;                                           // lines about work done
  HooksSaid hooks_;
  std::int64_t refused_ = 0;
};

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

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "run/progress_lines.h"

namespace idleburn {

// The settings a program has taken from the environment, or from its own default, where `idleburn isolate` may set
// them; absent: it does not ask.
struct HooksSaid {
  std::optional<std::int64_t> workers;    // of its data loader
  std::optional<std::int64_t> synthetic;  // 1: it invents its data, 0: it reads them
  friend bool operator==(const HooksSaid&, const HooksSaid&) = default;
};

// What a process says of the samples it took, of where it went on after a restart, and of its checkpoints. Steps are
// those of the whole training; positions are places in the order in which this rank takes samples over all epochs, from
// 0.
struct RestartSaid {
  std::optional<std::int64_t> first_sample;  // positions that the steps since its last line took, both ends included
  std::optional<std::int64_t> last_sample;
  std::optional<std::int64_t> order;             // a number made of what these samples are
  std::optional<std::int64_t> resumed;           // the step it goes on from; 0: from the start
  std::optional<std::int64_t> checkpoint_begin;  // it begins to write the state after that step
  std::optional<std::int64_t> checkpoint_end;    // the state after that step is whole
  std::optional<std::int64_t> checkpoint_bytes;  // of the one that ended
  std::optional<std::int64_t> at_ns;             // when the line was written, of CLOCK_MONOTONIC
  friend bool operator==(const RestartSaid&, const RestartSaid&) = default;
};

// What one process says it has done since it started, and how. docs/markers.md is the form of the file.
struct Marker {
  std::int32_t rank = 0;
  std::int64_t pid = 0;
  WorkCount done;
  HooksSaid hooks;
  RestartSaid restart;
};
// "step=12,samples=384,rank=1,pid=4711"; absent if it is not of that form.
std::optional<Marker> ParseMarker(std::string_view line);

// The file that processes of a workload append their markers to, named to them by IDLEBURN_MARKERS. A file rather
// than a socket: what was written stays when the writer is killed, nobody has to listen for it to be kept, and one
// write() without any thread is all a writer does.
class MarkerFile {
 public:
  // An empty file in the folder for temporary files, only for this user; removed at the end.
  static Result<MarkerFile> Create();
  // One that somebody else made and removes.
  static Result<MarkerFile> Open(const std::string& path);
  ~MarkerFile();
  MarkerFile(MarkerFile&& other) noexcept;
  MarkerFile& operator=(MarkerFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Reads what was appended since the last call, a bounded part of it. `each`, if any, is given every marker in turn.
  void Poll(const std::function<void(const Marker&)>& each = nullptr);
  // The latest of each rank, all processes of that rank together: one that was started again goes on counting. Those
  // whose lines overlap work side by side, as processes that do not know their rank do: of steps and epochs the
  // furthest counts, samples and tokens are added.
  [[nodiscard]] std::map<std::int32_t, WorkCount> ranks() const;
  // The latest of all processes.
  [[nodiscard]] const HooksSaid& hooks() const { return hooks_; }
  // Lines that were no markers.
  [[nodiscard]] std::int64_t refused() const { return refused_; }

 private:
  MarkerFile(int fd, std::string path, bool ours) : fd_(fd), path_(std::move(path)), ours_(ours) {}
  struct Writer {
    WorkCount done;
    std::int64_t begin = 0;  // the numbers of its first and its last line
    std::int64_t end = 0;
  };

  void GiveBackSpace();
  void TakeLine(std::string_view line, const std::function<void(const Marker&)>& each);

  int fd_;
  std::string path_;
  bool ours_;
  std::int64_t offset_ = 0;
  std::int64_t given_back_ = 0;  // bytes from the start whose space the disk has again
  std::string partial_;
  bool skipping_ = false;                                            // the rest of a line that is too long
  std::map<std::pair<std::int32_t, std::int64_t>, Writer> writers_;  // by rank and pid
  std::int64_t lines_ = 0;                                           // of work done
  HooksSaid hooks_;
  std::int64_t refused_ = 0;
};

}  // namespace idleburn

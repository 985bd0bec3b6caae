#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/progress_watch.h"
#include "base/time.h"
#include "os/input_file.h"
#include "terminal/environment.h"

namespace idleburn {

// What a task counts. It decides how amounts and rates are written.
enum class ProgressUnit : std::uint8_t { kBytes, kRows, kDraws, kRuns, kNanos };

// One line on a terminal that says how far long work has come:
//
//     idleburn: reading gpu.csv: 45 % of 1.60 GB, 310 MB/s, 3 s left
//
// The line appears after a second, is drawn at most 5 times a second, and is removed before other output. Where the
// total is unknown, as of a pipe, the line has no share and no remaining time.
//
// One thread at a time may call it. Each call reads the clock, so call it for blocks and not for rows.
class Progress {
 public:
  // The clock, which never steps back, and where the line goes. A test plays both.
  struct Screen {
    std::function<Nanos()> now;
    std::function<void(std::string_view)> write;
    int columns = 80;
    bool utf8 = true;
  };

  // Shows nothing.
  Progress() = default;
  explicit Progress(Screen screen);
  // Shows on standard error, if that is a terminal and the user did not ask for quiet.
  static Progress OnStandardError(const Environment& environment, bool quiet);
  ~Progress() { Hide(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins a task, which ends the one before. `total` is in its unit; 0: not known.
  void Begin(std::string task, ProgressUnit unit, std::uint64_t total = 0);
  // Counts work that was done. `item` names what is worked on, such as a file; empty: as before.
  void Add(std::uint64_t more, std::string_view item = {});
  // Says how much is done since the task began.
  void Reach(std::uint64_t done);
  // Forwards to Reach, for work that cannot know this class. It also learns the total. The result must not outlive this
  // object.
  ProgressWatch Watch();
  // Removes the line. Call it before other output to the terminal. The next call may draw it again.
  void Hide();
  // Ends the task and removes the line.
  void End();

  // Whether anything can ever be shown.
  [[nodiscard]] bool on() const { return screen_.has_value(); }
  // Whether a task has begun and not ended.
  [[nodiscard]] bool busy() const { return !task_.empty(); }

 private:
  void DrawIfDue();
  [[nodiscard]] std::string Figures(Nanos now) const;

  std::optional<Screen> screen_;
  std::string task_;
  std::string item_;
  ProgressUnit unit_ = ProgressUnit::kBytes;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  Nanos began_{0};  // the task
  Nanos next_{0};   // when the line may be drawn
  int shown_ = 0;   // columns of the line on the screen
};

// For OpenInput: counts the bytes of a file as progress. It counts below any decompression, so that shares are of the
// file's size. `progress` must outlive the file; null counts nothing.
WrapFile CountedBy(Progress* progress);

}  // namespace idleburn

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace idleburn {

// One checkpoint as its files show it.
struct CheckpointWrite {
  Nanos begin{0};  // of CLOCK_REALTIME, as files have it
  Nanos end{0};
  std::int64_t bytes = 0;
  std::int64_t files = 0;
};

// Watches the files of checkpoints, for jobs that do not say when they write one.
//
// A file is written from its birth (where the file system tells it, and the file is new) or from when it was first seen
// to change, to its last modification. Renaming changes neither: one that is written aside and renamed into place shows
// its whole time. Files whose times are less than kApart apart are one checkpoint: shards of several ranks. What this
// cannot see is on either side: preparing before the first byte, and fsync after the last. So it is a lower bound.
class CheckpointWatch {
 public:
  // A file, a folder with all below it, or a pattern of the shell's kind. What is there now is no news.
  explicit CheckpointWatch(std::string pattern);
  // Looks at the files; `wall` is now.
  void Look(Nanos wall);
  // Whether any was seen to change since the watch began.
  [[nodiscard]] bool any() const { return seen_ > 0; }
  // What was written since the last call, as far as it is over.
  std::vector<CheckpointWrite> Take(Nanos wall);

 private:
  static constexpr Nanos kApart{200'000'000};
  using FileId = std::pair<dev_t, ino_t>;
  struct Version {
    Nanos begin{0};
    Nanos end{0};
    std::int64_t bytes = 0;
  };
  [[nodiscard]] std::vector<std::string> Files() const;

  std::string pattern_;
  std::map<FileId, Nanos> modified_;  // as last seen
  std::map<FileId, Version> open_;    // seen to change since Take
  std::int64_t seen_ = 0;             // changes
};

}  // namespace idleburn

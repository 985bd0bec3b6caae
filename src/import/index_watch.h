#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "telemetry/device.h"
#include "telemetry/sample.h"

namespace idleburn {

// Watches a log that knows its GPUs by index alone. Where a GPU falls off the bus, or comes back, the driver numbers
// those behind it anew: the last index is then missing, or new, and any other may mean another GPU than before. Such a
// log is refused, unless the memory in use shows that the GPU of the last index itself is what was lost.
class IndexWatch {
 public:
  // `devices` has the indices, and outlives the watch.
  explicit IndexWatch(const DeviceTable& devices) : devices_(devices) {}

  // Rows in the order of the log; `line` is that of the first.
  void OnSample(const Sample& sample, std::int64_t line);
  void OnColumns(const SampleColumns& rows, std::int64_t line);

  // At the end of the log: an error if an index may have meant two GPUs.
  [[nodiscard]] Result<void> Verdict(const std::string& file) const;

 private:
  // So many rows of a GPU without the other make a loss: a sweep that is cut short, or two writers of one file that
  // are a little apart, make fewer.
  static constexpr std::int64_t kSurely = 5;

  struct Known {
    std::int64_t rows = 0;
    Instant surely;  // time of row kSurely
    Instant last;
    std::optional<std::int64_t> memory;  // in use, bytes
    std::optional<std::int64_t> total;
    // Since the last row of the highest index, if `sweep` is the present one:
    std::int64_t sweep = 0;
    std::int64_t rows_after = 0;
    std::optional<std::int64_t> memory_before;
    std::optional<std::int64_t> memory_after;
  };
  struct Event {
    std::int64_t line = 0;  // 0: there was none
    int index = 0;
    Instant time;
  };

  void OnNewHighest(int index, Instant time, std::int64_t line);
  void OnLower(Known& known, Instant time, std::int64_t line);
  void CheckTotal(Known& known, std::int64_t total, int index, std::int64_t line);
  [[nodiscard]] bool Lost() const;
  [[nodiscard]] bool Came() const;
  [[nodiscard]] bool OthersStayed() const;

  const DeviceTable& devices_;
  std::vector<Known> known_;  // by index
  std::int64_t sweep_ = 0;    // rows of the highest index so far
  Instant last_of_highest_;
  std::int64_t line_after_ = 0;  // of the first row after it
  Event came_;                   // a highest index that was not there from the start
  Event other_board_;            // an index that has the size of memory that another had
};

}  // namespace idleburn

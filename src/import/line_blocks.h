#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"

namespace idleburn {

// Parsing one log on several threads: the input is cut into blocks of lines, workers parse blocks at once, and deliver
// them in input order.

// A run of whole lines. `text` ends with '\n' (added where the input's last line lacks it); kPad bytes before and
// after it may be read, so that a scanner may look around without bounds checks.
struct LineBlock {
  static constexpr std::size_t kPad = 64;
  std::vector<char> buffer;
  std::size_t size = 0;
  bool terminated = true;  // false: the input's last line had no '\n'

  [[nodiscard]] std::string_view text() const { return {buffer.data() + kPad, size}; }
};

// Parses one block at a time. Several workers parse different blocks at once; what must happen in the order of
// the input happens in Deliver.
class LineBlockWorker {
 public:
  // Waits until every earlier block has been delivered; until the worker's own Deliver it alone may touch what
  // the workers share. False: the import has failed, and Parse is to return.
  class Turn {
   public:
    Turn() = default;
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    virtual ~Turn() = default;
    virtual bool Await() = 0;
  };

  LineBlockWorker() = default;
  LineBlockWorker(const LineBlockWorker&) = delete;
  LineBlockWorker& operator=(const LineBlockWorker&) = delete;
  virtual ~LineBlockWorker() = default;
  virtual void Parse(const LineBlock& block, Turn& turn) = 0;
  // In order of the input, one at a time. An error ends the import.
  virtual Result<void> Deliver() = 0;
  // Lines of all blocks delivered so far, by whichever worker: places what cannot be cut into a block.
  [[nodiscard]] virtual std::int64_t LinesDelivered() const = 0;
};

// Reads `in` in blocks and gives them to the workers on so many threads (one: this thread alone). With more workers
// than threads no thread waits for the turn of a block that it has parsed early. A line longer than 256 KiB is an
// error.
Result<void> ForEachLineBlock(ByteSource& in, int threads,
                              const std::vector<std::unique_ptr<LineBlockWorker>>& workers);

}  // namespace idleburn

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"

namespace idleburn {

// Parsing one log on several threads: the input is cut into blocks of lines, workers parse blocks at once, and
// deliver them in input order. The result is therefore the same for every number of threads. Only nvidia-smi CSV is
// read this way.

// A run of whole lines. `text` ends with '\n' (added where the input's last line lacks it). kPad bytes before and
// after it may be read, so that a scanner may look around without bounds checks.
struct LineBlock {
  static constexpr std::size_t kPad = 64;
  std::vector<char> buffer;
  std::size_t size = 0;
  bool terminated = true;  // false: the input's last line had no '\n'

  [[nodiscard]] std::string_view text() const { return {buffer.data() + kPad, size}; }
};

// Parses one block at a time. Several workers parse different blocks at once, so Parse may only touch what belongs to
// its worker. What must happen in the order of the input, such as entering devices, happens in Deliver, or in Parse
// after Turn::Await.
class LineBlockWorker {
 public:
  // Await waits until every earlier block has been delivered. From then until the worker's own Deliver, only this
  // worker may touch what the workers share. Await returns false if the import has failed; Parse must then return.
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
  // Parses a block and keeps the result for Deliver.
  virtual void Parse(const LineBlock& block, Turn& turn) = 0;
  // Passes on what Parse kept. Called in input order, one worker at a time. An error ends the import.
  virtual Result<void> Deliver() = 0;
  // The number of lines of all blocks delivered so far, by any worker. It gives the place of a line that is too long
  // for a block.
  [[nodiscard]] virtual std::int64_t LinesDelivered() const = 0;
};

// Reads `in` in blocks and gives them to the workers, on `threads` threads including the caller's. Give more workers
// than threads: a worker keeps its parsed block until its turn, and its thread needs another one meanwhile. A line
// longer than 256 KiB is an error. If several blocks fail, the first error in input order is returned.
Result<void> ForEachLineBlock(ByteSource& in, int threads,
                              const std::vector<std::unique_ptr<LineBlockWorker>>& workers);

}  // namespace idleburn

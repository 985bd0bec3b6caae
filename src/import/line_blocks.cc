#include "import/line_blocks.h"

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace idleburn {
namespace {

// How much is read at once. A block of this size stays in a core's cache while it is parsed.
constexpr std::size_t kReadSize = std::size_t{1} << 17;
// A longer line is an error, because a binary file or a file of another kind would otherwise fill the memory.
constexpr std::size_t kMaxLine = std::size_t{1} << 18;

const void* FindLast(const char* data, char c, std::size_t size) { return memrchr(data, c, size); }

// Cuts the input into blocks at line ends, numbered in order. Threads take turns here.
class Cutter {
 public:
  explicit Cutter(ByteSource& in) : in_(in) {}

  // Fills the next block. False at the end, and after an error. *number counts from 0. What follows the last line end
  // of a read is carried over to the next block.
  Result<bool> Next(LineBlock& block, std::uint64_t* number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    *number = count_;
    if (done_) return false;
    block.buffer.resize(kMaxLine + 2 * kReadSize + 2 * LineBlock::kPad);
    char* const text = block.buffer.data() + LineBlock::kPad;
    std::size_t size = carry_.size();
    std::memcpy(text, carry_.data(), size);
    carry_.clear();
    const char* cut = nullptr;
    while (cut == nullptr && !done_) {
      if (size >= kMaxLine) {
        line_too_long_ = true;
        done_ = true;  // no thread may continue behind an error
        return Fail("a line is longer than " + std::to_string(kMaxLine) +
                    " bytes; this is not a log of the expected kind");
      }
      const Result<std::size_t> got = in_.Read(std::span(text + size, kReadSize));
      done_ = !got || *got == 0;
      if (!got) return tl::unexpected<Error>(got.error());
      cut = static_cast<const char*>(FindLast(text + size, '\n', *got));
      size += *got;
    }
    // The last line of the input, which has no line end of its own.
    if (cut == nullptr) {
      if (size == 0) return false;
      block.terminated = false;
      text[size++] = '\n';
    } else {
      block.terminated = true;
      const std::size_t whole = static_cast<std::size_t>(cut - text) + 1;
      carry_.assign(text + whole, size - whole);
      size = whole;
    }
    block.size = size;
    std::memset(text + size, 0, LineBlock::kPad);
    ++count_;
    return true;
  }

  // Adds the place to an error of Next about a line that is too long.
  [[nodiscard]] Error Placed(Error error, std::int64_t line) const {
    if (line_too_long_) error.message = in_.name() + ":" + std::to_string(line) + ": " + error.message;
    return error;
  }

 private:
  ByteSource& in_;
  std::mutex mutex_;
  bool line_too_long_ = false;
  std::string carry_;
  std::uint64_t count_ = 0;
  bool done_ = false;
};

// Keeps deliveries in order. No thread waits for its turn: it leaves a parsed block here, takes a spare worker and
// parses the next block. The thread that leaves the block whose turn it is delivers that block and those behind it. A
// thread that waited instead would idle whenever one block takes longer than the others.
class Sequence {
 public:
  explicit Sequence(const std::vector<std::unique_ptr<LineBlockWorker>>& workers) {
    for (const auto& worker : workers) spare_.push_back(worker.get());
  }

  // Takes a spare worker. Null if the import failed.
  LineBlockWorker* Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !spare_.empty() || error_; });
    if (error_) return nullptr;
    LineBlockWorker* const worker = spare_.back();  // the last one used is still in a cache
    spare_.pop_back();
    return worker;
  }

  // Says that the worker has parsed the block of that number. Delivers outside the lock, so that other threads can
  // leave and take workers meanwhile; `delivering_` keeps them from delivering too.
  void Leave(std::uint64_t number, LineBlockWorker* worker) {
    std::unique_lock<std::mutex> lock(mutex_);
    parsed_.emplace(number, worker);
    if (delivering_) return;
    delivering_ = true;
    for (auto first = parsed_.begin(); first != parsed_.end() && first->first == next_ && !error_;) {
      LineBlockWorker* const turn = first->second;
      parsed_.erase(first);
      lock.unlock();
      Result<void> delivered = turn->Deliver();
      lock.lock();
      if (!delivered) error_ = delivered.error();
      ++next_;
      spare_.push_back(turn);
      changed_.notify_all();
      first = parsed_.begin();
    }
    delivering_ = false;
  }

  // Waits until all earlier blocks are delivered. False if the import failed.
  bool Await(std::uint64_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return next_ == number || error_; });
    return !error_;
  }

  // Ends the import. Threads notice at their next call.
  void FailWith(Error error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    error_ = std::move(error);
    changed_.notify_all();
  }
  [[nodiscard]] std::optional<Error> error() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return error_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LineBlockWorker*> spare_;
  std::map<std::uint64_t, LineBlockWorker*> parsed_;  // by block number
  std::uint64_t next_ = 0;                            // the next block to deliver
  bool delivering_ = false;
  std::optional<Error> error_;  // the first
};

// The turn of one block, as its worker sees it.
class MyTurn final : public LineBlockWorker::Turn {
 public:
  MyTurn(Sequence& sequence, std::uint64_t number) : sequence_(sequence), number_(number) {}
  bool Await() override { return sequence_.Await(number_); }

 private:
  Sequence& sequence_;
  std::uint64_t number_;
};

// Each thread runs this until the input ends or the import fails.
void Work(Cutter& cutter, Sequence& sequence) {
  LineBlock block;
  while (LineBlockWorker* const worker = sequence.Take()) {
    std::uint64_t number = 0;
    const Result<bool> more = cutter.Next(block, &number);
    MyTurn turn(sequence, number);
    if (!more) {
      // Earlier blocks are delivered first, so the first error in the input wins.
      if (turn.Await()) sequence.FailWith(cutter.Placed(more.error(), worker->LinesDelivered() + 1));
      return;
    }
    if (!*more) return;
    worker->Parse(block, turn);
    sequence.Leave(number, worker);
  }
}

}  // namespace

Result<void> ForEachLineBlock(ByteSource& in, int threads,
                              const std::vector<std::unique_ptr<LineBlockWorker>>& workers) {
  Cutter cutter(in);
  Sequence sequence(workers);
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([&cutter, &sequence] { Work(cutter, sequence); });
    Work(cutter, sequence);
  }
  if (std::optional<Error> error = sequence.error()) return tl::unexpected<Error>(std::move(*error));
  return {};
}

}  // namespace idleburn

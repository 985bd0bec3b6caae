#include "import/line_blocks.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

namespace idleburn {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 15;  // what is parsed from it stays in a core's cache
constexpr std::size_t kMaxLine = std::size_t{1} << 18;

const void* FindLast(const char* data, char c, std::size_t size) { return memrchr(data, c, size); }

// Cuts the input into blocks at line ends, numbered in order.
class Cutter {
 public:
  explicit Cutter(ByteSource& in) : in_(in) {}

  // The next block, or nullopt at the end; *number counts from 0.
  Result<bool> Next(LineBlock& block, std::uint64_t* number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    *number = count_;
    if (done_) return false;
    block.buffer.resize(kMaxLine + 2 * kBlock + 2 * LineBlock::kPad);
    char* const text = block.buffer.data() + LineBlock::kPad;
    std::size_t size = carry_.size();
    std::memcpy(text, carry_.data(), size);
    carry_.clear();
    const char* cut = nullptr;
    while (cut == nullptr && !done_) {
      if (size >= kMaxLine) {
        line_too_long_ = true;
        return Fail("a line is longer than " + std::to_string(kMaxLine) +
                    " bytes; this is no log of the expected kind");
      }
      const Result<std::size_t> got = in_.Read(std::span(text + size, kBlock));
      if (!got) return tl::unexpected<Error>(got.error());
      done_ = *got == 0;
      cut = static_cast<const char*>(FindLast(text + size, '\n', *got));
      size += *got;
    }
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

  // The error of Next with the place of the line that was too long.
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

// Whose turn it is to deliver, and the first error.
class Sequence {
 public:
  void Await(std::uint64_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return next_ == number || failed_; });
  }
  void Advance() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++next_;
    }
    changed_.notify_all();
  }
  void FailWith(Error error) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::move(error);
      failed_ = true;
    }
    changed_.notify_all();
  }
  [[nodiscard]] bool failed() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return failed_;
  }
  std::optional<Error> error_;  // read after the threads have ended

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  bool failed_ = false;
};

class MyTurn final : public LineBlockWorker::Turn {
 public:
  MyTurn(Sequence& sequence, std::uint64_t number) : sequence_(sequence), number_(number) {}
  void Await() override { sequence_.Await(number_); }

 private:
  Sequence& sequence_;
  std::uint64_t number_;
};

void Work(Cutter& cutter, Sequence& sequence, LineBlockWorker& worker) {
  LineBlock block;
  while (!sequence.failed()) {
    std::uint64_t number = 0;
    const Result<bool> more = cutter.Next(block, &number);
    MyTurn turn(sequence, number);
    if (!more) {
      turn.Await();  // what came before is delivered first, so the first error in the input wins
      sequence.FailWith(cutter.Placed(more.error(), worker.LinesDelivered() + 1));
      return;
    }
    if (!*more) return;
    worker.Parse(block, turn);
    turn.Await();
    if (sequence.failed()) return;
    const Result<void> delivered = worker.Deliver();
    if (!delivered) {
      sequence.FailWith(delivered.error());
      return;
    }
    sequence.Advance();
  }
}

}  // namespace

Result<void> ForEachLineBlock(ByteSource& in, const std::vector<std::unique_ptr<LineBlockWorker>>& workers) {
  Cutter cutter(in);
  Sequence sequence;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < workers.size(); ++i) {
      threads.emplace_back([&cutter, &sequence, &worker = *workers[i]] { Work(cutter, sequence, worker); });
    }
    Work(cutter, sequence, *workers.front());
  }
  if (sequence.error_) return tl::unexpected<Error>(*sequence.error_);
  return {};
}

}  // namespace idleburn

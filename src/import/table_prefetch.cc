#include "import/table_prefetch.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace idleburn {
namespace {

constexpr std::size_t kAhead = 8;  // chunks of 2,048 rows

class Prefetch final : public TableStream {
 public:
  explicit Prefetch(std::unique_ptr<TableStream> stream) : stream_(std::move(stream)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Fetch(stop); });
  }

  [[nodiscard]] const std::vector<StreamColumn>& columns() const override { return stream_->columns(); }

  Result<std::unique_ptr<TableChunk>> Next() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty(); });
    auto chunk = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_one();
    return chunk;
  }

 private:
  // Ends with the stream's end or error, which is the last that is delivered.
  void Fetch(const std::stop_token& stop) {
    bool more = true;
    while (more) {
      Result<std::unique_ptr<TableChunk>> chunk = stream_->Next();
      more = chunk && *chunk != nullptr;
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return ready_.size() < kAhead; })) return;
      ready_.push_back(std::move(chunk));
      changed_.notify_one();
    }
  }

  std::unique_ptr<TableStream> stream_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Result<std::unique_ptr<TableChunk>>> ready_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<TableStream> Prefetched(std::unique_ptr<TableStream> stream) {
  return std::make_unique<Prefetch>(std::move(stream));
}

}  // namespace idleburn

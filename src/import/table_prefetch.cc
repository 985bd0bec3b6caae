#include "import/table_prefetch.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace idleburn {
namespace {

// Chunks of 2,048 rows that change hands at once: handing over wakes a thread up, which costs as much as a chunk or
// two. Three such batches are held: one being filled, one that waits, one in use.
constexpr std::size_t kBatch = 16;

class Prefetch final : public TableStream {
 public:
  explicit Prefetch(std::unique_ptr<TableStream> stream) : stream_(std::move(stream)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Fetch(stop); });
  }

  [[nodiscard]] const std::vector<StreamColumn>& columns() const override { return stream_->columns(); }

  Result<std::unique_ptr<TableChunk>> Next() override {
    if (taken_.empty()) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !ready_.empty(); });
      taken_.swap(ready_);
      lock.unlock();
      changed_.notify_one();
    }
    auto chunk = std::move(taken_.front());
    taken_.pop_front();
    return chunk;
  }

 private:
  using Batch = std::deque<Result<std::unique_ptr<TableChunk>>>;

  // Ends with the stream's end or error, which is the last that is delivered.
  void Fetch(const std::stop_token& stop) {
    bool more = true;
    while (more && !stop.stop_requested()) {
      Batch batch;
      while (more && batch.size() < kBatch && !stop.stop_requested()) {
        batch.push_back(stream_->Next());
        more = batch.back() && *batch.back() != nullptr;
      }
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return ready_.empty(); })) return;
      ready_ = std::move(batch);
      lock.unlock();
      changed_.notify_one();
    }
  }

  std::unique_ptr<TableStream> stream_;
  Batch taken_;  // of the reader
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Batch ready_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<TableStream> Prefetched(std::unique_ptr<TableStream> stream) {
  return std::make_unique<Prefetch>(std::move(stream));
}

}  // namespace idleburn

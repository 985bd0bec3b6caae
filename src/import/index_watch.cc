#include "import/index_watch.h"

#include <algorithm>
#include <cstdlib>

namespace idleburn {
namespace {

// `percent` of the larger one, at most.
bool Within(std::int64_t a, std::int64_t b, std::int64_t percent) {
  return std::abs(a - b) <= std::max(a, b) / 100 * percent;
}

std::optional<std::int64_t> ValueOf(const Sample& sample, Signal signal) {
  return sample.Has(signal) ? std::optional(sample.Get(signal)) : std::nullopt;
}

}  // namespace

void IndexWatch::OnSample(const Sample& sample, std::int64_t line) {
  const std::optional<int> index = devices_[sample.device].index;
  if (!index) return;
  const auto at = static_cast<std::size_t>(*index);
  if (at >= known_.size()) OnNewHighest(*index, sample.time, line);
  Known& known = known_[at];
  if (known.sweep != sweep_) {
    known.sweep = sweep_;
    known.rows_after = 0;
    known.memory_before = known.memory;
    known.memory_after.reset();
  }
  if (++known.rows == kSurely) known.surely = sample.time;
  known.last = std::max(known.last, sample.time);
  if (const auto used = ValueOf(sample, Signal::kMemoryUsed)) known.memory = used;
  if (const auto total = ValueOf(sample, Signal::kMemoryTotal)) CheckTotal(known, *total, *index, line);
  if (at + 1 < known_.size()) return OnLower(known, sample.time, line);
  ++sweep_;
  last_of_highest_ = std::max(last_of_highest_, sample.time);
  line_after_ = 0;
}

// Of rows in which the highest index comes again and again only the last sweeps matter.
void IndexWatch::OnColumns(const SampleColumns& rows, std::int64_t line) {
  const auto is_highest = [&](std::size_t row) {
    return devices_[rows.devices[row]].index == static_cast<int>(known_.size()) - 1;
  };
  std::size_t from = rows.rows;
  while (from > 0 && !is_highest(from - 1)) --from;
  from -= std::min(from, 2 * known_.size());
  Sample sample;
  for (std::size_t row = from; row < rows.rows; ++row) {
    rows.Get(row, sample);
    OnSample(sample, line + static_cast<std::int64_t>(row));
  }
}

void IndexWatch::OnNewHighest(int index, Instant time, std::int64_t line) {
  const bool late =
      std::any_of(known_.begin(), known_.end(), [&](const Known& k) { return k.rows >= kSurely && k.surely < time; });
  if (late && came_.line == 0) came_ = {line, index, time};
  known_.resize(static_cast<std::size_t>(index) + 1);
}

void IndexWatch::OnLower(Known& known, Instant time, std::int64_t line) {
  if (time <= last_of_highest_) return;
  if (line_after_ == 0) line_after_ = line;
  if (++known.rows_after == kSurely) known.memory_after = known.memory;
}

// The size of a board's memory changes little, by what a driver keeps for itself; that of another GPU tells it.
void IndexWatch::CheckTotal(Known& known, std::int64_t total, int index, std::int64_t line) {
  if (!known.total) known.total = total;
  if (Within(*known.total, total, 10) || other_board_.line > 0) return;
  const bool of_another = std::any_of(known_.begin(), known_.end(),
                                      [total](const Known& k) { return k.total && Within(*k.total, total, 2); });
  if (of_another) other_board_ = {line, index, {}};
}

// A GPU that was there before the highest index was last read, and long after.
bool IndexWatch::Lost() const {
  return std::any_of(known_.begin(), known_.end(), [&](const Known& k) {
    return k.sweep == sweep_ && k.rows_after >= kSurely && k.rows > k.rows_after;
  });
}

bool IndexWatch::Came() const {
  return came_.line > 0 && std::any_of(known_.begin(), known_.end() - 1, [&](const Known& k) {
           return k.rows >= kSurely && k.surely < came_.time && k.last > came_.time;
         });
}

// Had a GPU before the last one been lost, the last one's memory would now be that of the index before.
bool IndexWatch::OthersStayed() const {
  if (known_.size() < 2) return false;
  const Known& highest = known_.back();
  const Known& before = known_[known_.size() - 2];
  return before.sweep == sweep_ && highest.memory && before.memory_before && before.memory_after &&
         Within(*before.memory_before, *before.memory_after, 2) && !Within(*before.memory_before, *highest.memory, 10);
}

Result<void> IndexWatch::Verdict(const std::string& file) const {
  const auto refuse = [&](std::int64_t line, int index, const std::string& what) {
    return Fail(file + ":" + std::to_string(line) + ": GPU " + std::to_string(index) + what +
                ": the indices moved, or may have, and no other column tells the GPUs apart; audit the rows before " +
                "this line alone, and record uuid");
  };
  if (other_board_.line > 0)
    return refuse(other_board_.line, other_board_.index, " has the size of memory here that another had");
  if (Came()) return refuse(came_.line, came_.index, " is not in the rows before, while others are");
  if (known_.empty() || !Lost() || OthersStayed()) return {};
  return refuse(line_after_, static_cast<int>(known_.size()) - 1, " is not in the rows from here on, while others are");
}

}  // namespace idleburn

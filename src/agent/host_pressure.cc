#include "agent/host_pressure.h"

#include <algorithm>

#include "classify/cause_limits.h"

namespace idleburn {
namespace {

// Samples farther apart do not tell in which second tasks waited.
constexpr std::int64_t kFarthestNs = 2 * kNanosPerSecond;
constexpr std::size_t kMostSeconds = 16;  // the agent counts seconds two seconds after their end

}  // namespace

HostPressure::Second& HostPressure::At(std::int64_t second) {
  if (seconds_.empty() || seconds_.back().second != second) {
    const bool no_core = !free_cores_ || *free_cores_ < kCoreToSpare;
    seconds_.push_back({second, 0, 0, no_core});
    if (seconds_.size() > kMostSeconds) seconds_.pop_front();
  }
  return seconds_.back();
}

// Spreads a rise evenly over the time between two samples. They are at most two seconds apart, so the seconds between
// them are the newest.
void HostPressure::Spread(std::int64_t rise_ns, std::int64_t from_ns, std::int64_t to_ns, std::int64_t Second::*into) {
  if (rise_ns <= 0 || to_ns <= from_ns) return;
  for (Second& each : seconds_) {
    const std::int64_t begin = std::max(from_ns, each.second * kNanosPerSecond);
    const std::int64_t end = std::min(to_ns, (each.second + 1) * kNanosPerSecond);
    if (begin >= end) continue;
    const double part = static_cast<double>(end - begin) / static_cast<double>(to_ns - from_ns);
    each.*into += static_cast<std::int64_t>(part * static_cast<double>(rise_ns));
  }
}

void HostPressure::Feed(const HostSample& sample, std::int64_t utc_ns) {
  if (last_ns_ && utc_ns <= *last_ns_) {
    // The clock was set back: begin anew.
    if (*last_ns_ - utc_ns > kFarthestNs) *this = HostPressure();
    return;
  }
  if (sample.Has(HostSignal::kCpuTime)) {
    const std::int64_t busy = sample.Get(HostSignal::kCpuTime);
    free_cores_.reset();
    if (busy_ && sample.Has(HostSignal::kCpus) && utc_ns > (*busy_)[1]) {
      const double used = static_cast<double>(busy - (*busy_)[0]) / static_cast<double>(utc_ns - (*busy_)[1]);
      free_cores_ = static_cast<double>(sample.Get(HostSignal::kCpus)) - used;
    }
    busy_ = {busy, utc_ns};
  }
  const bool near = last_ns_ && utc_ns - *last_ns_ <= kFarthestNs;
  const std::int64_t from = near ? *last_ns_ : utc_ns;
  for (std::int64_t s = FloorSecond(from); near && s <= FloorSecond(utc_ns); ++s) {
    if (s > forgotten_ && (seconds_.empty() || seconds_.back().second < s)) At(s);
  }
  const auto rise = [&](HostSignal signal, std::optional<std::int64_t>* last, std::int64_t Second::*into) {
    if (sample.Lacks(signal)) last->reset();
    if (!sample.Has(signal)) return;
    if (near && *last) Spread(sample.Get(signal) - **last, from, utc_ns, into);
    *last = sample.Get(signal);
  };
  rise(HostSignal::kPsiCpuSome, &last_cpu_, &Second::cpu_some_ns);
  rise(HostSignal::kPsiIoFull, &last_io_, &Second::io_full_ns);
  last_ns_ = utc_ns;
}

PressedSecond HostPressure::Take(std::int64_t second) {
  forgotten_ = second;
  while (!seconds_.empty() && seconds_.front().second < second) seconds_.pop_front();
  if (seconds_.empty() || seconds_.front().second != second) return {};
  const Second each = seconds_.front();
  seconds_.pop_front();
  constexpr auto kOne = static_cast<double>(kNanosPerSecond);
  return {each.no_core && static_cast<double>(each.cpu_some_ns) >= kMuchCpuWait * kOne,
          static_cast<double>(each.io_full_ns) >= kIoFull * kOne};
}

}  // namespace idleburn

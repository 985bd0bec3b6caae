#include "diagnose/host_means.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

constexpr double kReadOver = 0.5;  // of the chosen time, for a mean of it to be told

// Weighted sums of a scope over the chosen time.
class Sums {
 public:
  Sums(const HostTimeline& timeline, HostScope scope, ChosenTimes chosen) {
    SecondBuckets<HostBucket> host = timeline.Of(scope);
    while (host.bucket_seconds < chosen.bucket_seconds) host.Coarsen();
    while (chosen.bucket_seconds < host.bucket_seconds) chosen.Coarsen();
    const double width = static_cast<double>(chosen.bucket_seconds) * static_cast<double>(kNanosPerSecond);
    for (std::size_t i = 0; i < chosen.buckets.size(); ++i) {
      const ChosenTime& part = chosen.buckets[i];
      if (part.ns == 0) continue;
      const double weight = static_cast<double>(part.ns) / static_cast<double>(part.observed);
      wanted_ += weight * width;
      const std::int64_t at = chosen.first + static_cast<std::int64_t>(i) - host.first;
      if (at < 0 || at >= static_cast<std::int64_t>(host.buckets.size())) continue;
      const HostBucket& bucket = host.buckets[static_cast<std::size_t>(at)];
      for (std::size_t s = 0; s < kHostSignalCount; ++s) {
        ns_[s] += weight * static_cast<double>(bucket.sum[s].ns);
        amount_[s] += weight * static_cast<double>(bucket.sum[s].amount);
      }
    }
  }

  // Of a counter of nanoseconds, or of a number of things: the mean. Of a counter of bytes: bytes a nanosecond.
  [[nodiscard]] std::optional<double> Mean(HostSignal signal) const {
    const double ns = ns_[Index(signal)];
    if (ns <= 0 || ns < kReadOver * wanted_) return std::nullopt;
    return amount_[Index(signal)] / ns;
  }
  [[nodiscard]] std::optional<double> PerSecond(HostSignal signal) const {
    const std::optional<double> mean = Mean(signal);
    return mean ? std::optional(*mean * static_cast<double>(kNanosPerSecond)) : std::nullopt;
  }

 private:
  double wanted_ = 0;
  std::array<double, kHostSignalCount> ns_{};
  std::array<double, kHostSignalCount> amount_{};
};

std::optional<double> AsShare(std::optional<double> value) {
  return value ? std::optional(std::clamp(*value, 0.0, 1.0)) : std::nullopt;
}

// Of the workers' time; without workers of the job's, if that is a share of the time that passed too: many threads that
// each wait a little are no thread that waits.
std::optional<double> WaitingShare(const Sums& job, HostSignal of_workers, HostSignal of_job) {
  const double workers = job.Mean(HostSignal::kWorkerTime).value_or(0);
  if (workers > 0) {
    const std::optional<double> waiting = job.Mean(of_workers);
    return waiting ? AsShare(*waiting / workers) : std::nullopt;
  }
  const std::optional<double> waiting = job.Mean(of_job);
  if (!waiting) return std::nullopt;
  double wanted = 0;
  for (const HostSignal part : {HostSignal::kCpuTime, HostSignal::kCpuWait, HostSignal::kBlockedTime}) {
    wanted += job.Mean(part).value_or(0);
  }
  return wanted <= 0 ? 0.0 : AsShare(std::min(*waiting, *waiting / wanted));
}

// CPUs that stood idle and that the job may use: on the machine, and within its quota and affinity.
std::optional<double> FreeCpus(const Sums& machine, const Sums& job) {
  std::optional<double> least;
  for (const Sums* scope : {&machine, &job}) {
    const std::optional<double> cpus = scope->Mean(HostSignal::kCpus);
    const std::optional<double> busy = scope->Mean(HostSignal::kCpuTime);
    if (!cpus || !busy) continue;
    const double free = std::max(0.0, *cpus - *busy);
    least = std::min(least.value_or(free), free);
  }
  return least;
}

}  // namespace

HostEvidence MeansOver(const HostTimeline& host, const ChosenTimes& chosen) {
  const Sums machine(host, HostScope::kMachine, chosen);
  const Sums job(host, HostScope::kWorkload, chosen);
  const auto pressure = [&](HostSignal signal) {
    const std::optional<double> own = job.Mean(signal);
    return AsShare(own ? own : machine.Mean(signal));
  };
  HostEvidence e;
  const double workers = job.Mean(HostSignal::kWorkerTime).value_or(0);
  if (const std::optional<double> on_cpu = job.Mean(HostSignal::kWorkerCpuTime); on_cpu && workers > 0) {
    e.worker_on_cpu = AsShare(*on_cpu / workers);
  }
  e.run_queue_wait = WaitingShare(job, HostSignal::kWorkerCpuWait, HostSignal::kCpuWait);
  e.d_state = WaitingShare(job, HostSignal::kWorkerBlockedTime, HostSignal::kBlockedTime);
  e.psi_cpu_some = pressure(HostSignal::kPsiCpuSome);
  e.psi_io_some = pressure(HostSignal::kPsiIoSome);
  e.psi_io_full = pressure(HostSignal::kPsiIoFull);
  e.psi_memory_full = pressure(HostSignal::kPsiMemoryFull);
  e.cpus_free = FreeCpus(machine, job);
  e.read_bytes_rate = job.PerSecond(HostSignal::kReadBytes);
  e.read_chars_rate = job.PerSecond(HostSignal::kReadChars);
  e.write_bytes_rate = job.PerSecond(HostSignal::kWriteBytes);
  e.cpu_throttled = AsShare(job.Mean(HostSignal::kThrottledTime));
  return e;
}

}  // namespace idleburn

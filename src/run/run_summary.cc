#include "run/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/figures.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::size_t kMaxNotes = 50;

// The mean rate of a counter, in its unit per second. Absent if it was read only once.
std::optional<double> PerSecond(const HostUse& use, HostSignal signal) {
  const std::optional<std::int64_t>& change = use.change[Index(signal)];
  if (!change || use.watched() <= Nanos(0)) return std::nullopt;
  return static_cast<double>(*change) / InSeconds(use.watched());
}

// How many CPUs were busy: "3.2 of 8 CPUs". Over less than 0.1 s it is unknown, because the kernel counts CPU time
// in hundredths of a second.
std::string Cores(const HostUse& use) {
  constexpr Nanos kShortest(100'000'000);  // the kernel counts in hundredths of a second, and late
  const std::optional<double> busy = PerSecond(use, HostSignal::kCpuTime);
  const std::optional<std::int64_t>& cpus = use.most[Index(HostSignal::kCpus)];
  if (!busy || use.watched() < kShortest) return "unknown";
  if (!cpus) return ThreeDigits(*busy / 1e9) + " CPUs";
  return fmt::format("{} of {} CPUs", ThreeDigits(std::min(*busy / 1e9, static_cast<double>(*cpus))), *cpus);
}
// A counter of nanoseconds as a share of the time: "12.0 %". It exceeds 100 % if several threads wait at once.
std::string Share(const HostUse& use, HostSignal signal) {
  const std::optional<double> share = PerSecond(use, signal);
  return share ? PercentText(*share / 1e9) : "unknown";
}
// A counter of bytes as a rate: "4.1 MB/s".
std::string Bytes(const HostUse& use, HostSignal signal) {
  const std::optional<double> rate = PerSecond(use, signal);
  return rate ? DecimalBytes(*rate) + "/s" : "unknown";
}

// The work of all ranks together.
WorkCount Together(const std::map<std::int32_t, WorkMark>& marks) {
  WorkCount all;
  for (const auto& [rank, mark] : marks) all.AddRank(mark.done);
  return all;
}

}  // namespace

// The change of a counter needs two readings. A counter that was read once has none, and not 0.
void RunSummary::OnHost(std::span<const HostSample> samples) {
  for (const HostSample& sample : samples) {
    host_.Add(sample);
    statistics_.Add(sample);
    Scope& scope = scopes_[static_cast<std::size_t>(sample.scope)];
    if (!std::exchange(scope.seen, true)) scope.use.first = sample.time;
    scope.use.last = std::max(scope.use.last, sample.time);
    for (const HostSignalInfo& info : kHostSignals) {
      if (!sample.Has(info.id)) continue;
      const std::size_t i = Index(info.id);
      const std::int64_t value = sample.Get(info.id);
      if (info.counter) {
        if (scope.first[i]) scope.use.change[i] = value - *scope.first[i];  // of one reading nothing is known
        if (!scope.first[i]) scope.first[i] = value;
      } else {
        scope.use.most[i] = std::max(value, scope.use.most[i].value_or(value));
      }
    }
  }
}

void RunSummary::OnNote(const Note& note) {
  const bool known = std::any_of(notes_.begin(), notes_.end(),
                                 [&](const Note& n) { return n.kind == note.kind && n.text == note.text; });
  if (!known && notes_.size() < kMaxNotes) notes_.push_back(note);
}

std::optional<HostUse> RunSummary::Use(HostScope scope) const {
  const Scope& found = scopes_[static_cast<std::size_t>(scope)];
  return found.seen ? std::optional(found.use) : std::nullopt;
}

WorkCount RunSummary::Work() const { return Together(marks_); }

// A mark without work takes back what the rank said before, for example when markers replace printed lines.
void RunSummary::OnWork(const WorkMark& mark) {
  marks_[mark.rank] = mark;
  if (mark.done.any()) {
    first_marks_.try_emplace(mark.rank, mark);
  } else {
    first_marks_.erase(mark.rank);
  }
}

std::optional<WorkPace> RunSummary::Pace() const {
  if (first_marks_.empty()) return std::nullopt;
  const auto earlier = [](const auto& a, const auto& b) { return a.second.time < b.second.time; };
  const Instant from = std::min_element(first_marks_.begin(), first_marks_.end(), earlier)->second.time;
  const Instant to = std::max_element(marks_.begin(), marks_.end(), earlier)->second.time;
  if (to <= from) return std::nullopt;
  return WorkPace{to - from, Together(marks_).Beyond(Together(first_marks_))};
}

std::string DescribeUse(const HostUse& use, HostScope scope) {
  std::string text = fmt::format("{} over {}: on CPU {}", kHostScopeNames[static_cast<std::size_t>(scope)],
                                 DurationForPeople(use.watched()), Cores(use));
  if (scope == HostScope::kWorkload) {
    text += fmt::format(", waiting for a CPU {}, blocked {}", Share(use, HostSignal::kCpuWait),
                        Share(use, HostSignal::kBlockedTime));
  }
  text += fmt::format("; storage read {} written {}", Bytes(use, HostSignal::kReadBytes),
                      Bytes(use, HostSignal::kWriteBytes));
  if (scope == HostScope::kMachine) {
    text +=
        fmt::format("; network in {} out {}", Bytes(use, HostSignal::kNetReceived), Bytes(use, HostSignal::kNetSent));
  }
  // The kernel counts pressure per control group, which may contain more than the workload.
  text += scope == HostScope::kWorkload ? "; its control group: pressure" : "; pressure";
  text += fmt::format(" cpu {} io {} memory {}", Share(use, HostSignal::kPsiCpuSome),
                      Share(use, HostSignal::kPsiIoFull), Share(use, HostSignal::kPsiMemoryFull));
  const std::optional<std::int64_t>& memory = use.most[Index(HostSignal::kMemoryUsed)];
  text += ", memory at most " + (memory ? BinaryBytes(static_cast<double>(*memory)) : "unknown");
  return text;
}

}  // namespace idleburn

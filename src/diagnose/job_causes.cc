#include "diagnose/job_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "text/figures.h"

namespace idleburn {
namespace {

// From this share of a rank's window on a cause of that rank alone is named.
constexpr double kMaterialOfRank = 0.03;

// Adds a budget to the sum of others. Medians are weighted by kernels, which is close where the ranks run the same
// code.
void AddBudget(const TraceBudget& b, TraceBudget& sum) {
  sum.span.end += b.span.Ns();
  sum.busy_ns += b.busy_ns;
  sum.compute_ns += b.compute_ns;
  sum.comm_ns += b.comm_ns;
  sum.comm_overlap_ns += b.comm_overlap_ns;
  sum.exposed_comm_ns += b.exposed_comm_ns;
  sum.copy_ns += b.copy_ns;
  sum.exposed_copy_ns += b.exposed_copy_ns;
  sum.idle_ns += b.idle_ns;
  sum.in_launch_call_ns += b.in_launch_call_ns;
  for (std::size_t c = 0; c < kIdleClasses; ++c) (*sum.idle_by_class)[c] += (*b.idle_by_class)[c];
  const auto before = static_cast<double>(sum.kernels.count);
  const auto more = static_cast<double>(b.kernels.count);
  if (more > 0) sum.kernels.median_ns += (b.kernels.median_ns - sum.kernels.median_ns) * more / (before + more);
  sum.kernels.count += b.kernels.count;
  for (const CopyFigures& copy : b.copies) {
    const auto same = std::find_if(sum.copies.begin(), sum.copies.end(), [&](const CopyFigures& c) {
      return std::tie(c.kind, c.from, c.to) == std::tie(copy.kind, copy.from, copy.to);
    });
    if (same == sum.copies.end()) {
      sum.copies.push_back(copy);
      continue;
    }
    same->count += copy.count;
    same->ns += copy.ns;
    same->bytes += copy.bytes;
  }
}

// The mean of a figure over the ranks that have it.
template <typename Of>
std::optional<double> MeanOf(std::span<const RankWindow> ranks, Of of) {
  double sum = 0;
  double count = 0;
  for (const RankWindow& rank : ranks) {
    const std::optional<double> value = of(rank.trace);
    if (!value) continue;
    sum += *value;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

// All ranks' windows side by side, as one.
DeviceTrace SideBySide(std::span<const RankWindow> ranks) {
  DeviceTrace all;
  all.profile = ranks.front().trace.profile;
  all.device = ranks.front().trace.device;
  all.window = ranks.front().trace.window;
  all.budget.window = all.window;
  all.budget.idle_by_class.emplace();
  for (const RankWindow& rank : ranks) {
    const DeviceTrace& t = rank.trace;
    AddBudget(t.budget, all.budget);
    all.time = Sum(all.time, t.time);
    all.first_step = Sum(all.first_step, t.first_step);
    all.steps.insert(all.steps.end(), t.steps.begin(), t.steps.end());
    all.allocations += t.allocations;
    all.launch_gaps += t.launch_gaps;
    all.largest_launch_gap_ns += t.largest_launch_gap_ns;
  }
  all.htod_median_bytes = MeanOf(ranks, [](const DeviceTrace& t) { return t.htod_median_bytes; });
  all.launch_distance_ns = MeanOf(ranks, [](const DeviceTrace& t) { return t.launch_distance_ns; });
  return all;
}

// What the ranks waited for each other, together.
PeerWait AllWaits(std::span<const RankWindow> ranks) {
  PeerWait all = ranks.front().peers;
  for (const RankWindow& rank : ranks.subspan(1)) {
    all.matched = std::min(all.matched, rank.peers.matched);
    all.unmatched += rank.peers.unmatched;
    all.unmatched_ns += rank.peers.unmatched_ns;
    all.own_ns += rank.peers.own_ns;
    all.transfer_ns += rank.peers.transfer_ns;
  }
  return all;
}

// "by rank: 31.6 % (rank 1) to 68.2 % (rank 7)": how much of each rank's window is time of these traits.
std::string RangeOverRanks(std::span<const RankWindow> ranks, const TimeSet& time) {
  const auto share = [&](const RankWindow& r) { return r.trace.budget.Share(r.trace.time.Like(time).TotalNs()); };
  const auto [least, most] = std::minmax_element(
      ranks.begin(), ranks.end(), [&](const RankWindow& a, const RankWindow& b) { return share(a) < share(b); });
  return fmt::format("by rank: {} (rank {}) to {} (rank {}) of its window", PercentText(share(*least)), least->rank,
                     PercentText(share(*most)), most->rank);
}

// The waits of each rank, so that nobody has to take the name of the late one on trust.
std::string WaitsByRank(std::span<const RankWindow> ranks) {
  std::string text;
  for (const RankWindow& r : ranks) {
    text += fmt::format("{}rank {} last in {}, waited {}, made others wait {}", text.empty() ? "" : "; ", r.rank,
                        r.peers.last_in, DurationForPeople(Nanos(r.peers.WaitedNs())),
                        DurationForPeople(Nanos(r.peers.caused_ns)));
  }
  return text;
}

// A cause that some ranks have and the job has not.
struct SomeRanks {
  Finding finding;
  double bound_ns = 0;
  std::string ranks;
};

// Adds what holds on some ranks only. Time that a cause of the job claims is not told twice.
void AddSomeRanks(std::span<const RankWindow> ranks, const TimeSet& claimed, std::int64_t windows_ns,
                  std::vector<Finding>& findings) {
  std::map<std::string_view, SomeRanks> some;
  for (const RankWindow& r : ranks) {
    for (const Finding& f : r.alone.findings) {
      const bool of_job =
          std::any_of(findings.begin(), findings.end(), [&](const Finding& g) { return g.cause == f.cause; });
      if (of_job || f.cause == "unknown" || f.cause == "healthy") continue;
      TimeSet time;
      for (const TraceClaim& claim : r.alone.claims) {
        if (claim.cause == f.cause) time = Union(time, claim.time);
      }
      const std::int64_t ns = Difference(time, claimed).TotalNs();
      if (r.trace.budget.Share(ns) < kMaterialOfRank) continue;
      const auto [at, is_new] = some.try_emplace(f.cause, SomeRanks{f, 0, {}});
      SomeRanks& row = at->second;
      if (is_new) row.finding.gpu_ns = 0;
      if (!is_new) row.finding.evidence.push_back(f.evidence.front());
      row.finding.gpu_ns += ns;
      row.bound_ns += f.share > 0 ? f.bound / f.share * static_cast<double>(ns) : 0;
      row.ranks += (row.ranks.empty() ? "" : ", ") + std::to_string(r.rank);
    }
  }
  for (auto& [cause, row] : some) {
    Finding& f = row.finding;
    f.share = static_cast<double>(f.gpu_ns) / static_cast<double>(windows_ns);
    f.bound = row.bound_ns / static_cast<double>(windows_ns);
    f.title +=
        row.ranks.find(',') == std::string::npos ? " (rank " + row.ranks + " only)" : " (ranks " + row.ranks + " only)";
    f.evidence.emplace_back("the other ranks do not show it; the share is of all ranks' windows");
    findings.push_back(std::move(f));
  }
}

}  // namespace

std::vector<Finding> FindJobCauses(std::span<const RankWindow> ranks) {
  const DeviceTrace all = SideBySide(ranks);
  const PeerWait waits = AllWaits(ranks);
  StepStatistics steps = ranks.front().steps;
  for (const RankWindow& rank : ranks) steps.noise = std::max(steps.noise, rank.steps.noise);
  const std::string whose = fmt::format("{} ranks together", ranks.size());
  TraceScene scene{all, steps, &waits};
  scene.ranks = std::ssize(ranks);
  scene.whose = whose;
  TraceVerdict verdict = FindTraceCauses(scene);
  TimeSet claimed;
  for (const TraceClaim& claim : verdict.claims) {
    claimed = Union(claimed, claim.time);
    const auto finding = std::find_if(verdict.findings.begin(), verdict.findings.end(),
                                      [&](const Finding& f) { return f.cause == claim.cause; });
    finding->evidence.push_back(RangeOverRanks(ranks, claim.time));
    if (claim.cause == "straggler_or_dependency") finding->evidence.push_back(WaitsByRank(ranks));
  }
  AddSomeRanks(ranks, claimed, all.budget.span.Ns(), verdict.findings);
  return std::move(verdict.findings);
}

}  // namespace idleburn

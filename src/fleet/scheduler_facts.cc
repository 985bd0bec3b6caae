#include "fleet/scheduler_facts.h"

#include <algorithm>
#include <array>
#include <map>

#include "os/input_file.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Upper ends of the bins of the histogram, in seconds. Longer waits are in a last bin.
constexpr std::array<std::int64_t, 6> kWaitBins = {10, 60, 300, 900, 3600, 14400};

// The smallest value that at least `percent` of the sorted values do not exceed (nearest rank).
std::int64_t NearestRank(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

FleetQueueWait QueueWaitOf(std::vector<std::int64_t> seconds) {
  std::sort(seconds.begin(), seconds.end());
  FleetQueueWait wait;
  wait.jobs = static_cast<std::int64_t>(seconds.size());
  wait.p50_s = NearestRank(seconds, 50);
  wait.p95_s = NearestRank(seconds, 95);
  auto begin = seconds.begin();
  for (const std::int64_t end : kWaitBins) {
    const auto next = std::upper_bound(begin, seconds.end(), end);
    wait.histogram.emplace_back(end, next - begin);
    begin = next;
  }
  wait.histogram.emplace_back(-1, seconds.end() - begin);
  return wait;
}

}  // namespace

Result<JobTimes> ReadJobList(const std::string& path, const ImportOptions& options, DataQuality* quality) {
  JobTimes jobs;
  PeekSource source(TRY(OpenInput(path)));
  const std::string_view head = TRY(source.Peek(kSniffBytes));
  if (!SniffJobTimes(head)) {
    return Fail(path + ": not a list of jobs; give sacct -P, squeue --json or CSV with job,start,end,user");
  }
  TRY(ReadJobTimes(source, options, *quality, &jobs));
  return jobs;
}

void AddSchedulerFacts(const JobTimes& jobs, FleetReport* report) {
  std::vector<std::int64_t> waits;
  for (const JobTimes::Wait& wait : jobs.waits()) {
    const std::int64_t began = FloorSecond(wait.began);
    if (began >= report->from && began < report->to) waits.push_back(FloorSecond(wait.waited));
  }
  if (!waits.empty()) report->kpi.queue_wait = QueueWaitOf(std::move(waits));
  std::map<std::string, std::int64_t> ended;
  for (const FleetOwner& job : report->jobs) {
    const JobTimes::Who* who = jobs.WhoRan(job.name);
    if (who == nullptr || who->state.empty()) continue;
    // "CANCELLED by 1000" is one state.
    ended[Lower(who->state.substr(0, who->state.find(' ')))] += job.time.TotalMs();
  }
  report->kpi.ended_ms.assign(ended.begin(), ended.end());
}

}  // namespace idleburn

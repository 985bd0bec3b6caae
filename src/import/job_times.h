#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/input_file.h"
#include "telemetry/data_quality.h"

namespace idleburn {

struct ImportOptions;

// When a scheduler says that jobs ran. Labels of exporters outlive jobs: a mapping file that nobody removed, a pod that
// stays listed after its end. Where the scheduler's own list is given beside the telemetry, a job owns a GPU only while
// it ran.
class JobTimes {
 public:
  // [from, to) in nanoseconds; a job that is requeued runs again under the same id.
  struct Run {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };
  static constexpr std::int64_t kStillRunning = INT64_MAX;

  // Runs that overlap become one: a job that takes GPUs on several nodes has a row for each.
  void Add(const std::string& job, Run run);
  // In order of time; null for a job that the list does not name, of which nothing is known.
  [[nodiscard]] const std::vector<Run>* Of(std::string_view job) const;
  [[nodiscard]] bool empty() const { return jobs_.empty(); }

 private:
  std::map<std::string, std::vector<Run>, std::less<>> jobs_;
};

// Whether the first bytes of an input look like a scheduler's list of jobs:
//   sacct -P         columns JobID, Start, End (State and others may stand beside them)
//   squeue --json    {"jobs": [{"job_id": ..., "job_state": ...}]}; slurmrestd writes the same
//   CSV              columns job, start, end, and one of node, user, team, gpus
bool SniffJobTimes(std::string_view head);

// Adds the jobs of such a list. Times without a zone are of --timezone, else UTC, and that is counted. A job that has
// not begun has no run; one without an end still runs. In squeue's JSON the end of a running job is its time limit and
// no end. A row whose times cannot be read is counted and left out, so that its job is not bounded.
Result<void> ReadJobTimes(PeekSource& in, const ImportOptions& options, DataQuality& quality, JobTimes* jobs);

}  // namespace idleburn

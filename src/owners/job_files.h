#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "owners/node_gpu.h"

namespace idleburn {

// Files that a prolog of the scheduler writes and its epilog removes, one for each GPU that a job holds.
enum class JobFileForm : std::uint8_t {
  kIdleburn,  // named by UUID; "jobid start_epoch uid"
  kDcgm,      // dcgm-exporter --hpc-job-mapping-dir: named "<index>" or "<index>.<GI>"; one job id per line
  kJobstats   // jobstats /run/gpustat: named by index or UUID; "jobid uid"
};
struct JobFolder {
  std::string path;
  JobFileForm form = JobFileForm::kIdleburn;
};

// One line of such a file.
struct FiledJob {
  std::string id;
  std::optional<Instant> start;
  std::optional<std::uint32_t> user;
};
// The jobs in the text of a file; none if it is empty. A line twice counts once. Absent if the text has another form.
std::optional<std::vector<FiledJob>> ParseJobFile(std::string_view text, JobFileForm form);
// The device that a file's name means. Null if the name has another form or no device has it.
const NodeGpu* GpuOfJobFile(std::string_view name, JobFileForm form, std::span<const NodeGpu> gpus);

// What tells whether a file still means a living job.
struct JobFileSigns {
  Instant now;
  std::optional<Instant> boot;                                     // files written before it are of another boot
  const std::set<std::string>* held = nullptr;                     // UUIDs of devices with a process
  const std::map<std::string, bool, std::less<>>* jobs = nullptr;  // numbers of jobs with a control group
};

// Reads the folders again at each call. No age makes such a file stale, so dcgm-exporter goes on billing a dead job if
// an epilog did not run. Therefore a file counts no longer when it is older than the boot, or when the job's control
// group was absent for 60 s and no process holds the device.
//
// Hidden files, links, files above 4 kB and anything that is no plain file are not read; all but hidden ones are
// counted as errors.
class JobFiles {
 public:
  explicit JobFiles(std::vector<JobFolder> folders) : folders_(std::move(folders)) {}
  [[nodiscard]] bool used() const { return !folders_.empty(); }
  // The claims of all files. Raw ids are ids of jobs; users are numbers. Incomplete if a folder cannot be read.
  SourceAnswer Read(const JobFileSigns& signs, std::span<const NodeGpu> gpus);

 private:
  // Whether the file's job shows no sign of life for too long.
  bool IsStale(const std::string& key, const FiledJob& job, const std::string& uuid, const JobFileSigns& signs);
  void ReadFolder(const JobFolder& folder, const JobFileSigns& signs, std::span<const NodeGpu> gpus,
                  SourceAnswer* answer);

  std::vector<JobFolder> folders_;
  std::map<std::string, Instant> lifeless_since_;  // by file and job, as of the last Read
  std::map<std::string, Instant> lifeless_now_;    // the same, of this Read
};

}  // namespace idleburn

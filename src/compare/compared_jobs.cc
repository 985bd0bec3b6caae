#include "compare/compared_jobs.h"

#include <cmath>

#include "audit/document_ids.h"
#include "os/digest.h"
#include "os/input_file.h"
#include "verify/reversion.h"

namespace idleburn {

namespace {

Result<std::vector<JobPair>> ReadJobs(const std::string& path) {
  const std::unique_ptr<ByteSource> file = TRY(OpenInput(path));
  return ReadJobsCsv(*file);
}

Result<ReversionReading> ReadingOf(const std::string& path, const std::vector<JobPair>& jobs, double level) {
  const std::optional<ReversionReading> reading = ReadReversion(jobs, level);
  if (reading) return *reading;
  return Fail(path + ": needs a selected job, and 3 untouched ones that differ in `before`, to say what to expect");
}

}  // namespace

Result<ReversionReport> ReadComparedJobs(const std::string& path, double level) {
  const std::vector<JobPair> jobs = TRY(ReadJobs(path));
  const ReversionReading reading = TRY(ReadingOf(path, jobs, level));
  const std::string hash = TRY(Sha256OfFile(path));
  return ReversionReport{path, hash, level, reading, IDLEBURN_VERSION, OwnIds()};
}

Result<ExpectedReversion> ReadExpectedReversion(const std::string& path) {
  std::vector<JobPair> jobs = TRY(ReadJobs(path));
  for (JobPair& job : jobs) {
    if (job.first <= 0 || job.second <= 0) {
      return Fail(path + ": has a value that is not above 0; beside runs it holds the work of each job a GPU-hour");
    }
    // The comparison is about GPU time per work, the reciprocal of the file's values; as logarithms they differ in
    // sign.
    job.first = -std::log(job.first);
    job.second = -std::log(job.second);
  }
  // The expectation is used with its error, and the comparison has a level of its own.
  constexpr double kAnyLevel = 0.95;
  const ReversionReading reading = TRY(ReadingOf(path, jobs, kAnyLevel));
  return AsExpected(reading);
}

}  // namespace idleburn

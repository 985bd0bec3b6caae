#include "cli/compared_jobs.h"

#include "os/input_file.h"
#include "os/sha256.h"
#include "verify/jobs_csv.h"

namespace idleburn {

Result<ReversionReport> ReadComparedJobs(const std::string& path, double level) {
  const Result<std::unique_ptr<ByteSource>> file = OpenInput(path);
  if (!file) return tl::unexpected<Error>(file.error());
  const Result<std::vector<JobPair>> jobs = ReadJobsCsv(**file);
  if (!jobs) return tl::unexpected<Error>(jobs.error());
  const std::optional<ReversionReading> reading = ReadReversion(*jobs, level);
  if (!reading) {
    return Fail(path + ": needs a selected job, and 3 untouched ones that differ in `before`, to say what to expect");
  }
  const Result<std::string> hash = Sha256OfFile(path);
  if (!hash) return tl::unexpected<Error>(hash.error());
  return ReversionReport{path, *hash, level, *reading, IDLEBURN_VERSION};
}

Result<std::string> JobsDocument(const ReversionReport& report, ReportFormat format, int width, bool color) {
  switch (format) {
    case ReportFormat::kText:
      return PageText(ReversionPage(report), width, color);
    case ReportFormat::kJson:
      return ReversionJson(report);
    case ReportFormat::kHtml:
      return PageHtml(ReversionPage(report));
    case ReportFormat::kMarkdown:
      return PageMarkdown(ReversionPage(report));
    case ReportFormat::kCsv:
      break;
  }
  return FailUsage("compare: --format of --jobs is text, json, html or markdown");
}

}  // namespace idleburn

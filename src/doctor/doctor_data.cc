// The checks of the data set of --data, and of the run that read it.
#include <fmt/format.h>

#include "doctor/doctor_checks.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSmallFile = 128 * kKibiByte;
constexpr std::size_t kManyFiles = 1000;
constexpr double kNearly = 0.8;  // of what storage delivers: a run that reads so much waits for it

std::string Size(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

CheckVerdict NotAsked(const char* flag) {
  return {CheckStatus::kSkipped, fmt::format("not asked for; idleburn doctor {}", flag), {}};
}

std::string Described(const ReadSpeed& speed) { return fmt::format("{:.1f} MB/s", speed.BytesPerSecond() / 1e6); }

}  // namespace

CheckVerdict JudgeDataFiles(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.storage) return NotAsked("--data PATH");
  if (!*readings.storage)
    return {CheckStatus::kFailure, readings.storage->error().message, "name a path that can be read"};
  const StorageProbe& probe = **readings.storage;
  const DataFiles& data = probe.data;
  const std::string& path = readings.question.probe.path;
  if (data.files.empty())
    return {CheckStatus::kFailure, path + ": holds no file", "name the folder or file of the data"};
  std::string evidence =
      fmt::format("{}: {}{} file{}, {} in all, median {}", path, data.all ? "" : "at least ", data.files.size(),
                  data.files.size() == 1 ? "" : "s", Size(static_cast<double>(data.bytes)),
                  Size(static_cast<double>(data.MedianBytes())));
  if (data.links > 0) evidence += fmt::format("; {} links not followed", data.links);
  if (probe.unreadable + data.closed > 0) {
    const std::string first = probe.first_fault.empty() ? "" : " (" + probe.first_fault + ")";
    return {CheckStatus::kWarning,
            evidence + fmt::format("; {} of the sample cannot be opened{}", probe.unreadable + data.closed, first),
            "run as the user who reads the data"};
  }
  if (data.files.size() >= kManyFiles && data.MedianBytes() < kSmallFile) {
    return {CheckStatus::kWarning, evidence + ": many small files",
            "pack them into a few large ones (sharded_reads): a file costs an open and a seek however small it is"};
  }
  return {CheckStatus::kOk, evidence, {}};
}

CheckVerdict JudgeDataSpeed(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.storage) return NotAsked("--data PATH");
  if (!*readings.storage || (*readings.storage)->data.files.empty()) {
    return {CheckStatus::kSkipped, "nothing to read", {}};
  }
  const StorageProbe& probe = **readings.storage;
  const ReadSpeeds& sequential = probe.speeds[0];
  const std::string warm = sequential.warm.unknown.empty() ? "warm " + Described(sequential.warm)
                                                           : "warm unknown: " + sequential.warm.unknown;
  if (!sequential.cold.unknown.empty()) {
    return {CheckStatus::kWarning, "cold unknown: " + sequential.cold.unknown + "; " + warm,
            "name data on a disk or a network file system, as their owner, after sync"};
  }
  std::string evidence =
      fmt::format("read in order, {} threads: cold {}, {}", probe.threads, Described(sequential.cold), warm);
  for (std::size_t i = 1; i < kReadWays.size(); ++i) {
    const ReadSpeed& cold = probe.speeds[i].cold;
    const std::string what = fmt::format("; cold blocks of {} KiB at random ", kReadWays[i].block / kKibiByte);
    evidence += what + (cold.unknown.empty() ? fmt::format("{:.0f} a second", cold.ReadsPerSecond())
                                             : "unknown: " + cold.unknown);
  }
  return {CheckStatus::kOk, evidence, {}};
}

CheckVerdict JudgeDataRun(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.run_reads) return NotAsked("--data PATH --run RECORDING");
  if (!*readings.run_reads) {
    return {CheckStatus::kFailure, readings.run_reads->error().message, "name a recording of idleburn run or record"};
  }
  const RunReads& run = **readings.run_reads;
  if (!run.storage) {
    return {CheckStatus::kWarning, "what the run read from storage is unknown (read_bytes)",
            "record it as the workload's user or as root"};
  }
  const std::string_view of = kHostScopeNames[static_cast<std::size_t>(run.scope)];
  std::string evidence = fmt::format("the run read {:.1f} MB/s", *run.storage / 1e6);
  const std::string counter = fmt::format(" (read_bytes of the {}, mean of {:.1f} s)", of, InSeconds(run.watched));
  if (run.asked && *run.asked > 2 * *run.storage) {
    evidence += fmt::format(" of the {:.1f} MB/s it asked for (the rest came from the page cache, pipes or sockets),",
                            *run.asked / 1e6);
  }
  const bool known = readings.storage && *readings.storage && (*readings.storage)->speeds[0].cold.unknown.empty();
  if (!known) {
    return {CheckStatus::kWarning, evidence + "; what this path delivers cold is unknown" + counter, "see data_speed"};
  }
  const ReadSpeed& cold = (*readings.storage)->speeds[0].cold;
  evidence += fmt::format(" of {:.1f} MB/s this path delivers", cold.BytesPerSecond() / 1e6) + counter;
  if (*run.storage < kNearly * cold.BytesPerSecond()) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence + ": it waits for storage",
          "faster_storage, sharded_reads, prefetch, or cache_dataset where it fits"};
}

}  // namespace idleburn

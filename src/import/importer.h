#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "base/time.h"
#include "os/input_file.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"
#include "telemetry/sample.h"
#include "text/time_zone.h"

namespace idleburn {

// The seam between files and analysis. A format is one row of Importers(): a sniff function that recognizes an input
// by its first bytes, and an import function that turns the input into samples. The commands that read logs
// (audit/open_input.h) pick the row; import/formats.h declares the functions behind the rows.
//
// An importer must hold to three things. It streams, because a log may be larger than memory; only formats that must
// be parsed as one JSON document are held whole, up to kMaxJsonBytes. It counts doubtful data in DataQuality instead
// of skipping it silently. And it fails with a message that tells the user what to do, rather than deliver figures
// that may be wrong.

// The clock behind a source's stamps. Wall clocks can be set, so rows that go back in time may be a step of the
// clock; monotonic stamps cannot. kNone: the format never carries times, so its importer counts periods from --start,
// or from the start of 1970.
enum class ClockDomain : std::uint8_t { kWall, kMonotonic, kNone };

// The full scale of a percent field, where the user gives it with --unit: kHundred for "percent", kOne for "ratio".
enum class PercentUnit : std::uint8_t { kHundred, kOne };

// When a scheduler says that jobs ran. Job labels of exporters outlive jobs: a mapping file stays behind, or a pod is
// still listed after its end. With the scheduler's own list, a job owns a GPU only while the job ran. OwnerTimeline
// applies it.
class JobTimes {
 public:
  // [from, to) in nanoseconds. A requeued job runs again under the same id.
  struct Run {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };
  static constexpr std::int64_t kStillRunning = INT64_MAX;
  // Who ran a job, as far as the list has such columns. Empty: not told.
  struct Who {
    std::string user;
    std::string team;  // sacct calls it Account
    std::string experiment;
    std::string state = {};  // how it ended: "COMPLETED", "FAILED", "CANCELLED by 1000"
  };
  // How long a run waited in the queue before it began, both in nanoseconds.
  struct Wait {
    std::int64_t began = 0;
    std::int64_t waited = 0;
  };

  // Overlapping runs become one, because a job on several nodes has a row for each node.
  void Add(const std::string& job, Run run);
  // The runs of a job in time order. Null if the list does not name the job, so that nothing is known about it.
  [[nodiscard]] const std::vector<Run>* Of(std::string_view job) const;
  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  // The first row of a job that names somebody counts. Null if no row does.
  void Name(const std::string& job, Who who);
  [[nodiscard]] const Who* WhoRan(std::string_view job) const;
  // Of runs whose list tells when they were submitted or became eligible, in its order.
  void AddWait(Wait wait) { waits_.push_back(wait); }
  [[nodiscard]] const std::vector<Wait>& waits() const { return waits_; }

 private:
  std::map<std::string, std::vector<Run>, std::less<>> jobs_;
  std::map<std::string, Who, std::less<>> who_;
  std::vector<Wait> waits_;
};

// The latest time that a stamp may tell, in nanoseconds since 1970: the year 2096. Sums of two stay in range.
inline constexpr std::int64_t kLatestStampNs = 4'000'000'000 * kNanosPerSecond;

// How the user asked to read the inputs: the flags of a command, parsed. An option that a format has no use for is
// ignored by its importer.
struct ImportOptions {
  std::optional<TimeZone> timezone;            // of stamps without a zone; absent: UTC, which is counted
  std::map<std::string, std::string> columns;  // --columns role=column[:unit] (time, gpu, util, power, memory)
  std::map<std::string, std::string> hosts;    // NODE=FILE, by file: the host of GPUs whose input names none
  std::map<std::string, PercentUnit> units;    // --unit [NAME=]ratio|percent, by name; "": of all others
  std::string metric;                          // --metric: name of series that carry none
  std::optional<Nanos> period;                 // --period: between two readings of one GPU
  std::optional<Nanos> max_gap;                // --max-gap: how long a reading holds; absent: 2.5 periods
  std::optional<Instant> start;                // --start: of the first reading of a log without times
  RunWindow window;                            // --window of an audit: the time that was rented
  std::optional<int> gpus;                     // --gpus: rows of a sweep, in a log that names no GPU
  std::string gpu_model;                       // --gpu-model: of GPUs that no input names
  std::optional<std::int64_t> power_limit_mw;  // --power-limit: of GPUs without a limit in any input
  JobTimes jobs;                               // from a scheduler's list among the inputs
  int threads = 1;
};

class HostWatch;
class RecordedHosts;

// Where an importer puts what it reads. Everything it refers to outlives the import. Several inputs of one run share
// the devices, the quality counts and the owners, so that a GPU named in two files is one device.
struct ImportTarget {
  DeviceTable& devices;
  DataQuality& quality;
  OwnerLedger& owners;
  SampleSink& sink;
  LiveSink* beside = nullptr;         // takes what a recording holds besides samples; null: dropped
  HostWatch* hosts = nullptr;         // shared by all inputs; null: the importer uses its own
  RecordedHosts* recorded = nullptr;  // shared by all inputs; null: not collected

  // A copy whose samples go to `other`.
  [[nodiscard]] ImportTarget WithSink(SampleSink& other) const {
    return {devices, quality, owners, other, beside, hosts, recorded};
  }
};

// One offline format. Importers stream: memory does not grow with the number of readings.
struct Importer {
  std::string_view name;  // "nvidia-smi CSV"
  ClockDomain clock;
  bool in_order;    // rows come in time order, so a lone input is classified without sorting
  bool by_columns;  // only for inputs that --columns applies to
  // True if the first bytes of an input (up to kSniffBytes, decompressed) look like this format. Importers are asked
  // in turn, so a sniff need not exclude the formats that come before its own.
  bool (*sniff)(std::string_view head);
  // Reads `in` to its end and pushes what it holds to `out`. On failure, samples that were already pushed stay
  // pushed; the caller drops the whole run.
  Result<void> (*import)(ByteSource& in, const ImportOptions& options, ImportTarget& out);
};
// How much of an input the sniff functions see.
inline constexpr std::size_t kSniffBytes = 65536;

// All formats, most specific first. The first whose sniff says yes reads the input.
std::span<const Importer> Importers();

// Advice for an input that no importer takes: what it seems to be, and what to give instead. For example,
// nvidia-smi's human-readable table gets the query command that records CSV. The advice completes a sentence that
// starts with the file's name ("is a web page, ..."). Empty if nothing is known.
std::string_view MistakenFor(std::string_view head);

// The same for archives and double compression. Asked first, because a tar archive of a log begins like the log.
std::string_view ArchiveFor(std::string_view head);

// Whether an input looks like a scheduler's list of jobs:
//   sacct -P         columns JobID, Start, End, and at least one of State, Node, User and the like
//   squeue --json    {"jobs": [{"job_id": ..., "job_state": ...}]}; slurmrestd writes the same
//   CSV              columns job, start, end, and one of node, user, team, gpus
bool SniffJobTimes(std::string_view head);

// Adds the jobs of such a list to `jobs`. Times without a zone use --timezone, else UTC, which is counted. A job that
// has not begun has no run, and a job without an end still runs. For a running job squeue's JSON gives the time limit
// as the end, which is ignored. A row whose times cannot be read is counted and skipped, so its job is not bounded.
//
//     JobID|Start|End|State
//     40017|2026-07-03T22:00:00|2026-07-03T23:00:00|COMPLETED   ->   job 40017 ran for one hour
Result<void> ReadJobTimes(PeekSource& in, const ImportOptions& options, DataQuality& quality, JobTimes* jobs);

}  // namespace idleburn

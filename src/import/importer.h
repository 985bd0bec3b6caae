#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "base/time.h"
#include "import/job_times.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"
#include "telemetry/sample.h"
#include "text/time_zone.h"

namespace idleburn {

// Which clock stamps a source's rows.
enum class ClockDomain : std::uint8_t { kWall, kMonotonic, kNone };

// What a percent field counts up to, where the user says it.
enum class PercentUnit : std::uint8_t { kHundred, kOne };

// How the user told us to read inputs.
struct ImportOptions {
  std::optional<TimeZone> timezone;            // of stamps without a zone; absent: UTC, and said so
  std::map<std::string, std::string> columns;  // --columns role=column[:unit] (time, gpu, util, power, memory)
  std::map<std::string, std::string> hosts;    // NODE=FILE: by file, the machine of its GPUs where it names none
  std::map<std::string, PercentUnit> units;    // --unit [NAME=]ratio|percent, by name; "": of all others
  std::string metric;                          // --metric: of series that carry no name of their own
  std::optional<Nanos> period;                 // --period: between two readings of one GPU
  std::optional<Nanos> max_gap;                // --max-gap: how long a reading holds
  std::optional<Instant> start;                // --start: of the first reading of a log without times
  RunWindow window;                            // --window, of an audit: what was rented
  std::optional<int> gpus;                     // --gpus: rows of a sweep, in a log that names no GPU
  std::string gpu_model;                       // --gpu-model: of GPUs that no input names
  std::optional<std::int64_t> power_limit_mw;  // --power-limit: of GPUs that no input gives one for
  JobTimes jobs;                               // of a scheduler's list beside the inputs: bounds the jobs of labels
  int threads = 1;
};

class HostWatch;
class RecordedHosts;

// Where an importer puts what it reads. All of it outlives the import.
struct ImportTarget {
  DeviceTable& devices;
  DataQuality& quality;
  OwnerLedger& owners;
  SampleSink& sink;
  LiveSink* beside = nullptr;         // what a recording holds besides samples; null: nobody asks
  HostWatch* hosts = nullptr;         // of all inputs; null: this one is watched by itself
  RecordedHosts* recorded = nullptr;  // of all inputs; null: nobody asks

  // The same, but for where samples go.
  [[nodiscard]] ImportTarget WithSink(SampleSink& other) const {
    return {devices, quality, owners, other, beside, hosts, recorded};
  }
};

// One offline format. Streaming: memory does not grow with the input.
struct Importer {
  std::string_view name;  // "nvidia-smi CSV"
  ClockDomain clock;
  bool in_order;    // rows come in order of time, so they need no sorting before they are classified
  bool by_columns;  // for inputs whose columns the user names with --columns
  // True if the first bytes of an input (up to kSniffBytes, decompressed) look like this format.
  bool (*sniff)(std::string_view head);
  Result<void> (*import)(ByteSource& in, const ImportOptions& options, ImportTarget& out);
};
inline constexpr std::size_t kSniffBytes = 65536;

// All formats, most specific first.
std::span<const Importer> Importers();

}  // namespace idleburn

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/run_ids.h"
#include "config/settings.h"
#include "measure/cgroup_files.h"
#include "measure/data_files.h"
#include "measure/live_gpus.h"
#include "measure/sampler.h"
#include "os/folder.h"
#include "price/rate_card.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// What a second or two of measuring told of one GPU.
struct HeardOfGpu {
  std::uint32_t present = 0;  // signals that were read
  std::uint32_t lacking = 0;  // signals that were asked for in vain
  std::array<Unobserved, kSignalCount> reason{};
  std::array<std::int64_t, kSignalCount> last{};
  std::vector<Instant> utilization_at;  // stamps of its utilizations
};

// Of a price list: how many offers, and of which dates.
struct PriceListFacts {
  std::size_t rows = 0;
  std::optional<Instant> oldest;
  std::optional<Instant> newest;
  std::string fault;  // why it cannot be read
};

// What `doctor --data` is asked.
struct DataQuestion {
  StorageProbeSpec probe;  // an empty path: nothing
  std::string run;         // a recording of a run that read the data; empty: none
};

// What a run read from storage, as its recording tells.
struct RunReads {
  HostScope scope = HostScope::kWorkload;
  Nanos watched{0};
  std::optional<double> storage;  // bytes a second fetched from storage (read_bytes)
  std::optional<double> asked;    // bytes a second asked for by read calls (read_chars)
};

// Everything the checks judge, so that they only judge. Each part was really read, written or asked for.
struct DoctorReadings {
  Instant now;
  RunIds ids;  // of the environment

  std::string library_wanted;  // IDLEBURN_NVML_LIBRARY, empty if not set
  std::string library;         // that was loaded; empty: none
  std::size_t functions = 0;   // that are looked for in it
  std::vector<std::string> missing_functions;

  NvidiaState nvidia;
  DeviceTable devices;
  std::vector<HeardOfGpu> gpus;  // by DeviceId
  std::map<std::string, std::string> facts;
  std::vector<Note> notes;
  SamplerStatistics statistics;

  std::array<std::uint32_t, kHostScopeCount> host_present{};
  std::string pid_namespace;  // as the kernel names ours: "pid:[4026531836]"
  CgroupPlaces cgroups;
  std::string clock_source;
  Nanos clock_cost{0};  // of reading the clocks once

  std::string recording_folder;  // empty: the user has none
  FolderProbe folder;
  std::string duckdb_fault;  // empty: it can be used

  PriceListFacts prices;
  std::string provider;  // of this machine, by its firmware; empty: none known
  std::string instance;  // "aws:p5.48xlarge"; empty: not told
  Result<Rate> rate;     // of its GPUs

  DataQuestion question;
  std::optional<Result<StorageProbe>> storage;  // absent: not asked
  std::optional<Result<RunReads>> run_reads;    // absent: not asked
};

// Measures this machine for `span` and looks at everything else the checks need. On the heap: a driver that hangs
// keeps a pointer into it, and never comes back to use it.
std::unique_ptr<DoctorReadings> TakeDoctorReadings(const LiveGpuOptions& gpus, Nanos span, const DataQuestion& data,
                                                   const Settings& settings, Instant now);

}  // namespace idleburn

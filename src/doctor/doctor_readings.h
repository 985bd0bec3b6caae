#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress_watch.h"
#include "base/run_ids.h"
#include "config/settings.h"
#include "doctor/doctor_agent.h"
#include "measure/cgroup_files.h"
#include "measure/data_files.h"
#include "measure/live_gpus.h"
#include "measure/sampler.h"
#include "os/folder.h"
#include "price/rate_book.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// What `idleburn doctor` looks at before it judges. Everything is taken in one place and kept as plain data: the checks
// never touch the machine, and a test can set each field.

// What a second or two of measuring told of one GPU.
struct HeardOfGpu {
  // Signals that were read, and those that were asked for in vain, a bit each.
  std::uint32_t present = 0;
  std::uint32_t lacking = 0;
  // By signal: why it was not read, and its newest value.
  std::array<Unobserved, kSignalCount> reason{};
  std::array<std::int64_t, kSignalCount> last{};
  // The stamps of its utilizations, which tell how often it is renewed.
  std::vector<Instant> utilization_at;
};

// How many offers a price list has, and their dates.
struct PriceListFacts {
  std::size_t rows = 0;
  std::optional<Instant> oldest;
  std::optional<Instant> newest;
  // Why the list cannot be read; empty if it can.
  std::string fault;
};

// What `doctor --data` and `doctor --agent` are asked.
struct DataQuestion {
  // An empty path asks for nothing.
  StorageProbeSpec probe;
  // A recording of a run that read the data; empty: none.
  std::string run;
  // --agent: whether the agent could work here.
  bool agent = false;
};

// What a run read from storage, as its recording tells. Rates are bytes a second, absent where not recorded.
struct RunReads {
  HostScope scope = HostScope::kWorkload;
  Nanos watched{0};
  // Fetched from storage (read_bytes).
  std::optional<double> storage;
  // Asked for by read calls (read_chars).
  std::optional<double> asked;
};

// Everything the checks judge. Each part was really read, written or asked for, and none is a guess.
struct DoctorReadings {
  Instant now;
  // Of the environment.
  RunIds ids;

  // IDLEBURN_NVML_LIBRARY; empty if not set.
  std::string library_wanted;
  // The library that was loaded; empty: none.
  std::string library;
  // How many functions are looked for in it, and which were not found.
  std::size_t functions = 0;
  std::vector<std::string> missing_functions;

  // What was measured, by the same code as `run` and `record` use.
  NvidiaState nvidia;
  DeviceTable devices;
  // By DeviceId.
  std::vector<HeardOfGpu> gpus;
  std::map<std::string, std::string> facts;
  std::vector<Note> notes;
  SamplerStatistics statistics;

  // The signals of the host that were read, a bit each.
  std::array<std::uint32_t, kHostScopeCount> host_present{};
  // As the kernel names ours: "pid:[4026531836]".
  std::string pid_namespace;
  CgroupPlaces cgroups;
  // The clock that the kernel reads, as it names it.
  std::string clock_source;
  // The time of reading the clocks once.
  Nanos clock_cost{0};

  // Where recordings go; empty: the user has no such folder.
  std::string recording_folder;
  // What became of a file that was made in it, and the room that is left.
  FolderProbe folder;
  // Why Parquet cannot be written; empty: it can.
  std::string duckdb_fault;

  // Of the list that is used: the user's or the one that comes with idleburn.
  PriceListFacts prices;
  // The cloud of this machine, by its firmware; empty: none known.
  std::string provider;
  // Its type, as "aws:p5.48xlarge"; empty: not told.
  std::string instance;
  // What its GPUs cost.
  Result<Rate> rate;

  DataQuestion question;
  // Absent where the question did not ask for it.
  std::optional<Result<StorageProbe>> storage;
  std::optional<Result<RunReads>> run_reads;
  std::optional<AgentReadings> agent;
};

// Hears how far the two parts that take time have come. Either may be empty.
struct DoctorWatch {
  ProgressWatch measuring;  // in nanoseconds
  ProgressWatch storage;    // in bytes
};

// Measures this machine for `span` and looks at everything else that the checks need. `now` is the time of the report.
//
// The readings are on the heap: a driver that hangs keeps a pointer into them, and never comes back to use it.
std::unique_ptr<DoctorReadings> TakeDoctorReadings(const LiveGpuOptions& gpus, Nanos span, const DataQuestion& data,
                                                   const Settings& settings, Instant now,
                                                   const DoctorWatch& watch = {});

}  // namespace idleburn

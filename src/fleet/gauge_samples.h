#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fleet/cluster_allocation.h"
#include "fleet/engine.h"
#include "import/importer.h"
#include "os/output_file.h"
#include "telemetry/device.h"

// Gauges of exporters, as an engine stores them, written to files that an audit reads.
namespace idleburn {

// A part of the window that the engine did not answer.
struct MissingGauge {
  std::string metric;
  std::int64_t from = 0;
  std::int64_t to = 0;
  friend bool operator==(const MissingGauge&, const MissingGauge&) = default;
};

// A GPU while one owner held it, as a device of its own.
struct GpuHold {
  DeviceKey gpu;
  std::string owner;  // "job 48211", "pod ml/train-0"; empty: no label named an owner
};

// What was read. The files are deleted with this object.
struct GaugeSamples {
  ScratchFolder folder;
  std::string answers;                  // file with the engine's answers, as they came
  std::vector<std::string> by_owner;    // files with the same utilization, for one device per GPU and owner
  std::map<std::string, GpuHold> held;  // those devices, by their UUID
  std::set<std::string> labelled;       // UUIDs of those whose owner a label of the GPU names
  std::set<std::string> replicas;       // values of the labels that name replicas of an engine
  std::int64_t samples = 0;             // of utilization
  std::vector<MissingGauge> missing;
};

// What to read: samples of these metrics in [from, to), Unix seconds. `jobs` bounds what labels say about jobs,
// `allocation` names owners where no label does.
struct GaugeQuestion {
  std::vector<std::string> metrics;
  std::int64_t from = 0;
  std::int64_t to = 0;
  const JobTimes& jobs;
  const ClusterAllocation& allocation;
};

// The names of metrics that tell how busy GPUs were, and what an audit needs beside them, as the engine has them in the
// window. Fails if it has none.
Result<std::vector<std::string>> GaugesIn(Engine& engine, std::int64_t from, std::int64_t to);

// Reads hour by hour. Memory is that of one answer: one metric of one hour. An hour that the engine refuses is asked
// again in halves, down to 5 minutes. Fails if the engine is gone, gives no answer in time again and again, or has no
// sample of utilization.
Result<GaugeSamples> ReadGauges(Engine& engine, const GaugeQuestion& question);

// Where to cut a part of the window that was too much: half, in whole steps of 5 minutes. Absent: it is one step.
std::optional<std::int64_t> HalfOf(std::int64_t from, std::int64_t to);

// The owner that a series names, for one of its samples. A job owns nothing before its start and after its end in the
// scheduler's list.
std::string OwnerAt(const std::string& owner, std::int64_t time_ns, const JobTimes& jobs);

// A UUID for a GPU while that owner held it.
std::string HeldUuid(const GpuHold& held);

}  // namespace idleburn

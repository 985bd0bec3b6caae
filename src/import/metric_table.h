#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/sample.h"

namespace idleburn {

// The unit a source writes a value in. It belongs to the metric, never to the suffix of its name nor to the size
// of its value: DCGM_FI_DEV_GPU_UTIL_RATIO counts 0-100.
enum class Scale : std::uint8_t {
  kPercentage,  // 0-100
  kRatio,       // 0-1
  kWatt,
  kMilliwatt,
  kMillijoule,
  kJoule,
  kMegahertz,
  kHertz,
  kMebibyte,
  kByte,
  kCelsius,
  kMask,
  kCount,
  kNumber,  // a counter that runs on, an id: no reading of a GPU by itself
  kBytePerSecond,
  kMebibytePerSecond,
  kNvlinkRate,  // DCGM 449: (delta KiB / delta s) / 1000, so 1.024e6 B/s
};

// "W", "ratio"; empty for what nobody else counts in.
std::string_view Name(Scale scale);

// How the source stores the field, which decides what its codes for "no value" look like (dcgm_structs.h).
enum class FieldType : std::uint8_t {
  kPlain,   // has no such codes
  kInt32,   // a 32-bit value in a 64-bit field: the codes of either width
  kInt64,   // 0x7ffffffffffffff0 and up, also after a detour through a double
  kDouble,  // 140737488355328.0 to ...331.0
};

// A value in the signal's own unit, or why it is none.
struct Reading {
  std::int64_t value = 0;
  std::optional<QualityId> doubt;
};

// Reads a number as written. What its unit cannot be (telemetry/sample.h) is kOutOfRange; shares up to 0.5 % of
// their range outside it count as the limit.
Reading ReadScaled(std::string_view text, Scale scale, FieldType type = FieldType::kPlain);

enum class MetricSource : std::uint8_t { kDcgm, kNvidiaSmi, kNvitop, kJobstats, kAllSmi, kDynolog };

// What the importer does with a metric's samples.
enum class MetricRole : std::uint8_t {
  kSignal,         // the value is `signal`
  kNvlinkRate,     // kNvlink; declared a counter, is a rate whose first reading is an empty 0
  kNvlinkPart,     // one direction of kNvlink
  kCyclesElapsed,  // kSmActive is the increase of kCyclesActive over that of kCyclesElapsed
  kCyclesActive,
  kMemoryFree,  // parts of kMemoryTotal, where it is not exported itself
  kMemoryReserved,
  kEventReason,     // whether it holds: a bit of kEventReasons, where the mask is not exported itself
  kXid,             // last code
  kXidCount,        // errors of the code in the label `xid`
  kProcess,         // one process that holds a context, a series each
  kDeviceInfo,      // labels name the device
  kCollectSuccess,  // 0: this scrape repeats old values
  kJobId,           // the value is the Slurm job that holds the device
  kLink,            // of the PCIe link: `field` is its LinkPart (import/link_facts.h)
};

struct Metric {
  std::string_view name;
  MetricSource source;
  MetricRole role;
  Signal signal;
  Scale scale;
  FieldType type;
  // Names of one field are aliases. DCGM: the field id; an event reason's bit; a part of the link; else 0, and the
  // signal tells fields apart.
  std::uint16_t field;
};

// nullptr if unknown. OpenMetrics adds "_total" to the names of counters; either form is found.
const Metric* FindMetric(std::string_view name);
// "<source>.<field>": "dcgm.DCGM_FI_DEV_GPU_UTIL", "nvidia_smi_exporter.utilization_gpu_ratio".
std::string CounterName(const Metric& metric);
// The metric whose CounterName that is; nullptr if there is none.
const Metric* FindCounter(std::string_view counter);

// Whether the exporter itself says which pod holds a GPU, as DCGM's does. The `pod` on a series of any other is the
// exporter's own, which the scrape adds.
bool NamesPods(const Metric& metric);
// Whether each of the exporter's series that is of a GPU names it: others are of the machine.
bool NamesGpus(const Metric& metric);

using Labels = std::vector<std::pair<std::string, std::string>>;

// What the labels of a series say about its device and its owner. Empty fields are not named.
struct SeriesIdentity {
  DeviceKey device;
  std::string owner;  // "job 48211" or "pod ml/train-0"
  std::string xid;
  std::string machine;  // by a label that names one: never a scrape target or a replica
};
// Reads every spelling in use. An empty label is an absent one. `names_pods`: a plain `pod` is the workload's.
SeriesIdentity Identify(const Labels& labels, bool names_pods);

}  // namespace idleburn

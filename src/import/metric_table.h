#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/sample.h"

namespace idleburn {

// The facts about exporters: which metrics they have, in which units, and how labels name devices and owners. A new
// metric is a row of the table in import/metric_table.cc. docs/formats/prometheus.md lists the exporters for users.

// The unit of a source's values. It belongs to the metric and cannot be read from the name or from the size of values:
// DCGM_FI_DEV_GPU_UTIL_RATIO counts 0 to 100.
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
  kNumber,  // a running counter or an id, which is not a reading by itself
  kBytePerSecond,
  kMebibytePerSecond,
  kNvlinkRate,  // DCGM 449: (delta KiB / delta s) / 1000, so 1.024e6 B/s
};

// "W", "ratio". Empty for units that no other source uses.
std::string_view Name(Scale scale);

// How the source stores a field. This decides its codes for "no value" (dcgm_structs.h).
enum class FieldType : std::uint8_t {
  kPlain,   // has no such codes
  kInt32,   // a 32-bit value in a 64-bit field: the codes of either width
  kInt64,   // 0x7ffffffffffffff0 and up, also after a detour through a double
  kDouble,  // 140737488355328.0 to ...331.0
};

// A value in the signal's unit, or why there is none.
struct Reading {
  std::int64_t value = 0;
  std::optional<QualityId> doubt;
};

// Reads a number as written. A value outside its unit's range (telemetry/sample.h) is kOutOfRange, but shares up to
// 0.5 % of the range outside count as the limit. A code for "no value" is kSentinelValue, text is kUnavailableValue.
//
//     ("0.974", kRatio)      ->  97,400,000 micro-percent
//     ("312.5", kWatt)       ->  312,500 mW
Reading ReadScaled(std::string_view text, Scale scale, FieldType type = FieldType::kPlain);

// The exporters whose metrics are known.
enum class MetricSource : std::uint8_t { kDcgm, kNvidiaSmi, kNvitop, kJobstats, kAllSmi, kDynolog };

// What the importer does with values of a metric.
enum class MetricRole : std::uint8_t {
  kSignal,         // the value is `signal`
  kNvlinkRate,     // kNvlink; declared a counter, is a rate whose first reading is an empty 0
  kNvlinkPart,     // one direction of kNvlink
  kCyclesElapsed,  // kSmActive is the increase of kCyclesActive divided by that of kCyclesElapsed
  kCyclesActive,
  kMemoryFree,  // parts of kMemoryTotal, used if that is not exported
  kMemoryReserved,
  kEventReason,     // one bit of kEventReasons, used if the mask is not exported
  kXid,             // the last code
  kXidCount,        // number of errors with the code in the label `xid`
  kProcess,         // one process that holds a context, a series each
  kDeviceInfo,      // labels name the device
  kCollectSuccess,  // 0: this scrape repeats old values
  kJobId,           // the value is the Slurm job that holds the device
  kLink,            // a part of the PCIe link: `field` is its LinkPart
};

// One metric of one exporter. Two exporters may measure one signal in different ways; telemetry/counter_choice.h then
// says which one counts.
struct Metric {
  std::string_view name;
  MetricSource source;
  MetricRole role;
  Signal signal;
  Scale scale;
  FieldType type;
  // Metrics with the same field are aliases. The field is DCGM's field id, an event reason's bit, or a link part. 0 if
  // the signal alone tells fields apart.
  std::uint16_t field;
};

// Every metric that is known.
std::span<const Metric> KnownMetrics();
// Null if unknown. OpenMetrics appends "_total" to names of counters; both forms are found.
const Metric* FindMetric(std::string_view name);
// "<source>.<field>": "dcgm.DCGM_FI_DEV_GPU_UTIL", "nvidia_smi_exporter.utilization_gpu_ratio".
std::string CounterName(const Metric& metric);
// The metric with that CounterName. Null if there is none, as for counters of other formats.
const Metric* FindCounter(std::string_view counter);

// Whether the exporter itself says which pod holds a GPU, as DCGM's does. With any other exporter, a `pod` label is the
// exporter's own pod, which the scrape adds.
bool NamesPods(const Metric& metric);
// Whether every GPU series of the exporter names its GPU. A series that names none then describes the machine.
bool NamesGpus(const Metric& metric);

// The known labels, in every spelling, that say: which GPU it is by its UUID, or by its host, index or bus id; its
// model; which MIG instance; which job of a batch system.
enum class LabelTopic : std::uint8_t { kUuid, kPlace, kModel, kInstance, kJob };
std::vector<std::string> LabelsAbout(LabelTopic topic);

using Labels = std::vector<std::pair<std::string, std::string>>;

// What the labels of a series say about its device and its owner. Unnamed fields are empty. DeviceTable normalizes
// the key.
struct SeriesIdentity {
  DeviceKey device;
  std::string owner;  // "job 48211" or "pod ml/train-0"
  std::string xid;
  std::string machine;  // from a label that names a machine, never a scrape target or replica
};
// Knows every spelling in use. An empty label counts as absent. `names_pods`: a plain `pod` label is the workload's.
SeriesIdentity Identify(const Labels& labels, bool names_pods);

}  // namespace idleburn

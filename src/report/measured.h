#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_report.h"
#include "report/report_page.h"

namespace idleburn {

// One signal with its mean, 95th percentile and peak over the time for which it was read. Every writer prints these
// rows.
//
// On a GPU, mean and p95 are over time: a reading lasts until the next one, several readings of a second give their
// mean, and p95 is over those seconds. The peak is the highest single reading. Example: 59 s at 10 % and one reading
// of 100 % have a peak of 100 % and a p95 of 10 %. On a host, all three are of rates over at least one second
// (telemetry/host.h).
struct MeasuredSignal {
  std::string_view scope;  // "gpu", "machine" or "workload"
  std::string_view name;
  Unit unit = Unit::kCount;
  std::vector<std::string> counters;  // its sources, each once
  // In `unit`; absent if not known.
  std::optional<double> mean;
  std::optional<double> p95;  // exact to one step or 0.8 % (telemetry/histograms.h), never too high
  std::optional<double> peak;
  double coverage = 0;      // share of the window for which the signal is known, 0 to 1
  std::string_view reason;  // why there is no mean: "not_reported", "no_valid_value", "invalid_counter",
                            // "no_time_covered", "not_recorded", "not_available"
};

// All GPUs together, then the host, in a fixed order. A signal that was not read keeps its row, with a reason.
std::vector<MeasuredSignal> MeasuredOf(const AuditReport& report);
// One GPU, without the host.
std::vector<MeasuredSignal> MeasuredOf(const AuditReport& report, DeviceId device);

// The host alone: the last rows of MeasuredOf(report).
std::vector<MeasuredSignal> MeasuredOfHost(const AuditReport& report);

// The unit in JSON and CSV ("percent", "W", "MHz", "bytes", "C", "bytes_per_s", "count"), and a value converted to it
// from the integer unit of the signal.
std::string_view UnitName(Unit unit);
double InUnit(double value, Unit unit);

// Memory use of the GPUs of one model.
struct MemoryUse {
  std::string gpu_name;  // with the MIG profile of an instance; empty if not reported
  std::size_t gpus = 0;
  double mean = 0;                    // bytes
  std::int64_t peak = 0;              // bytes, of the GPU that used most
  DeviceId peak_device = 0;           // the GPU with that peak
  std::optional<std::int64_t> total;  // capacity in bytes; absent if neither read nor known for the model
  std::int64_t above_ns = 0;          // GPU-time above kMuchMemory of the capacity
  // Whether a cheaper GPU would hold the peak. Points into the report; null for a MIG instance.
  const PeakFit* fit = nullptr;
};
// One entry per model and MIG profile, in the order of the devices. Devices whose memory was not read are left out.
std::vector<MemoryUse> MemoryOf(const AuditReport& report);
// The share of its memory above which a GPU is reported as `memory_high`.
inline constexpr double kMuchMemory = 0.85;

// Something that a signal shows and that is no cause of waste by itself. Example: memory near its capacity is worth a
// sentence, but frameworks keep memory that they do not need.
struct Observation {
  std::string_view id;  // "memory_high", "link_saturated"
  std::string sentence;
};
// All observations of a report, memory first.
std::vector<Observation> ObservationsOf(const AuditReport& report);

// The table for people. Its notes hold the memory, the observations, and the signals that were not read. No rows if
// nothing was measured.
ReportTable MeasuredTable(const AuditReport& report);

}  // namespace idleburn

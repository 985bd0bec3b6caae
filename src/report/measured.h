#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_report.h"
#include "report/report_page.h"

namespace idleburn {

// One signal of the table of what was measured: mean, p95 and peak over the time for which it was read. Every writer
// prints these rows. Of a GPU the mean and the p95 are of time: a reading lasts until the next, and of several readings
// in a second the second has their mean; the p95 is that of the seconds. The peak is the highest single reading. Of a
// host they are of rates over a second at least (telemetry/host.h).
struct MeasuredSignal {
  std::string_view scope;  // "gpu", "machine" or "workload"
  std::string_view name;
  Unit unit = Unit::kCount;
  std::vector<std::string> counters;  // where it was read from, each once
  // In `unit`; absent: not known.
  std::optional<double> mean;
  std::optional<double> p95;  // to a step or 0.8 % (telemetry/histograms.h), never too high
  std::optional<double> peak;
  double coverage = 0;      // share of the window for which it is known, 0 to 1
  std::string_view reason;  // why there is no mean: "not_reported", "no_valid_value", "invalid_counter",
                            // "no_time_covered", "not_recorded", "not_available"
};

// Of all GPUs together and the host, in a fixed order, also those that were not read.
std::vector<MeasuredSignal> MeasuredOf(const AuditReport& report);
// Of one GPU.
std::vector<MeasuredSignal> MeasuredOf(const AuditReport& report, DeviceId device);

// Of the host alone: the last rows of the first.
std::vector<MeasuredSignal> MeasuredOfHost(const AuditReport& report);

// As JSON and CSV have it: "percent", "W", "MHz", "bytes", "C", "bytes_per_s", "count"; and a value in that unit.
std::string_view UnitName(Unit unit);
double InUnit(double value, Unit unit);
// For people: "412 W", "71.4 GiB", "1.98 GB/s".
std::string UnitText(double value, Unit unit);

// Of how much memory the GPUs of one model used.
struct MemoryUse {
  std::string gpu_name;  // empty: not told
  std::size_t gpus = 0;
  double mean = 0;                    // bytes
  std::int64_t peak = 0;              // bytes, of the GPU that used most
  DeviceId peak_device = 0;           // that one
  std::optional<std::int64_t> total;  // bytes that it has; absent: neither read nor known of its model
  std::int64_t above_ns = 0;          // GPU-time beyond kMuchMemory of the total
  const PeakFit* fit = nullptr;
};
std::vector<MemoryUse> MemoryOf(const AuditReport& report);
inline constexpr double kMuchMemory = 0.85;

// Something that a signal shows and that is no cause by itself.
struct Observation {
  std::string_view id;  // "memory_high", "link_saturated"
  std::string sentence;
};
std::vector<Observation> ObservationsOf(const AuditReport& report);

// The table for people, with what was observed and what was not read as notes. No rows if nothing was measured.
ReportTable MeasuredTable(const AuditReport& report);

}  // namespace idleburn

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace idleburn {

// Single lines of text formats for metrics: Prometheus, OpenMetrics, and InfluxDB's line protocol. These functions
// only know the syntax. import/metric_table.h knows what metrics and labels mean.

// One line of the Prometheus text exposition format or of OpenMetrics. Views point into the line.
//
//     DCGM_FI_DEV_GPU_UTIL{gpu="0"} 97 1783117320000   ->   name, labels, value and stamp of a kSample
//     # TYPE DCGM_FI_DEV_GPU_UTIL gauge                ->   name and text of a kType
struct PrometheusLine {
  enum class Kind : std::uint8_t { kBlank, kComment, kHelp, kType, kUnit, kEof, kSample, kBad };

  Kind kind = Kind::kBlank;
  std::string_view name;      // the metric (sample) or the family (help, type, unit); see SampleName
  std::string_view labels;    // the text between the braces
  std::string_view series;    // name, braces and labels as written; equal text means the same series
  std::string_view value;     // a number as written: "37", "2.0780679168e+10", "NaN", "+Inf"
  std::string_view stamp;     // as written, empty without one
  std::string_view exemplar;  // OpenMetrics: what follows " # "
  std::string_view text;      // the text of help, type or unit
};

// Parses one line. It never fails: a line of no known form is kBad. TakeLabel checks the labels later.
PrometheusLine ParsePrometheusLine(std::string_view line);

// One label of a line.
struct PrometheusLabel {
  std::string_view name;   // without quotes; empty if the value is a quoted metric name: {"name", ...}
  std::string_view value;  // the text between its quotes, with escapes
};

// Removes the next label from the front of `labels`. False at the end. Sets *bad if the text is no label.
bool TakeLabel(std::string_view& labels, PrometheusLabel* label, bool* bad);

// Resolves the escapes \\, \" and \n; an unknown escape keeps its backslash. Kept apart from TakeLabel, which returns
// views of the line.
std::string UnescapeLabel(std::string_view value);

// The metric name of a sample. It may stand before the braces, quoted inside them, or as label __name__ (promtool).
std::string SampleName(const PrometheusLine& sample);

// Reads the time stamp of a sample. The text format writes integer milliseconds, OpenMetrics writes seconds, and
// exporters mix them up. A decimal point or an exponent means seconds. An integer takes the unit that puts it after
// 1973: milliseconds from 10^11, seconds from 10^8. So 1783117320 is seconds and 1783117320000 milliseconds. Smaller
// integers follow `openmetrics`. Absent if the stamp is no number or lies outside 1970 to 2096.
std::optional<Instant> ParsePrometheusStamp(std::string_view stamp, bool openmetrics);

// One line of InfluxDB's line protocol: "measurement,tag=value field=12i,other=1.5 1783117320000000000".
struct InfluxLine {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  std::string measurement;
  Pairs tags;              // names and values with escapes resolved
  Pairs fields;            // numbers without their type letter; texts without quotes and with escapes resolved
  std::string_view stamp;  // as written; empty without one
};

// Parses one line and overwrites *line. False if the text is no such line.
bool ParseInfluxLine(std::string_view text, InfluxLine* line);

}  // namespace idleburn

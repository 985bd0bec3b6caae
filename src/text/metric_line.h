#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace idleburn {

// One line of the Prometheus text exposition format or of OpenMetrics. Views point into the line.
struct PrometheusLine {
  enum class Kind : std::uint8_t { kBlank, kComment, kHelp, kType, kUnit, kEof, kSample, kBad };

  Kind kind = Kind::kBlank;
  std::string_view name;      // of the metric (sample) or the family (help, type, unit); see SampleName
  std::string_view labels;    // between the braces, as written
  std::string_view series;    // name and labels with their braces, as written: the same text is the same series
  std::string_view value;     // a number as written: "37", "2.0780679168e+10", "NaN", "+Inf"
  std::string_view stamp;     // as written, empty without one
  std::string_view exemplar;  // OpenMetrics: what follows " # ", as written
  std::string_view text;      // of help, type and unit
};

// Never fails: what is none of the forms is kBad. Label values are checked when they are taken.
PrometheusLine ParsePrometheusLine(std::string_view line);

struct PrometheusLabel {
  std::string_view name;   // without quotes; empty: the value is the metric's name ({"name", ...} of UTF-8 names)
  std::string_view value;  // between its quotes, escapes as written
};

// Takes the next label off the front of `labels`. False at the end, or with *bad set where the text is no label.
bool TakeLabel(std::string_view& labels, PrometheusLabel* label, bool* bad);

// Resolves the escapes \\, \" and \n; an unknown escape keeps its backslash.
std::string UnescapeLabel(std::string_view value);

// A sample's metric name, which may stand before the braces, quoted first inside them, or as __name__ (promtool).
std::string SampleName(const PrometheusLine& sample);

// The stamp of a sample. Text format writes integer milliseconds, OpenMetrics seconds; a decimal point or an
// exponent is OpenMetrics. An integer is read in the unit that puts it after 1973 (as milliseconds from 10^11,
// as seconds from 10^8); smaller ones follow `openmetrics`. Absent if it is
// no number or not between 1970 and 2096.
std::optional<Instant> ParsePrometheusStamp(std::string_view stamp, bool openmetrics);

// One line of InfluxDB's line protocol: "measurement,tag=value field=12i,other=1.5 1783117320000000000".
struct InfluxLine {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  std::string measurement;
  Pairs tags;              // escapes resolved
  Pairs fields;            // numbers without their type's letter; texts without quotes, escapes resolved
  std::string_view stamp;  // as written, empty without one
};

// False if that is no such line. `*line` is written over.
bool ParseInfluxLine(std::string_view text, InfluxLine* line);

}  // namespace idleburn

// What an exporter shows: families of metrics as plain data, and their text in OpenMetrics 1.0 and Prometheus' text
// format 0.0.4. Pure functions; expose/scrape_server.h serves the text.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace idleburn {

// The type of a family, as OpenMetrics 1.0 names it. Prometheus' text format has no info: it shows a gauge of 1.
enum class MetricType : std::uint8_t { kCounter, kGauge, kInfo };

// An exact decimal number: `mantissa` x 10^-decimals. A counter of milliseconds shows seconds with three decimals, so
// no reader sees a rounded value. Example: {12345, 3} is 12.345, and {12000, 3} is 12.
struct MetricValue {
  std::int64_t mantissa = 0;
  int decimals = 0;  // 0 to 18
};

// One label. The value may hold any bytes; the exposition escapes it.
struct MetricLabel {
  std::string_view name;
  std::string value;
};

// One series at one moment.
struct MetricSample {
  std::string labels;  // as LabelText writes them, without braces; empty: none
  MetricValue value;
  std::optional<Instant> created;  // when a counter began at 0
};

// All series of one name. An unknown value has no sample: it is never shown as 0 or NaN.
struct MetricFamily {
  std::string name;  // without "_total" or "_info"
  MetricType type = MetricType::kGauge;
  std::string unit;     // "seconds"; the name ends with it; empty: none
  std::string help;     // one sentence
  bool ledger = false;  // also shown by ?collect[]=ledger: the families that bills read
  std::vector<MetricSample> samples;
};

// Labels as both text formats write them: `node="n1",uuid="GPU-1"`. Escapes backslash, quote and newline. Bytes that
// are no UTF-8 become U+FFFD, and control characters a blank. Labels with an empty value are left out.
std::string LabelText(const std::vector<MetricLabel>& labels);

enum class MetricFormat : std::uint8_t { kPrometheus, kOpenMetrics };
inline constexpr const char* kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr const char* kOpenMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// The families as one body. With `ledger_only`, only those that bills read. No sample has a time stamp: the time of
// the scrape is its time. OpenMetrics also has `_created` for counters whose start is known.
std::string MetricText(std::span<const MetricFamily> families, MetricFormat format, bool ledger_only = false);

}  // namespace idleburn

// Metric families as text: OpenMetrics 1.0 and Prometheus' text format 0.0.4. Pure functions of plain data; serving is
// expose/scrape_server.h.

#pragma once

#include <span>
#include <string>

#include "expose/metric_family.h"

namespace idleburn {

enum class MetricFormat : std::uint8_t { kPrometheus, kOpenMetrics };
inline constexpr const char* kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr const char* kOpenMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// The families as one body. With `ledger_only`, only those that bills read. No sample has a time stamp: the time of
// the scrape is its time. OpenMetrics also has `_created` for counters whose start is known.
std::string MetricText(std::span<const MetricFamily> families, MetricFormat format, bool ledger_only = false);

}  // namespace idleburn

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/json_values.h"
#include "report/report_page.h"
#include "report/view_context.h"

namespace idleburn {

// The device's time by kernel, operator, module, annotation and line of Python (diagnose/traced_time.h) as tables and
// as JSON. Times of all traced devices add up; a share is of the windows that decide. The price is that of each
// GPU-hour, as in the verdict: a trace of seconds costs nothing worth printing.

// One table for each grouping that the trace has. Without a trace there are none.
std::vector<ReportTable> TracedTimeTables(const ViewContext& c);

// What `own_ns` of `window_ns` takes of the price of one GPU-hour. Absent without one price for all GPUs.
std::optional<Money> OfGpuHour(const AuditReport& report, std::int64_t own_ns, std::int64_t window_ns);

// Rows of one grouping in JSON; the rest is one row.
inline constexpr std::size_t kTimeRowsInJson = 50;

// Adds `time` to each device of `traced`, which has them in the order of the diagnosis. `money` writes an amount or why
// there is none.
template <typename Json, typename MoneyWriter>
void PutTracedTime(Json& traced, const AuditReport& report, const MoneyWriter& money) {
  if (!report.trace) return;
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) / 1e6; };
  for (std::size_t i = 0; i < report.trace->devices.size(); ++i) {
    const TracedTime& time = report.trace->devices[i].time;
    Json json = {
        {"window_ms", ms(time.window_ns)}, {"busy_ms", ms(time.busy_ns)}, {"scopes_left_out", time.scopes_left_out}};
    json["rows"] = Json::array();
    const auto put = [&](TimeBy by, const TimeRow& row, std::string_view nameless) {
      Json entry = {{"by", Name(by)}};
      PutText(entry, "name", row.name, nameless);
      PutText(entry, "family", row.family, "of_kernels_only");
      entry["count"] = row.count;
      entry["ms"] = ms(row.within_ns);
      entry["own_ms"] = ms(row.own_ns);
      entry["share"] = ShareOf(row.own_ns, time.window_ns);
      money.Put(entry, "of_gpu_hour", OfGpuHour(report, row.own_ns, time.window_ns));
      json["rows"].push_back(std::move(entry));
    };
    for (std::size_t b = 0; b < kTimesBy; ++b) {
      const auto by = static_cast<TimeBy>(b);
      if (!time.Has(by)) continue;
      TimeRow rest = time.Table(by).rest;
      std::size_t shown = 0;
      for (const TimeRow& row : time.Table(by).rows) {
        if (shown < kTimeRowsInJson || row.name.empty()) {
          put(by, row, by == TimeBy::kKernel ? "not_in_file" : "launched_under_none");
          ++shown;
        } else {
          rest.count += row.count;
          rest.within_ns += row.within_ns;
          rest.own_ns += row.own_ns;
        }
      }
      if (rest.count > 0) put(by, rest, "all_other_rows");
    }
    traced[i]["time"] = std::move(json);
  }
}

}  // namespace idleburn

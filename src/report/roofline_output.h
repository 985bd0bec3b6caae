#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diagnose/roofline.h"
#include "report/json_values.h"
#include "report/report_page.h"
#include "report/view_context.h"

namespace idleburn {

// The arithmetic of traced GPUs against their peaks (diagnose/roofline.h), as a table and as JSON.

// One row for each operator of known arithmetic, largest first, with the MFU of each device as a note. No rows if no
// trace recorded shapes.
ReportTable RooflineTable(const ViewContext& c);

// Why there is no MFU: "gpu_not_in_table", "shapes_missing".
inline std::string_view WhyNoMfu(const Roofline& roofline) {
  return roofline.shapes_missing > 0 ? "shapes_missing" : "gpu_not_in_table";
}

// Adds `roofline` to each device of `traced`, which has them in the order of the diagnosis.
template <typename Json>
void PutRoofline(Json& traced, const AuditReport& report) {
  if (!report.trace) return;
  for (std::size_t i = 0; i < report.trace->devices.size(); ++i) {
    const std::optional<Roofline>& r = report.trace->devices[i].roofline;
    if (!r) {
      PutUnknown(traced[i], "roofline", "no_shapes_recorded");
      continue;
    }
    const auto scaled = [](const std::optional<double>& value, double by) {
      return value ? std::optional(*value / by) : std::nullopt;
    };
    Json json = {
        {"flops", r->flops}, {"single_precision_flops", r->single_flops}, {"shapes_missing", r->shapes_missing}};
    PutNumber(json, "mfu", r->Mfu(), WhyNoMfu(*r));
    PutText(json, "gpu", r->gpu, "gpu_not_in_table");
    PutNumber(json, "peak_tflops", scaled(r->peak_flops_per_s, 1e12), "gpu_not_in_table");
    PutNumber(json, "memory_gb_per_s", scaled(r->memory_bytes_per_s, 1e9), "gpu_not_in_table");
    PutNumber(json, "ridge_flops_per_byte", r->Ridge(), "gpu_not_in_table");
    json["operators"] = Json::array();
    for (const OperatorRate& op : r->operators) {
      const std::optional<double> most = r->Attainable(op);
      Json entry = {{"name", Printable(op.name)}, {"calls", op.calls}, {"flops", op.flops}, {"bytes", op.bytes}};
      entry["own_ms"] = static_cast<double>(op.own_ns) / 1e6;
      PutNumber(entry, "tflops", scaled(op.Rate(), 1e12), "no_time");
      entry["flops_per_byte"] = op.Intensity();
      PutText(entry, "limit", !r->Ridge() ? "" : r->MemoryBound(op) ? "memory" : "compute", "gpu_not_in_table");
      PutNumber(entry, "of_attainable", most && *most > 0 ? scaled(op.Rate(), *most) : std::nullopt,
                "gpu_not_in_table");
      json["operators"].push_back(std::move(entry));
    }
    traced[i]["roofline"] = std::move(json);
  }
}

}  // namespace idleburn

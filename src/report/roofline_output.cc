#include "report/roofline_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/figures.h"

namespace idleburn {
namespace {

constexpr std::size_t kRooflineRows = 8;  // of each device
constexpr double kTera = 1e12;

std::string RooflineLabel(const DeviceDiagnosis& d) {
  return d.rank ? fmt::format("rank {}, GPU {}", *d.rank, d.device) : fmt::format("GPU {}", d.device);
}

// "GPU 0: MFU 31.2 % of the profiled steps: 45.1 TFLOP in 0.146 s against 989 TFLOP/s (dense bf16 or fp16) of a
// H100-80GB-SXM."
std::string MfuNote(const DeviceDiagnosis& d, const Roofline& r) {
  const std::string work =
      fmt::format("{} TFLOP in {}", ThreeDigits(r.flops / kTera), DurationForPeople(Nanos(r.window_ns)));
  std::string note = RooflineLabel(d) + ": ";
  if (const std::optional<double> mfu = r.Mfu()) {
    note += fmt::format("MFU {}: {} against {} TFLOP/s, the dense 16-bit peak of {}.", PercentText(*mfu), work,
                        ThreeDigits(*r.peak_flops_per_s / kTera), r.gpu);
  } else if (r.shapes_missing > 0) {
    note += fmt::format("no MFU: {} operator calls lack shapes (record with record_shapes=True); {} at least.",
                        Grouped(std::to_string(r.shapes_missing)), work);
  } else {
    note +=
        fmt::format("no MFU: the peak of {} is not in the table; {}.", d.model.empty() ? "this GPU" : d.model, work);
  }
  if (r.single_flops > 0) {
    note += fmt::format(" {} of it has inputs of 32 bits, which that peak does not cover.",
                        PercentText(r.single_flops / r.flops));
  }
  return note;
}

TableRow RooflineCells(const DeviceDiagnosis& d, const Roofline& r, const OperatorRate& op) {
  const std::optional<double> rate = op.Rate();
  const std::optional<double> most = r.Attainable(op);
  return {RooflineLabel(d),
          Shortened(op.name, 48),
          Grouped(std::to_string(op.calls)),
          ThreeDigits(op.flops / kTera),
          rate ? ThreeDigits(*rate / kTera) : "?",
          ThreeDigits(op.Intensity()),
          !r.Ridge()          ? "?"
          : r.MemoryBound(op) ? "memory"
                              : "compute",
          rate && most && *most > 0 ? PercentText(*rate / *most) : "?"};
}

}  // namespace

ReportTable RooflineTable(const ViewContext& c) {
  ReportTable table;
  if (!c.report.trace) return table;
  table.title = "Arithmetic against the peak, from recorded shapes";
  table.columns = {{"Device"}, {"Operator"}};
  for (const char* head : {"calls", "TFLOP", "TFLOP/s", "FLOP/byte"}) table.columns.push_back({head, kRight});
  table.columns.push_back({"limit"});
  table.columns.push_back({"of limit", kRight});
  for (const DeviceDiagnosis& d : c.report.trace->devices) {
    if (!d.roofline) continue;
    const std::size_t shown = std::min(kRooflineRows, d.roofline->operators.size());
    for (std::size_t i = 0; i < shown; ++i) {
      table.rows.push_back(RooflineCells(d, *d.roofline, d.roofline->operators[i]));
    }
    table.notes.push_back(MfuNote(d, *d.roofline));
  }
  if (!table.rows.empty()) {
    table.notes.emplace_back(
        "TFLOP/s: over the time of an operator's own kernels. Bytes are the least that must move, so FLOP/byte is an "
        "upper bound. limit: what sets the attainable rate at that intensity, the peak or the memory's bandwidth.");
  }
  return table;
}

}  // namespace idleburn

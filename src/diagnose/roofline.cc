#include "diagnose/roofline.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "diagnose/painted_time.h"
#include "telemetry/gpu_facts.h"

namespace idleburn {

std::optional<double> Roofline::Mfu() const {
  if (!peak_flops_per_s || shapes_missing > 0 || window_ns <= 0) return std::nullopt;
  return flops * 1e9 / static_cast<double>(window_ns) / *peak_flops_per_s;
}

std::optional<double> Roofline::Ridge() const {
  if (!peak_flops_per_s || !memory_bytes_per_s) return std::nullopt;
  return *peak_flops_per_s / *memory_bytes_per_s;
}

std::optional<double> Roofline::Attainable(const OperatorRate& op) const {
  if (!Ridge()) return std::nullopt;
  return std::min(*peak_flops_per_s, op.Intensity() * *memory_bytes_per_s);
}

namespace {

// Finds the shaped operator in which a call was made. Those of one thread do not overlap, since none of the table calls
// another.
class ShapedOps {
 public:
  explicit ShapedOps(const std::vector<ShapedOp>& ops) : ops_(ops), order_(ops.size()) {
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(ops[a].thread, ops[a].start_ns, a) < std::tie(ops[b].thread, ops[b].start_ns, b);
    });
  }
  // Its index, or nothing.
  [[nodiscard]] std::optional<std::uint32_t> Around(const HostCall& call) const {
    const auto after = std::partition_point(order_.begin(), order_.end(), [&](std::uint32_t i) {
      return std::tie(ops_[i].thread, ops_[i].start_ns) <= std::tie(call.thread, call.start_ns);
    });
    if (after == order_.begin()) return std::nullopt;
    const ShapedOp& op = ops_[*(after - 1)];
    const bool inside = op.thread == call.thread && call.start_ns < op.end_ns;
    return inside ? std::optional(*(after - 1)) : std::nullopt;
  }

 private:
  const std::vector<ShapedOp>& ops_;
  std::vector<std::uint32_t> order_;  // by thread and start
};

void PutPeaks(std::string_view model, Roofline& roofline) {
  const std::optional<GpuFacts> facts = FactsFor(model);
  if (!facts) return;
  roofline.gpu = facts->gpu;
  if (facts->half_tflops) roofline.peak_flops_per_s = static_cast<double>(*facts->half_tflops) * 1e12;
  if (facts->memory_bytes_per_s) roofline.memory_bytes_per_s = static_cast<double>(*facts->memory_bytes_per_s);
}

}  // namespace

std::optional<Roofline> MeasureRoofline(const Profile& profile, const ProfiledDevice& device,
                                        const LaunchIndex& launches, const TraceBudget& budget) {
  if (profile.shaped.empty()) return std::nullopt;
  Roofline roofline;
  roofline.window_ns = budget.span.Ns();
  roofline.shapes_missing = profile.shapes_missing;
  PutPeaks(device.model, roofline);
  const ShapedOps ops(profile.shaped);
  std::vector<bool> seen(profile.shaped.size());
  std::map<NameId, OperatorRate> by_name;
  const StartOrder<DeviceEvent> order(device.events);
  PaintEvents(device, order, budget.span, [&](std::uint32_t row, std::int64_t /*within_ns*/, std::int64_t own_ns) {
    const DeviceEvent& e = device.events[row];
    const HostCall* call = launches.IsAmbiguous(e) ? nullptr : launches.Of(e);
    const std::optional<std::uint32_t> at = call == nullptr ? std::nullopt : ops.Around(*call);
    if (!at) return;
    const ShapedOp& op = profile.shaped[*at];
    OperatorRate& rate = by_name[op.name];
    rate.own_ns += own_ns;
    if (seen[*at]) return;
    seen[*at] = true;
    ++rate.calls;
    rate.flops += static_cast<double>(op.work.flops);
    rate.bytes += static_cast<double>(op.work.bytes);
    roofline.flops += static_cast<double>(op.work.flops);
    if (op.work.single) roofline.single_flops += static_cast<double>(op.work.flops);
  });
  if (by_name.empty()) return std::nullopt;
  for (auto& [name, rate] : by_name) {
    rate.name = profile.names[name];
    roofline.operators.push_back(std::move(rate));
  }
  std::sort(roofline.operators.begin(), roofline.operators.end(), [](const OperatorRate& a, const OperatorRate& b) {
    return a.flops != b.flops ? a.flops > b.flops : a.name < b.name;
  });
  return roofline;
}

}  // namespace idleburn

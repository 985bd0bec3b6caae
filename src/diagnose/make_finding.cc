#include "diagnose/make_finding.h"

#include "diagnose/cause_table.h"

namespace idleburn {
namespace {

constexpr std::string_view kNextMeasurement =
    "torch.profiler for 20 steps on every rank tells loader, launches, copies and synchronisation apart; without "
    "touching the code: SM activity (dcgm-exporter's DCGM_FI_PROF_SM_ACTIVE) beside this log";

}  // namespace

double Seconds(std::int64_t ns) { return static_cast<double>(ns) / kNanosPerSecond; }

std::optional<Money> CostOfTime(const CostReport& cost, std::int64_t gpu_ns) {
  if (!cost.rate.per_gpu_hour) return std::nullopt;
  const Result<Money> money = Price(*cost.rate.per_gpu_hour, gpu_ns);
  return money ? std::optional(*money) : std::nullopt;
}

Finding MakeFinding(const Scene& scene, std::string_view cause, Status status, std::int64_t gpu_ns) {
  const Cause& row = CauseOf(cause);
  Finding f;
  f.cause = row.id;
  f.title = row.title;
  f.status = status;
  f.gpu_ns = gpu_ns;
  f.share = scene.Share(gpu_ns);
  f.refutes.emplace_back(row.refuted);
  f.isolate = status == Status::kUnknown ? kNextMeasurement : row.isolate;
  f.cost = CostOfTime(scene.cost, gpu_ns);
  return f;
}

std::string CounterOf(const Scene& scene, Signal s) {
  for (const DeviceResult& d : scene.run.devices) {
    if (!scene.devices[d.device].counter[Index(s)].empty()) return scene.Counter(d, s);
  }
  return std::string(Info(s).name);
}

}  // namespace idleburn

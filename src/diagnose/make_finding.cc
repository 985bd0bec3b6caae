#include "diagnose/make_finding.h"

#include "diagnose/cause_table.h"

namespace idleburn {
namespace {

constexpr std::string_view kNextMeasurement =
    "torch.profiler for 20 steps on every rank tells loader, launches, copies and synchronisation apart; without "
    "touching the code: SM activity (dcgm-exporter's DCGM_FI_PROF_SM_ACTIVE) beside this log";

}  // namespace

double Seconds(std::int64_t ns) { return static_cast<double>(ns) / kNanosPerSecond; }

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
  if (scene.cost.rate.per_gpu_hour) {
    if (const Result<Money> money = Price(*scene.cost.rate.per_gpu_hour, gpu_ns)) f.cost = *money;
  }
  return f;
}

std::string CounterOf(const Scene& scene, Signal s) {
  for (const DeviceResult& d : scene.run.devices) {
    if (!scene.devices[d.device].counter[Index(s)].empty()) return scene.Counter(d, s);
  }
  return std::string(Info(s).name);
}

}  // namespace idleburn

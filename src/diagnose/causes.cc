#include "diagnose/causes.h"

#include <algorithm>
#include <utility>

#include "diagnose/findings.h"
#include "diagnose/make_finding.h"

namespace idleburn {
namespace {

bool NamesACause(const Finding& f) { return f.cause != "unknown" && f.cause != "healthy"; }

// A trace counts what it claims in nanoseconds: all of it is time that computes nothing, unless the cause is about time
// that does.
bool IsAboutWork(const Finding& f) {
  return f.cause == "compute_bound" || f.cause == "healthy" || f.cause == "throttling";
}

// Adds what a trace of a part of the run shows to what samples of all of it show.
void Join(const Scene& scene, std::vector<Finding> traced, std::vector<Finding>& findings) {
  for (Finding& f : traced) {
    const auto same = std::find_if(findings.begin(), findings.end(), [&](const Finding& live) {
      return live.cause == f.cause && NamesACause(f) && live.status != Status::kUnknown;
    });
    if (same == findings.end()) {
      const double of_window = f.share > 0 ? f.bound / f.share : 0;
      f.of_run = scene.Share(f.gpu_ns);
      f.bound = of_window * *f.of_run;
      findings.push_back(std::move(f));
      continue;
    }
    same->status = Status::kConfirmed;
    same->waste_ns += f.waste_ns;
    if (f.cost) same->cost = Money::Nano(same->cost.value_or(Money()).nano() + f.cost->nano());
    same->evidence.insert(same->evidence.end(), f.evidence.begin(), f.evidence.end());
  }
}

}  // namespace

std::vector<Finding> Diagnose(const Scene& scene) {
  if (scene.trace == nullptr) return FindCauses(scene);
  std::vector<Finding> traced = scene.trace->findings;
  WasteLeft waste(scene.cost);
  for (Finding& f : traced) {
    f.time_cost = CostOfTime(scene.cost, f.gpu_ns);
    if (!IsAboutWork(f)) waste.Charge(f.gpu_ns, f);
  }
  if (scene.traced_only) return traced;
  std::vector<Finding> findings = FindCauses(scene, std::move(waste));
  // The trace has looked where samples only could say that they saw nothing.
  if (std::any_of(traced.begin(), traced.end(), NamesACause)) {
    std::erase_if(findings, [](const Finding& f) { return f.cause == "healthy"; });
  }
  Join(scene, std::move(traced), findings);
  SortByLoss(scene.cost, findings);
  return findings;
}

}  // namespace idleburn

#include "diagnose/causes.h"

#include <algorithm>

#include "diagnose/findings.h"
#include "diagnose/make_finding.h"

namespace idleburn {
namespace {

bool NamesACause(const Finding& f) { return f.cause != "unknown" && f.cause != "healthy"; }

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
    same->evidence.insert(same->evidence.end(), f.evidence.begin(), f.evidence.end());
  }
}

}  // namespace

std::vector<Finding> FindAllCauses(const Scene& scene) {
  if (scene.trace == nullptr) return FindCauses(scene);
  std::vector<Finding> traced = scene.trace->findings;
  for (Finding& f : traced) f.cost = CostOfTime(scene.cost, f.gpu_ns);
  if (scene.traced_only) return traced;
  std::vector<Finding> findings = FindCauses(scene);
  // The trace has looked where samples only could say that they saw nothing.
  if (std::any_of(traced.begin(), traced.end(), NamesACause)) {
    std::erase_if(findings, [](const Finding& f) { return f.cause == "healthy"; });
  }
  Join(scene, std::move(traced), findings);
  SortByLoss(scene.cost, findings);
  return findings;
}

}  // namespace idleburn

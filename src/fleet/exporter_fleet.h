#pragma once

#include <cstdint>
#include <string>

#include "audit/audit_plan.h"
#include "base/result.h"
#include "fleet/engine.h"
#include "fleet/fleet_report.h"
#include "import/importer.h"

// `idleburn fleet` for a cluster without our agents: an engine that has only the gauges of exporters.
namespace idleburn {

// What is asked. `plan` has the prices and thresholds of an audit (PlanAudit), `options` how its inputs are read
// (ImportOptionsFrom).
struct ExporterQuestion {
  std::int64_t from = 0;  // Unix seconds
  std::int64_t to = 0;
  std::string jobs_file;  // a scheduler's list of jobs: sacct, squeue or CSV; empty: none
  const AuditPlan& plan;
  const ImportOptions& options;
};

// Audits the gauges of [from, to) and splits time and cost by GPU, job, user and team. Every figure is a sample of the
// load, so `exact` is false and `errors` says how far the means may be off. Fails in one line if the engine has no
// gauge that is known, is gone, or if the audit refuses the samples.
Result<FleetReport> ExporterFleet(Engine& engine, const ExporterQuestion& question);

// Half the width of the interval that has the mean utilization in 95 of 100 cases: 1.96 x sqrt(d (1 - d) / N) for a
// mean of `busy` (0 to 1) over `samples` distinct readings. 1 without a reading.
double GaugeHalfWidth(double busy, std::int64_t samples);

}  // namespace idleburn

#pragma once

#include <string>

#include "base/result.h"
#include "fleet/fleet_report.h"
#include "import/importer.h"
#include "telemetry/data_quality.h"

// What a scheduler's list of jobs adds to a fleet's answer: how long jobs waited, and how they ended.
namespace idleburn {

// Reads a list (sacct -P, squeue --json, CSV). Fails in one line if the file is none.
Result<JobTimes> ReadJobList(const std::string& path, const ImportOptions& options, DataQuality* quality);

// Fills kpi.queue_wait from runs that began in the window, and kpi.ended_ms: GPU time of jobs by how they ended. Jobs
// are matched by their id.
void AddSchedulerFacts(const JobTimes& jobs, FleetReport* report);

}  // namespace idleburn

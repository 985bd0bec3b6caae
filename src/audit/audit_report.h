#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "classify/thresholds.h"
#include "classify/totals.h"
#include "diagnose/trace_diagnosis.h"
#include "price/cost_report.h"
#include "price/peak_fit.h"
#include "recommend/advice.h"
#include "run/run_summary.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/host.h"
#include "telemetry/link_speed.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {
// What a live run or its recording tells besides the readings of GPUs. A log tells none of it, so any member may be
// empty.
struct LiveRun {
  std::string command;
  std::string exit;  // "exit 0", "signal 9 (SIGKILL)"
  RunWindow window;
  std::array<std::optional<HostUse>, kHostScopeCount> host;
  HostStatistics statistics;
  std::vector<Note> alerts;  // limits it went beyond, and what was done about that
  std::string no_gpu;        // why no GPU was measured; empty if one was
  WorkCount work;            // done by the command, as far as it reports it
  std::optional<WorkPace> pace;
  RunFacts sampler;                        // how well it was measured: the facts of measure/sampler.h
  const HostTimeline* timeline = nullptr;  // of the host, for the charts; points into the RunInputs
};

// Everything an audit has to say. All writers print this and compute nothing of their own, so text, JSON and HTML
// cannot disagree. `devices` and `quality` point into the RunInputs of the run, which must outlive the report.
struct AuditReport {
  RunResult run;
  const DeviceTable* devices = nullptr;
  const DataQuality* quality = nullptr;
  Thresholds thresholds;
  CostReport cost;
  Advice advice;
  LiveRun live;
  RunIds ids;
  std::vector<LinkSpeed> links;         // by DeviceId; beyond its end nothing is known
  std::vector<PeakFit> peak_fits;       // by model of GPU
  std::optional<TraceDiagnosis> trace;  // of the run, or of a part of it
  std::span<const Profile> profiles;    // of the trace, for its timeline; points into the RunInputs
  bool traced_only = false;             // no samples: the run is what the trace covers
  std::vector<std::string> inputs;      // names as given
  std::vector<RunFact> system;          // what is known of the machine (measure/system_facts.h)
  std::string timezone = "UTC";
  std::string version;
  bool explain = false;
};

}  // namespace idleburn

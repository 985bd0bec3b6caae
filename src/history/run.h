#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace idleburn {

// The state of a kept run. kInterrupted: its idleburn was killed; what it had recorded is kept.
enum class RunState : std::uint8_t { kRunning, kEnded, kInterrupted };
inline constexpr std::array<std::string_view, 3> kRunStateNames = {"running", "ended", "interrupted"};

// A cause as an audit found it. Names are texts and not ids of this version, because another version may know other
// causes.
struct KeptFinding {
  std::string cause;
  std::string status;
  double share = 0;  // of observed time
  std::int64_t gpu_ns = 0;
  std::optional<std::int64_t> cost_nano;
};

// What an audit advised. The expected saving is in fractions of the original cost.
// Comparisons use `high` later: it is the most that the audit said a lever could save.
struct KeptAdvice {
  std::string id;  // id of the lever
  std::string axis;
  std::string cause;
  std::optional<double> low, expected, high;
  std::optional<std::int64_t> cost_nano;
};

// A file that an audit read.
struct KeptInput {
  std::string path;
  std::string sha256;  // empty if it was not computed
};

// What the audit of a run found. Times are GPU-nanoseconds, money is in billionths of the currency's unit, and unknown
// values are absent. Absent is not 0: a run of unknown cost is left out of sums and named.
struct RunFigures {
  std::optional<std::int64_t> gpus;
  std::string gpu_models;  // each once, separated by commas
  std::optional<std::int64_t> window_ns, observed_ns, unobserved_ns, idle_ns, underutilized_ns, productive_ns,
      compute_bound_ns;
  std::optional<double> effective_ns;
  std::string currency;
  std::optional<std::int64_t> rate_nano;  // the price used, per GPU-hour; absent if there were several
  std::string rate_source;
  std::string rates;                          // several prices as --price takes them: "GPU-5f3a...=1.5,GPU-99b0...=4"
  std::optional<std::int64_t> rate_as_of_ns;  // of a catalogue price
  std::optional<std::int64_t> cost_nano, waste_nano;
  std::optional<double> waste_share;
  std::string work_unit;  // "step", ...
  std::optional<double> work;
  std::optional<std::int64_t> memory_peak;  // bytes, of the GPU that used most
  // Work between the first and the last report of progress, and the time it took. Start-up and end are not in it.
  std::optional<std::int64_t> pace_ns, pace_steps, pace_samples, pace_tokens;
  std::vector<KeptFinding> findings;
  std::vector<KeptAdvice> advice;
};

// What a plan predicted for a run before it was started. Money is in billionths of the currency's unit, and hours are
// wall time. "low" and "high" bound the interval of 90 %. Unknown values are absent.
struct KeptForecast {
  std::string plan;   // its parameters by name: "gpu=l4;micro_batch=2;..."
  std::string basis;  // what the figures rest on, for people
  std::optional<double> gpus;
  std::optional<double> tokens;           // total
  std::optional<double> tokens_per_step;  // over all GPUs
  std::optional<double> sequence;         // tokens per sample
  std::optional<double> hours, hours_low, hours_high;
  std::optional<double> gpu_hours, gpu_hours_low, gpu_hours_high;
  std::optional<double> tokens_s, tokens_s_low, tokens_s_high;  // tokens per second of one GPU
  std::optional<double> memory, memory_low, memory_high;        // bytes on one GPU
  std::string currency;
  std::optional<std::int64_t> cost_nano, cost_low_nano, cost_high_nano;
};

// A run as the history keeps it: figures, never samples (docs/history.md, "What is kept of a run").
struct HistoryRun {
  std::string id;    // 32 hexadecimal digits, the run's IDLEBURN_RUN_ID
  std::string kind;  // "run", "record", "audit"
  RunState state = RunState::kRunning;
  Instant started;
  std::optional<Instant> ended;
  std::string process;  // who writes it while it runs, as given by ThisProcess()
  std::string host;
  std::string command;  // without secrets
  std::string folder;   // working directory
  std::string project;
  std::string exit;       // how the command ended
  std::string recording;  // absolute path; empty if none is kept
  std::string version;    // of idleburn
  std::string parent;     // id of the run whose command started this one, which may not be kept
  RunFigures figures;
  std::optional<KeptForecast> forecast;            // of a run that a plan started
  std::vector<KeptInput> inputs;                   // of an audit
  std::map<std::string, std::string> experiments;  // "SLURM_JOB_ID" -> "4711"
  std::map<std::string, std::string> tags;         // the user's own
};

}  // namespace idleburn

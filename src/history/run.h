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

// kInterrupted: its idleburn was killed; what it had recorded is there.
enum class RunState : std::uint8_t { kRunning, kEnded, kInterrupted };
inline constexpr std::array<std::string_view, 3> kRunStateNames = {"running", "ended", "interrupted"};

// A cause as an audit found it.
struct KeptFinding {
  std::string cause;
  std::string status;
  double share = 0;  // of observed time
  std::int64_t gpu_ns = 0;
  std::optional<std::int64_t> cost_nano;
};

// What an audit advised, with the saving it expected as fractions of the original cost.
struct KeptAdvice {
  std::string id;  // of the lever
  std::string axis;
  std::string cause;
  std::optional<double> low, expected, high;
  std::optional<std::int64_t> cost_nano;
};

struct KeptInput {
  std::string path;
  std::string sha256;  // empty: not taken
};

// What the audit of a run says. Times are GPU-nanoseconds, money billionths of the currency's unit; what is not known
// is absent.
struct RunFigures {
  std::optional<std::int64_t> gpus;
  std::string gpu_models;  // each once, with commas between
  std::optional<std::int64_t> window_ns, observed_ns, unobserved_ns, idle_ns, underutilized_ns, productive_ns,
      compute_bound_ns;
  std::optional<double> effective_ns;
  std::string currency;
  std::optional<std::int64_t> rate_nano;  // per GPU-hour: the price used
  std::string rate_source;
  std::string rates;  // of a run with several prices, as --price takes them: "GPU-5f3a...=1.5,GPU-99b0...=4"
  std::optional<std::int64_t> rate_as_of_ns;  // of a catalogue price
  std::optional<std::int64_t> cost_nano, waste_nano;
  std::optional<double> waste_share;
  std::string work_unit;  // of the work done: "step", ...
  std::optional<double> work;
  std::optional<std::int64_t> memory_peak;  // bytes of the GPU that held most
  // Between the first and the last time that the command said how far it is: neither start nor end is in it.
  std::optional<std::int64_t> pace_ns, pace_steps, pace_samples, pace_tokens;
  std::vector<KeptFinding> findings;
  std::vector<KeptAdvice> advice;
};

// What a plan said of a run before it was started. Money in billionths of the currency's unit, hours on the wall; what
// was not known is absent.
struct KeptForecast {
  std::string plan;   // "gpu=l4;micro_batch=2;...": its words, by name
  std::string basis;  // what the figures rest on, in words
  std::optional<double> gpus;
  std::optional<double> tokens;           // of all the work
  std::optional<double> tokens_per_step;  // of all GPUs
  std::optional<double> sequence;         // tokens of a sample
  std::optional<double> hours, hours_low, hours_high;
  std::optional<double> gpu_hours, gpu_hours_low, gpu_hours_high;
  std::optional<double> tokens_s, tokens_s_low, tokens_s_high;  // a second, of one GPU
  std::optional<double> memory, memory_low, memory_high;        // bytes of one GPU
  std::string currency;
  std::optional<std::int64_t> cost_nano, cost_low_nano, cost_high_nano;
};

// A run as the history keeps it.
struct HistoryRun {
  std::string id;    // 32 hexadecimal digits, the run's IDLEBURN_RUN_ID
  std::string kind;  // "run", "record", "audit"
  RunState state = RunState::kRunning;
  Instant started;
  std::optional<Instant> ended;
  std::string process;  // who writes it while it runs, as ThisProcess() says it
  std::string host;
  std::string command;  // without secrets
  std::string folder;   // in which it ran
  std::string project;
  std::string exit;       // how the command ended
  std::string recording;  // absolute path; empty: none is kept
  std::string version;    // of idleburn
  std::string parent;     // the id of the run whose command started this one; it need not be kept
  RunFigures figures;
  std::optional<KeptForecast> forecast;            // of a run that a plan has started
  std::vector<KeptInput> inputs;                   // of an audit
  std::map<std::string, std::string> experiments;  // "SLURM_JOB_ID" -> "4711"
  std::map<std::string, std::string> tags;         // the user's own
};

}  // namespace idleburn

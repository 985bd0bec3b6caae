#include "trial/drill_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/flag_values.h"
#include "text/command_line.h"

namespace idleburn {
namespace {

constexpr std::int64_t kMostRounds = 1000;
constexpr std::array<int, 7> kSignals = {SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

Result<Interruption> HowOf(const DrillRequest& request) {
  Interruption how;
  if (!request.cloud.empty()) {
    const auto cloud = std::find_if(kCloudNotices.begin(), kCloudNotices.end(),
                                    [&](const CloudNotice& c) { return c.id == request.cloud; });
    if (cloud == kCloudNotices.end()) {
      return FailUsage("drill: --as: '" + request.cloud.substr(0, 20) + "' is none of aws, gcp, azure");
    }
    how.grace = cloud->grace;
  }
  if (!request.signal.empty()) {
    how.signal = TRY(FlagSignal("drill: --signal", request.signal, kSignals));
  }
  if (how.signal == SIGKILL && !request.grace.empty()) {
    return FailUsage("drill: --grace: SIGKILL ends at once; give --grace with another signal");
  }
  how.grace = TRY(FlagSpan("drill", "--grace", request.grace, how.grace));
  return how;
}

// "20s" or "10s..30s".
template <typename T, typename Parse>
Result<std::optional<Drawn<T>>> ParseDrawn(const char* flag, const std::string& text, Parse parse) {
  if (text.empty()) return std::optional<Drawn<T>>();
  const std::size_t dots = text.find("..");
  const T low = TRY(parse(text.substr(0, dots)));
  const T high = TRY(dots == std::string::npos ? low : parse(text.substr(dots + 2)));
  if (high < low) {
    return FailUsage(fmt::format("drill: {}: '{}' ends before it begins", flag, text.substr(0, 40)));
  }
  return std::optional(Drawn<T>{low, high});
}

}  // namespace

void DrillRequest::AddTo(CommandFlags& flags) {
  flags.Add("--resume", "\"CMD\"", "the command that goes on (default: the same command)").text = &resume;
  flags.Add("--rounds", "N", "interruptions, each followed by a restart (default 3)").text = &rounds;
  flags.Add("--as", "CLOUD", "the notice of aws (2 min), gcp or azure (30 s)").text = &cloud;
  flags.Add("--signal", "NAME", "what every process of the command gets: TERM (default), KILL, INT, HUP, ...").text =
      &signal;
  flags.Add("--grace", "TIME", "from the signal to SIGKILL (default 30s)").text = &grace;
  flags.Add("--after", "TIME", "interrupt so long after the first progress; 10s..30s (default) draws each time").text =
      &after;
  flags.Add("--after-steps", "N", "interrupt after so many steps of a start, or within N..M").text = &after_steps;
  flags.Add("--mid-checkpoint", "", "then wait until a checkpoint is being written, and interrupt that").on =
      &mid_checkpoint;
  flags.Add("--seed", "N", "draw the same times again").text = &seed;
  flags.Add("--timeout", "TIME", "a job without progress for so long hangs (default 5m)").text = &timeout;
  flags.Add("--checkpoint", "PATH", "a file, folder or 'pattern*' of checkpoints to watch, where no marker says them")
      .text = &checkpoint;
  flags.Add("--scratch", "", "run in a new folder, also IDLEBURN_SCRATCH, that is removed at the end").on = &scratch;
  flags.Add("--copy", "FOLDER", "a copy of that folder as the scratch folder").text = &copy;
  flags.Add("--uptime", "TIME", "what it would cost where a node is lost every so often on the mean").text = &uptime;
  flags.Add("--nodes", "N", "of the job: one loss interrupts all of them (default 1)").text = &nodes;
  flags.Add("--fail-on", "fail", "exit with 3 where the verdict is FAIL").text = &fail_on;
  flags.Add("--show-output", "", "show what the command prints, on standard error").on = &show_output;
  flags.Add("--quiet", "", "say nothing while it runs").on = &quiet;
  flags.Add("--output", "FILE", "write the report to FILE instead of standard output").text = &output;
}

Result<DrillSpec> DrillRequest::Spec(const std::vector<std::string>& command, std::uint64_t drawn_seed) const {
  DrillSpec spec;
  spec.leg.command = spec.resume = command;
  if (!resume.empty()) {
    Result<std::vector<std::string>> words = SplitCommand(resume);
    if (!words) return FailUsage("drill: --resume: " + words.error().message);
    spec.resume = std::move(*words);
  }
  const std::int64_t count = TRY(FlagCount("drill", "--rounds", rounds, 1, 3));
  spec.rounds = static_cast<int>(std::min(count, kMostRounds));
  spec.leg.interruption = TRY(HowOf(*this));
  const auto time = TRY(ParseDrawn<Nanos>("--after", after, [](const std::string& text) {
    return FlagSpan("drill", "--after", text.empty() ? "nothing" : text, Nanos(0));
  }));
  spec.after = time;
  const auto steps = TRY(ParseDrawn<std::int64_t>("--after-steps", after_steps, [](const std::string& text) {
    return FlagCount("drill", "--after-steps", text.empty() ? "none" : text, 1, 1);
  }));
  spec.after_steps = steps;
  if (!spec.after && !spec.after_steps) {
    spec.after = Drawn<Nanos>{Nanos(10 * kNanosPerSecond), Nanos(30 * kNanosPerSecond)};
  }
  spec.mid_checkpoint = mid_checkpoint;
  const std::int64_t number =
      TRY(FlagCount("drill", "--seed", seed, 0, static_cast<std::int64_t>(drawn_seed % 1'000'000)));
  spec.seed = static_cast<std::uint64_t>(number);
  spec.leg.timeout = TRY(FlagSpan("drill", "--timeout", timeout, Nanos(300 * kNanosPerSecond)));
  return spec;
}

Result<std::optional<Nanos>> DrillRequest::Uptime() const {
  const Nanos span = TRY(FlagSpan("drill", "--uptime", uptime, Nanos(0)));
  return uptime.empty() ? std::nullopt : std::optional(span);
}

Result<std::int64_t> DrillRequest::Nodes() const { return FlagCount("drill", "--nodes", nodes, 1, 1); }

Result<bool> DrillRequest::FailsOnFail() const {
  if (fail_on.empty() || fail_on == "fail") return !fail_on.empty();
  return FailUsage("drill: --fail-on: '" + fail_on.substr(0, 20) + "' is not fail");
}

}  // namespace idleburn

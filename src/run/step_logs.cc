#include "run/step_logs.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "run/turns.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostLogs = 16;

// How much a line looks like one of a training's steps, by what stands before the count (nothing else's name, or
// another's) and by what it shows (nothing, something that only a training has, a loss).
constexpr int kPlain = 1;
constexpr std::array<std::array<int, 3>, 2> kStandings = {{{kPlain, 4, 5}, {0, 2, 3}}};

int StandingOf(const ProgressText& text) {
  return kStandings[text.step_of_another ? 1 : 0][text.loss ? 2 : text.training ? 1 : 0];
}

}  // namespace

void StepLogs::OnLine(const ProgressText& text, bool next_epoch, std::int64_t epochs_told) {
  ++lines_;
  if (logs_.count(text.step_name) == 0 && logs_.size() >= kMostLogs) return;
  const auto [at, anew] = logs_.try_emplace(text.step_name);
  Log& log = at->second;
  if (anew) log.begin = lines_;
  log.end = lines_;
  log.standing = std::max(log.standing, StandingOf(text));
  log.track.OnLogCount(*text.step, next_epoch, epochs_told);
}

StepLogs::Said StepLogs::Steps() const {
  const auto counts = [](const Log& log) { return log.track.stride > 0 && log.standing > 0; };
  int best = 0;
  for (const auto& [name, log] : logs_) {
    if (counts(log)) best = std::max(best, log.standing);
  }
  if (best == 0) return {};
  std::vector<Turn> turns;
  Said said{best == kPlain ? Trust::kPlain : Trust::kTraining, 0, nullptr};
  for (const auto& [name, log] : logs_) {
    if (!counts(log) || log.standing != best) continue;
    turns.push_back({log.begin, log.end, log.track.done()});
    if (said.track == nullptr || log.track.done() > said.track->done()) said.track = &log.track;
  }
  if (best == kPlain && turns.size() > 1) return {Trust::kUnclear, 0, nullptr};
  said.steps = DoneInTurns(std::move(turns));
  if (said.steps != said.track->done()) said.track = nullptr;
  return said;
}

}  // namespace idleburn

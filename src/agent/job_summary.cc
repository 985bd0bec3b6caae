#include "agent/job_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/figures.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// GPU-nanoseconds of counted units.
std::int64_t NanosOf(std::int64_t units) { return units / kUnitsPerMs * 1'000'000; }

struct Loss {
  std::int64_t units = 0;
  std::string_view what;
  std::string_view attempt;
};

// Busy time is utilization x time. What is neither busy nor unobserved is waste, and so is busy time in spin-wait.
std::int64_t WasteUnits(const JobCounters& job) {
  std::int64_t observed = 0;
  for (std::size_t p = 0; p < kPhaseCount; ++p) observed += job.live[p];
  const std::int64_t busy = job.busy_us_units / 1000;
  return std::clamp<std::int64_t>(observed - busy + job.spin, 0, observed);
}

// The largest loss. None of them is a proved cause: an agent sees no profile, so it says what to try.
Loss LargestLoss(const JobCounters& job) {
  const std::int64_t idle_empty = job.live[0] - job.idle_held;
  const std::array<Loss, 5> losses = {{
      {job.idle_held, "idle while it held GPU memory", "end the job when its work is done (stop_idle)"},
      {idle_empty, "idle without a process on the GPU", "start the job when its input is ready (stop_idle)"},
      {job.spin, "waiting although the GPU looked busy", "look for a rank that the others wait for (fix_straggler)"},
      {job.live[1], "underutilized", "a larger batch or more data loader workers (larger_batch, num_workers)"},
      {job.live[kUnobservedPhase], "without data", "ask who runs this node; idleburn doctor says what is missing"},
  }};
  return *std::ranges::max_element(losses, {}, &Loss::units);
}

}  // namespace

std::string JobSummaryText(const Owner& owner, const JobCounters& job, const std::optional<Money>& per_gpu_hour,
                           const std::string& currency) {
  std::int64_t all = 0;
  for (const std::int64_t each : job.live) all += each;
  const std::int64_t waste = WasteUnits(job);
  const std::string share = PercentText(all == 0 ? 0 : static_cast<double>(waste) / static_cast<double>(all));
  std::string who = "job " + (owner.job.empty() ? "of a plain user" : Printable(owner.job));
  if (!owner.user.empty()) who += " of " + Printable(owner.user);
  if (!owner.team.empty()) who += " (team " + Printable(owner.team) + ")";
  const auto hours = [](std::int64_t units) {
    return GpuHoursForPeople(static_cast<double>(NanosOf(units)) / static_cast<double>(kNanosPerHour));
  };
  std::string text = who + ": " + hours(all);
  const auto money = [&](std::int64_t units) -> std::optional<Money> {
    if (!per_gpu_hour) return std::nullopt;
    const Result<Money> cost = Price(*per_gpu_hour, NanosOf(units));
    return cost ? std::optional(*cost) : std::nullopt;
  };
  const std::optional<Money> cost = money(all);
  const std::optional<Money> wasted = money(waste);
  if (cost && wasted) {
    text += fmt::format(" for {}. Waste: {} ({}).\n", Amount(*cost, currency), Amount(*wasted, currency), share);
  } else {
    text += fmt::format(". Waste: {} ({}). No price is known.\n", hours(waste), share);
  }
  const Loss loss = LargestLoss(job);
  if (loss.units * 20 < all) return text + "No loss was larger than 5 %.\n";
  return text + fmt::format("Largest loss: {}, {}. Try: {}.\n", loss.what, hours(loss.units), loss.attempt);
}

std::string JobSummaryName(const Owner& owner) {
  std::string name = owner.job.substr(0, 64);
  for (char& c : name) {
    if (!IsAlnum(c) && c != '-') c = '_';
  }
  return (name.empty() ? std::string("user_") + std::to_string(std::hash<std::string>()(owner.user) % 1'000'000)
                       : name) +
         ".txt";
}

}  // namespace idleburn

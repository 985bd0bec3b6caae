#include "diagnose/trace_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "stats/order.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// A change of the work itself, beyond which the sides did not do the same.
constexpr double kSameLaunches = 0.02;

DiffSide SideOf(const TraceDiagnosis& diagnosis) {
  DiffSide side;
  std::vector<const TracedTime*> times;
  std::vector<double> medians;
  bool steps = true;
  for (const DeviceDiagnosis& d : diagnosis.devices) {
    const TraceBudget& b = d.Deciding();
    side.window_ns += b.span.Ns();
    side.compute_ns += b.compute_ns;
    side.exposed_comm_ns += b.exposed_comm_ns;
    side.exposed_copy_ns += b.exposed_copy_ns;
    side.model = times.empty() || side.model == d.model ? d.model : std::string();
    steps = steps && d.time.steps > 0;
    if (d.steps.median_ns) medians.push_back(*d.steps.median_ns);
    times.push_back(&d.time);
  }
  side.devices = times.size();
  side.time = SumOf(times);
  side.steps = steps ? side.time.steps : 0;
  if (steps && !medians.empty()) side.median_step_ns = Median(medians);
  return side;
}

// Turns sums of a side into the unit of the diff.
struct DiffUnit {
  double of_before = 1;
  double of_after = 1;
};

DiffRow Part(std::string name, std::int64_t before_ns, std::int64_t after_ns, const DiffUnit& unit) {
  return {std::move(name), static_cast<double>(before_ns) / unit.of_before,
          static_cast<double>(after_ns) / unit.of_after, 0, 0};
}

// Rows of the same name side by side. The rest of a table with too many rows is one more row.
std::vector<DiffRow> SideBySide(const TimeTable& before, const TimeTable& after, const DiffUnit& unit) {
  std::map<std::string, DiffRow> rows;
  const auto add_before = [&](const TimeRow& row, const std::string& name) {
    DiffRow& to = rows[name];
    to.before_ns += static_cast<double>(row.own_ns) / unit.of_before;
    to.before_count += static_cast<double>(row.count) / unit.of_before;
  };
  const auto add_after = [&](const TimeRow& row, const std::string& name) {
    DiffRow& to = rows[name];
    to.after_ns += static_cast<double>(row.own_ns) / unit.of_after;
    to.after_count += static_cast<double>(row.count) / unit.of_after;
  };
  for (const TimeRow& row : before.rows) add_before(row, row.name);
  for (const TimeRow& row : after.rows) add_after(row, row.name);
  if (before.rest.count > 0) add_before(before.rest, "all others");
  if (after.rest.count > 0) add_after(after.rest, "all others");
  std::vector<DiffRow> all;
  for (auto& [name, row] : rows) {
    row.name = name;
    all.push_back(std::move(row));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const DiffRow& a, const DiffRow& b) { return std::abs(a.ChangeNs()) > std::abs(b.ChangeNs()); });
  return all;
}

// How many kernels a side launches in the unit of the diff.
double Launches(const TraceDiff& diff, double DiffRow::*count) {
  double sum = 0;
  for (const DiffRow& row : diff.Of(TimeBy::kFamily)) sum += row.*count;
  return sum;
}

void AddDoubts(TraceDiff& diff) {
  const DiffSide& a = diff.before;
  const DiffSide& b = diff.after;
  if (!diff.per_step) {
    diff.doubts.emplace_back(
        "a trace has no profiled steps, so the figures are of whole windows: a longer capture is not a slower one");
  }
  if (a.devices != b.devices) {
    diff.doubts.push_back(
        fmt::format("{} traced GPUs before and {} after: figures are of one GPU", a.devices, b.devices));
  }
  if (a.model != b.model) {
    diff.doubts.push_back(fmt::format("another GPU: {} before, {} after", a.model.empty() ? "not named" : a.model,
                                      b.model.empty() ? "not named" : b.model));
  }
  const double before = Launches(diff, &DiffRow::before_count);
  const double after = Launches(diff, &DiffRow::after_count);
  if (diff.per_step && before > 0 && std::abs(after / before - 1) > kSameLaunches) {
    diff.doubts.push_back(fmt::format("{} GPU events a step before and {} after: the work may not be the same",
                                      ThreeDigits(before), ThreeDigits(after)));
  }
  const std::size_t least = std::min(a.steps, b.steps);
  if (diff.per_step && least < StepStatistics::kEnough) {
    diff.doubts.push_back(fmt::format("only {} profiled step{} on one side: the first and last of a capture are slower",
                                      least, least == 1 ? "" : "s"));
  }
}

}  // namespace

TraceDiff DiffTraces(const TraceDiagnosis& before, const TraceDiagnosis& after) {
  TraceDiff diff;
  diff.before = SideOf(before);
  diff.after = SideOf(after);
  const DiffSide& a = diff.before;
  const DiffSide& b = diff.after;
  diff.per_step = a.steps > 0 && b.steps > 0;
  const DiffUnit unit = {static_cast<double>(std::max<std::size_t>(diff.per_step ? a.steps : a.devices, 1)),
                         static_cast<double>(std::max<std::size_t>(diff.per_step ? b.steps : b.devices, 1))};
  diff.window = Part("window", a.window_ns, b.window_ns, unit);
  diff.parts = {Part("compute", a.compute_ns, b.compute_ns, unit),
                Part("exposed_comm", a.exposed_comm_ns, b.exposed_comm_ns, unit),
                Part("exposed_copy", a.exposed_copy_ns, b.exposed_copy_ns, unit),
                Part("idle", a.IdleNs(), b.IdleNs(), unit)};
  for (std::size_t group = 0; group < kTimesBy; ++group) {
    const auto by = static_cast<TimeBy>(group);
    if (a.time.Has(by) || b.time.Has(by)) diff.by[group] = SideBySide(a.time.Table(by), b.time.Table(by), unit);
  }
  AddDoubts(diff);
  return diff;
}

}  // namespace idleburn

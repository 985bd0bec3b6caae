#include <fmt/format.h>

#include <algorithm>

#include "report/display.h"
#include "report/view_context.h"
#include "text/number.h"

// What traces add to an audit's view. The times of a row add up to its span exactly.
namespace idleburn {
namespace {

constexpr std::size_t kNamedGaps = 2;
constexpr double kNanosPerMs = 1e6;

std::string Ms(std::int64_t ns) { return fmt::format("{:.3f}", static_cast<double>(ns) / kNanosPerMs); }
std::string TraceTimeText(std::int64_t ns) {
  return ns < kNanosPerSecond ? Ms(ns) + " ms" : fmt::format("{:.3f} s", static_cast<double>(ns) / kNanosPerSecond);
}
std::string ShareCell(const TraceBudget& b, std::int64_t ns) { return PercentText(b.Share(ns)); }

// A trace without device events has nothing for these tables.
bool HasDeviceEvents(const ViewContext& c) { return c.report.trace && !c.report.trace->devices.empty(); }

// Whether kernels without a name matter: their class is a guess, so communication among them would count as compute.
bool HasNameless(const DeviceDiagnosis& d) {
  return std::any_of(d.top_kernels.begin(), d.top_kernels.end(), [&d](const KernelClass& k) {
    return k.name.empty() && ShareOf(k.ns, d.BusyNs()) >= kWorthSaying;
  });
}

// Most work outside the profiled steps means that the steps do not represent the run.
bool WorksOutsideSteps(const DeviceDiagnosis& d) { return 2 * d.OutsideStepsNs() > d.BusyNs(); }

// The names of the windows that decide. Usually one; "profiler_steps or gpu_span" if devices differ.
std::string WindowNames(const std::vector<DeviceDiagnosis>& devices) {
  const auto first = Name(devices.front().Deciding().window);
  const auto other = std::find_if(devices.begin(), devices.end(),
                                  [&](const DeviceDiagnosis& d) { return Name(d.Deciding().window) != first; });
  return other == devices.end() ? std::string(first) : fmt::format("{} or {}", first, Name(other->Deciding().window));
}

// How far the headline can be trusted: missing events, work outside the steps, kernels without names. Empty if all is
// well.
std::string Reservations(const std::vector<DeviceDiagnosis>& devices) {
  std::string text;
  const auto count = [&](auto test) { return std::count_if(devices.begin(), devices.end(), test); };
  const auto some = [&](std::int64_t n) {
    return devices.size() == 1 ? std::string() : fmt::format(" of {} of them", n);
  };
  if (const auto n = count([](const DeviceDiagnosis& d) { return d.events_missing; }); n > 0) {
    text += fmt::format(
        " Events are missing or damaged in the file{}: this is of what is left, and idle time may be lost work.",
        devices.size() == 1 ? std::string() : "s" + some(n));
  }
  if (const auto n = count(WorksOutsideSteps); n > 0) {
    text += fmt::format(" Most of the work{} lies outside the profiled steps, which therefore say little of the run.",
                        some(n));
  }
  if (const auto n = count(HasNameless); n > 0) {
    text += fmt::format(" Kernels{} have no name in the file: communication among them counts as computing.", some(n));
  }
  return text;
}

// "rank 3, GPU 0": as little as tells the devices apart. Files without a rank are named instead.
std::string TraceLabel(const ViewContext& c, const DeviceDiagnosis& d) {
  const auto& all = c.report.trace->devices;
  const bool one_file =
      std::all_of(all.begin(), all.end(), [&](const DeviceDiagnosis& o) { return o.profile == all.front().profile; });
  const std::string gpu = fmt::format("GPU {}", d.device);
  if (one_file) return gpu;
  return (d.rank ? fmt::format("rank {}, ", *d.rank) : d.file + ", ") + gpu;
}

// What is worth saying about one device: its steps, work outside them, its longest gaps, and what limits it next.
void AddDeviceNotes(const ViewContext& c, const DeviceDiagnosis& d, ReportTable& table) {
  const std::string label = TraceLabel(c, d);
  if (d.steps.median_ns) table.notes.push_back(label + ": " + Describe(d.steps) + ".");
  if (const double outside = ShareOf(d.OutsideStepsNs(), d.BusyNs()); outside >= kWorthSaying) {
    table.notes.push_back(fmt::format("{}: {} of its {} of work ({}) lie outside the profiled steps.", label,
                                      TraceTimeText(d.OutsideStepsNs()), TraceTimeText(d.BusyNs()),
                                      PercentText(outside)));
  }
  std::string gaps;
  const TraceBudget& budget = d.Deciding();
  for (std::size_t i = 0; i < std::min(kNamedGaps, budget.largest_gaps.size()); ++i) {
    const LargeGap& gap = budget.largest_gaps[i];
    gaps += fmt::format("{}{} at {} ({}{})", i > 0 ? ", " : "", TraceTimeText(gap.at.Ns()),
                        TraceTimeText(gap.at.start - budget.span.start), Name(gap.mainly),
                        gap.frames.empty() ? "" : ", under " + Describe(gap.frames));
  }
  if (!gaps.empty())
    table.notes.push_back(fmt::format("{}: longest gaps of {}: {}.", label, Name(budget.window), gaps));
  if (d.next) {
    table.notes.push_back(fmt::format("{}: without {} ({} of the window) the next cause is {}: {} of the rest.", label,
                                      d.next->removed, PercentText(d.next->removed_share), d.next->cause,
                                      PercentText(d.next->share)));
  }
}

}  // namespace

ReportTable TraceTable(const ViewContext& c) {
  ReportTable table;
  if (!HasDeviceEvents(c)) return table;
  table.title = "What the device did, from the trace";
  table.columns = {{"Device"}, {"Window"}};
  for (const char* header : {"Span ms", "compute", "exposed comm", "exposed copy", "idle"}) {
    table.columns.push_back({header, kRight});
  }
  for (const DeviceDiagnosis& d : c.report.trace->devices) {
    for (const TraceBudget& b : d.budgets) {
      table.rows.push_back({TraceLabel(c, d), std::string(Name(b.window)), Ms(b.span.Ns()), ShareCell(b, b.compute_ns),
                            ShareCell(b, b.exposed_comm_ns), ShareCell(b, b.exposed_copy_ns), ShareCell(b, b.idle_ns)});
    }
  }
  for (const DeviceDiagnosis& d : c.report.trace->devices) AddDeviceNotes(c, d, table);
  if (!c.report.trace->apart.empty()) {
    table.notes.push_back(fmt::format("The files are not joined as ranks of one job, as {}: each is diagnosed alone.",
                                      c.report.trace->apart));
  }
  return table;
}

ReportTable IdleTable(const ViewContext& c) {
  ReportTable table;
  if (!HasDeviceEvents(c)) return table;
  table.title = "What idle time waited for";
  table.columns = {{"Device"}, {"Before its next event"}, {"ms", kRight}, {"of window", kRight}};
  for (const DeviceDiagnosis& d : c.report.trace->devices) {
    const TraceBudget& b = d.Deciding();
    // Attribution needs unique correlation ids. A wrong one would blame the wrong part of the program.
    if (!b.idle_by_class) {
      table.notes.push_back(TraceLabel(c, d) +
                            ": not attributed: correlation ids of several processes collide in this file.");
      continue;
    }
    for (std::size_t i = 0; i < kIdleClasses; ++i) {
      const auto idle = static_cast<IdleClass>(i);
      if (b.IdleNs(idle) == 0) continue;
      table.rows.push_back(
          {TraceLabel(c, d), std::string(Name(idle)), Ms(b.IdleNs(idle)), ShareCell(b, b.IdleNs(idle))});
    }
  }
  return table;
}

std::string TracedVerdict(const ViewContext& c) {
  if (!HasDeviceEvents(c)) return "Nothing is known of a GPU: the trace holds no device events.";
  const UsageCost& u = c.report.cost.whole;
  const auto compute_ns = u.phase_ns[static_cast<std::size_t>(Phase::kProductive)];
  const auto idle_ns = u.phase_ns[static_cast<std::size_t>(Phase::kIdle)];
  const auto& devices = c.report.trace->devices;
  const std::size_t apart = CapturesApart(c.report);
  const std::string who =
      apart > 0 ? fmt::format("The GPUs of {} captures", apart) : GpuCount(static_cast<int>(devices.size()), 0);
  std::string text =
      fmt::format("{} computed {} of {} ({}), {} {} idle", who, PercentText(ShareOf(compute_ns, u.window_ns)),
                  TraceTimeText(u.window_ns), WindowNames(devices), devices.size() == 1 ? "was" : "were",
                  PercentText(ShareOf(idle_ns, u.window_ns)));
  // Exposed communication and copies are neither computing nor idle.
  const double other = 1 - ShareOf(compute_ns + idle_ns, u.window_ns);
  if (other >= kWorthSaying) text += fmt::format(" and moved data for {}", PercentText(other));
  text += ".";
  text += Reservations(devices);
  // The price of a GPU-hour is split only if the window represents the run.
  const bool judged = std::none_of(devices.begin(), devices.end(), WorksOutsideSteps);
  if (judged && c.report.cost.rate.per_gpu_hour) {
    if (const Result<Money> lost = Scale(*c.report.cost.rate.per_gpu_hour, u.window_ns - compute_ns, u.window_ns)) {
      text += fmt::format(" Of every {} that a GPU-hour costs, {} bought no computing.",
                          c.ExactCost(*c.report.cost.rate.per_gpu_hour), c.Cost(*lost));
    }
  }
  return text;
}

std::vector<std::string> TraceBasis(const ViewContext& c) {
  if (!c.report.trace) return {};
  std::vector<std::string> lines = {
      "Trace: device time is a union over streams in whole nanoseconds: span = compute + exposed communication + "
      "exposed copies + idle. A kernel that runs counts as computing, however little of the GPU it uses.",
      "A gap is laid at what the host did before it launched the event that ends it: data loader, synchronisation, "
      "copies, operators, other. gpu_span runs from the first to the last device event; profiler_steps over the "
      "profiled steps, and decides where it is there."};
  for (const DeviceDiagnosis& d : c.report.trace->devices) {
    std::string recorded =
        fmt::format("{}: recorded by {}", TraceLabel(c, d), d.profiler.empty() ? "unknown" : d.profiler);
    for (const auto& [name, value] : d.facts) recorded += fmt::format(", {} {}", name, value);
    lines.push_back(recorded + ".");
    std::string kernels;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, d.top_kernels.size()); ++i) {
      const KernelClass& k = d.top_kernels[i];
      kernels +=
          fmt::format("{}{} ({}, {} ms)", i > 0 ? ", " : "", k.name.empty() ? "without a name" : Shortened(k.name, 60),
                      k.op == DeviceOp::kComm ? "communication" : "compute", Ms(k.ns));
    }
    if (!kernels.empty()) lines.push_back(fmt::format("{}: longest kernels: {}.", TraceLabel(c, d), kernels));
  }
  return lines;
}

}  // namespace idleburn

#include "diagnose/trace_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "diagnose/cause_table.h"
#include "diagnose/join_host_evidence.h"
#include "diagnose/peer_wait.h"
#include "diagnose/step_budget.h"
#include "diagnose/trace_causes.h"

namespace idleburn {
namespace {

constexpr std::size_t kEvidenceDevices = 4;  // whose evidence a finding of many devices quotes

// What is left once the largest cause with a known gain is gone: its time is to be cut out.
struct Cut {
  std::string_view cause;  // empty: none has a known gain
  TimeSet time;
  double share = 0;
};

Cut LargestGain(const DeviceTrace& trace, const TraceVerdict& verdict) {
  Cut cut;
  const auto first =
      std::find_if(verdict.findings.begin(), verdict.findings.end(), [](const Finding& f) { return f.bound > 0; });
  if (first == verdict.findings.end()) return cut;
  cut.cause = first->cause;
  for (const TraceClaim& claim : verdict.claims) {
    if (claim.cause == cut.cause) cut.time = Union(cut.time, claim.time);
  }
  cut.share = trace.budget.Share(cut.time.TotalNs());
  return cut;
}

// Of the kernels' time, that of kernels whose names are not in the file.
double NamelessShare(const ProfiledDevice& device) {
  std::int64_t all = 0;
  std::int64_t nameless = 0;
  for (const DeviceEvent& e : device.events) {
    if (e.op != DeviceOp::kKernel && e.op != DeviceOp::kComm) continue;
    all += e.end_ns - e.start_ns;
    if (e.name == kNoName) nameless += e.end_ns - e.start_ns;
  }
  return all == 0 ? 0 : static_cast<double>(nameless) / static_cast<double>(all);
}

// Diagnoses the rest.
std::optional<NextBottleneck> FindNext(const TracedDevice& device, const DeviceTrace& whole, double nameless,
                                       const Cut& cut) {
  if (cut.cause.empty()) return std::nullopt;
  const DeviceTrace left = device.Without(whole, cut.time);
  if (left.budget.span.Ns() == 0) return std::nullopt;
  const StepStatistics steps = MeasureSteps(left.steps, left.busy_by_step);
  NextBottleneck next;
  next.removed = cut.cause;
  next.removed_share = cut.share;
  next.findings = FindTraceCauses({left, steps, nullptr, {}, nameless}).findings;
  next.cause = next.findings.front().cause;
  next.share = next.findings.front().share;
  next.adds = next.findings.front().bound * (1 - next.removed_share);
  return next;
}

// What the other ranks say of one, or why they say nothing.
struct Joined {
  const PeerWait* peers = nullptr;
  std::string_view apart;
};

// By the window that decides.
Cut Diagnose(const DeviceTrace& deciding, const Joined& joined, double nameless, const HostEvidence& host,
             DeviceDiagnosis& d) {
  const Profile& profile = *deciding.profile;
  TraceVerdict verdict = FindTraceCauses({deciding, d.steps, joined.peers, joined.apart, nameless});
  for (const TraceClaim& claim : verdict.claims) {
    d.claims.push_back({claim.cause, deciding.budget.Share(claim.time.TotalNs())});
  }
  Cut cut = LargestGain(deciding, verdict);
  const bool few = !d.steps.Enough() || profile.events_missing;
  d.findings = std::move(verdict.findings);
  for (Finding& f : d.findings) JoinHostEvidence(host, few, f);
  return cut;
}

std::vector<DeviceDiagnosis> DiagnoseDevices(const Profile& profile, const Joined& joined, const HostEvidence& host) {
  const LaunchIndex launches(profile);
  const StartOrder<HostCall> calls(profile.calls);
  const IntervalSet* peer_wait = joined.peers == nullptr ? nullptr : &joined.peers->waiting;
  std::vector<DeviceDiagnosis> devices;
  for (const ProfiledDevice& device : profile.devices) {
    DeviceDiagnosis& d = devices.emplace_back();
    d.file = profile.file;
    d.rank = profile.rank;
    d.device = device.id;
    d.model = device.model;
    d.profiler = profile.profiler;
    d.events_missing = profile.events_missing;
    d.facts = profile.facts;
    d.top_kernels = TopKernels(profile, device);
    d.memory_held = MemoryHeld(device);
    const TracedDevice traced(profile, device, launches, calls);
    DeviceTrace deciding = traced.GpuSpan(peer_wait);
    d.budgets.push_back(deciding.budget);
    if (std::optional<DeviceTrace> steps = traced.Steps(peer_wait)) {
      d.steps = MeasureSteps(steps->steps, steps->busy_by_step);
      if (steps->budget.busy_ns == 0) {  // they say nothing of this device
        d.budgets.insert(d.budgets.begin(), steps->budget);
        d.findings.push_back(WorkOutsideSteps({deciding, d.steps}, steps->budget.span));
        continue;
      }
      deciding = std::move(*steps);
      d.budgets.push_back(deciding.budget);
    }
    const double nameless = NamelessShare(device);
    d.next = FindNext(traced, deciding, nameless, Diagnose(deciding, joined, nameless, host, d));
  }
  return devices;
}

// Findings with one cause and title of several devices become one: its share is of all their windows. The largest
// first, but "healthy" last.
std::vector<Finding> Gather(const std::vector<DeviceDiagnosis>& devices) {
  std::int64_t windows = 0;
  for (const DeviceDiagnosis& d : devices) windows += d.Deciding().span.Ns();
  struct Row {
    Finding finding;
    double bound_ns = 0;
    std::size_t devices = 0;
  };
  std::vector<Row> rows;
  for (const DeviceDiagnosis& d : devices) {
    for (const Finding& f : d.findings) {
      auto at = std::find_if(rows.begin(), rows.end(),
                             [&](const Row& r) { return r.finding.cause == f.cause && r.finding.title == f.title; });
      if (at == rows.end()) {
        rows.push_back({f, 0, 0});
        at = rows.end() - 1;
      } else {
        at->finding.gpu_ns += f.gpu_ns;
        at->finding.status = std::max(at->finding.status, f.status);
        if (at->devices < kEvidenceDevices) at->finding.evidence.push_back(f.evidence.front());
      }
      at->bound_ns += f.bound * static_cast<double>(d.Deciding().span.Ns());
      ++at->devices;
    }
  }
  std::vector<Finding> findings;
  for (Row& row : rows) {
    Finding& f = row.finding;
    if (windows > 0) {
      f.share = static_cast<double>(f.gpu_ns) / static_cast<double>(windows);
      f.bound = row.bound_ns / static_cast<double>(windows);
    }
    if (devices.size() > 1) {
      f.evidence.push_back(
          fmt::format("seen on {} of {} devices; shares are of all their windows", row.devices, devices.size()));
    }
    findings.push_back(std::move(f));
  }
  // That some devices are well is no news beside what others lose.
  const auto key = [](const Finding& f) { return std::pair(f.cause == "healthy", -f.share); };
  std::stable_sort(findings.begin(), findings.end(),
                   [key](const Finding& a, const Finding& b) { return key(a) < key(b); });
  return findings;
}

}  // namespace

TraceDiagnosis DiagnoseProfiles(std::span<const Profile> profiles, const HostEvidence& host) {
  TraceDiagnosis diagnosis;
  const std::vector<std::optional<PeerWait>> peers = JoinRanks(profiles);
  if (profiles.size() > 1) diagnosis.apart = WhyApart(profiles);
  const bool any = std::any_of(peers.begin(), peers.end(), [](const auto& p) { return p.has_value(); });
  if (profiles.size() > 1 && diagnosis.apart.empty() && !any) diagnosis.apart = "no collective stands in two of them";
  std::vector<Finding> without_devices;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i].devices.empty()) without_devices.push_back(NoDevices(profiles[i]));
    const Joined joined{peers[i] ? &*peers[i] : nullptr, diagnosis.apart};
    for (DeviceDiagnosis& d : DiagnoseDevices(profiles[i], joined, host)) {
      d.profile = i;
      diagnosis.devices.push_back(std::move(d));
    }
  }
  diagnosis.findings = Gather(diagnosis.devices);
  diagnosis.findings.insert(diagnosis.findings.end(), without_devices.begin(), without_devices.end());
  return diagnosis;
}

}  // namespace idleburn

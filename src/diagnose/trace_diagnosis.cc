#include "diagnose/trace_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "diagnose/cause_table.h"
#include "diagnose/join_host_evidence.h"
#include "diagnose/peer_wait.h"
#include "diagnose/trace_causes.h"
#include "diagnose/without_time.h"

namespace idleburn {
namespace {

constexpr std::size_t kEvidenceDevices = 4;  // whose evidence a finding of many devices quotes

// Removes what the largest cause with a known gain claims, and diagnoses the rest.
std::optional<NextBottleneck> FindNext(const DeviceTrace& trace, const TraceVerdict& verdict) {
  const auto first =
      std::find_if(verdict.findings.begin(), verdict.findings.end(), [](const Finding& f) { return f.bound > 0; });
  if (first == verdict.findings.end()) return std::nullopt;
  IntervalSet removed;
  for (const TraceClaim& claim : verdict.claims) {
    if (claim.cause == first->cause) removed = Union(removed, claim.time);
  }
  const auto device = static_cast<std::size_t>(trace.device - trace.profile->devices.data());
  const Profile shorter = WithoutTime(*trace.profile, device, removed);
  const DeviceTrace left = TraceDecidingWindow(shorter, shorter.devices.front());
  if (left.budget.span.Ns() == 0) return std::nullopt;
  const StepStatistics steps = MeasureSteps(left.steps, left.split.busy);
  NextBottleneck next;
  next.removed = first->cause;
  next.removed_share = trace.budget.Share(removed.TotalNs());
  next.findings = FindTraceCauses({left, steps}).findings;
  next.cause = next.findings.front().cause;
  next.share = next.findings.front().share;
  next.adds = next.findings.front().bound * (1 - next.removed_share);
  return next;
}

DeviceDiagnosis DiagnoseDevice(std::span<DeviceTrace> windows, const PeerWait* peers, const HostEvidence& host) {
  const DeviceTrace& deciding = windows.back();
  const Profile& profile = *deciding.profile;
  DeviceDiagnosis d;
  d.file = profile.file;
  d.rank = profile.rank;
  d.device = deciding.device->id;
  d.model = deciding.device->model;
  d.profiler = profile.profiler;
  d.facts = profile.facts;
  d.steps = MeasureSteps(deciding.steps, deciding.split.busy);
  d.top_kernels = TopKernels(profile, *deciding.device);
  TraceVerdict verdict = FindTraceCauses({deciding, d.steps, peers});
  for (const TraceClaim& claim : verdict.claims) {
    d.claims.push_back({claim.cause, deciding.budget.Share(claim.time.TotalNs())});
  }
  d.next = FindNext(deciding, verdict);
  const bool few = !d.steps.Enough() || profile.events_missing;
  d.findings = std::move(verdict.findings);
  for (Finding& f : d.findings) JoinHostEvidence(host, few, f);
  for (DeviceTrace& window : windows) d.budgets.push_back(std::move(window.budget));
  return d;
}

// Findings with one cause and title of several devices become one: its share is of all their windows.
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
    if (row.devices > 1) f.evidence.push_back(fmt::format("seen on {} of {} devices", row.devices, devices.size()));
    findings.push_back(std::move(f));
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.share > b.share; });
  return findings;
}

}  // namespace

TraceDiagnosis DiagnoseProfiles(std::span<const Profile> profiles, const HostEvidence& host) {
  TraceDiagnosis diagnosis;
  const std::vector<std::optional<PeerWait>> peers = JoinRanks(profiles);
  std::vector<Finding> without_devices;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    std::vector<DeviceTrace> traces = TraceDevices(profiles[i]);
    for (std::size_t from = 0; from < traces.size();) {
      std::size_t to = from + 1;
      while (to < traces.size() && traces[to].device == traces[from].device) ++to;
      diagnosis.devices.push_back(
          DiagnoseDevice(std::span(traces).subspan(from, to - from), peers[i] ? &*peers[i] : nullptr, host));
      diagnosis.devices.back().profile = i;
      from = to;
    }
    if (traces.empty()) without_devices.push_back(NoDevices(profiles[i]));
  }
  diagnosis.findings = Gather(diagnosis.devices);
  diagnosis.findings.insert(diagnosis.findings.end(), without_devices.begin(), without_devices.end());
  return diagnosis;
}

}  // namespace idleburn

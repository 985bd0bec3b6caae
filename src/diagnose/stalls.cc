#include "diagnose/stalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "classify/thresholds.h"
#include "diagnose/host_evidence.h"
#include "stats/order.h"

namespace idleburn {
// SM activity decides where the verdict used it. Otherwise power does.
bool Spins(const Thresholds& thresholds, const DeviceResult& d, const Timeline::Bucket& bucket) {
  const std::int64_t bound = bucket.phase_ns[kBoundPhase];
  if (bound == 0 || bound * 2 < bucket.ObservedNs()) return false;
  if (d.spin.evidence == SpinVerdict::Evidence::kActivity) {
    return bucket.sm_active.Mean().value_or(kFull) < static_cast<double>(thresholds.spin_sm_below);
  }
  const std::optional<double> milliwatts = bucket.busy_power.Mean();
  return d.spin.below_watts && milliwatts && *milliwatts < 1000 * static_cast<double>(*d.spin.below_watts);
}

bool TakesPart(const DeviceTotals& totals) { return BusyPhasesNs(totals) > 0 || totals.idle_held_ns > 0; }

std::int64_t CommonWidth(const RunResult& run) {
  std::int64_t width = 1;
  for (const DeviceResult& d : run.devices) width = std::max(width, d.totals.timeline.bucket_seconds);
  return width;
}

namespace {

// Mean utilization in seconds [from, to). Buckets of another width count where they overlap.
std::optional<double> UtilizationIn(const Timeline& t, std::int64_t from, std::int64_t to) {
  Integral sum;
  const std::int64_t width = t.bucket_seconds;
  const std::int64_t first = std::max(from / width - t.first, std::int64_t{0});
  const std::int64_t end = std::min((to + width - 1) / width - t.first, static_cast<std::int64_t>(t.buckets.size()));
  for (std::int64_t i = first; i < end; ++i) sum.Merge(t.buckets[static_cast<std::size_t>(i)].utilization);
  return sum.Mean();
}

// The number of the bucket of width `coarse` that contains bucket `i` of `t`.
std::int64_t CoarseBucket(const Timeline& t, std::size_t i, std::int64_t coarse) {
  return (t.first + static_cast<std::int64_t>(i)) * t.bucket_seconds / coarse;
}

// Whether the device is busy at low power in a bucket.
bool IsDim(const Thresholds& thresholds, const DeviceResult& d, const Timeline::Bucket& bucket) {
  const std::optional<double> milliwatts = bucket.busy_power.Mean();
  const std::int64_t bound = bucket.phase_ns[kBoundPhase];
  return milliwatts && bound * 2 >= bucket.ObservedNs() && d.spin.limit_mw &&
         thresholds.IsDim(static_cast<std::int64_t>(*milliwatts), *d.spin.limit_mw);
}

// The coarse buckets in which a device waits, in ascending order.
std::vector<std::int64_t> WaitingBuckets(const Thresholds& thresholds, const DeviceResult& d, Waiting waiting,
                                         std::int64_t coarse) {
  std::vector<std::int64_t> numbers;
  const bool spin = waiting == Waiting::kSpin;
  if ((spin ? d.spin.time.ns : d.spin.dim_ns) == 0) return numbers;
  const Timeline& t = d.totals.timeline;
  for (std::size_t i = 0; i < t.buckets.size(); ++i) {
    if (!(spin ? Spins(thresholds, d, t.buckets[i]) : IsDim(thresholds, d, t.buckets[i]))) continue;
    const std::int64_t number = CoarseBucket(t, i, coarse);
    if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::optional<LatePeer> FindLatePeer(const Scene& scene, Waiting waiting) {
  const std::int64_t width = CommonWidth(scene.run);
  std::map<std::int64_t, int> spinning;  // waiting devices by bucket, so the work is linear in devices
  for (const DeviceResult& d : scene.run.devices) {
    for (const std::int64_t number : WaitingBuckets(scene.thresholds, d, waiting, width)) ++spinning[number];
  }
  Example latest(scene.cost);
  for (const DeviceResult& low : scene.run.devices) {
    if (!TakesPart(low.totals)) continue;
    const std::vector<std::int64_t> own = WaitingBuckets(scene.thresholds, low, waiting, width);
    int together = 0;
    int late = 0;
    for (const auto& [number, devices] : spinning) {
      if (devices == 1 && std::binary_search(own.begin(), own.end(), number)) continue;  // only this device waits
      const std::optional<double> mean = UtilizationIn(low.totals.timeline, number * width, (number + 1) * width);
      together += mean ? 1 : 0;
      late += mean && *mean < static_cast<double>(kLateBelow) ? 1 : 0;
    }
    // A peer must be late more often than not.
    const double share = together == 0 ? 0 : static_cast<double>(late) / together;
    if (share >= kLateShare) latest.Offer(low, share);
  }
  if (latest.best() == nullptr) return std::nullopt;
  return LatePeer{latest.best()->device, latest.has()};
}

namespace {

// What the GPUs of a job did in one bucket of time.
struct Moment {
  double most = -1;  // utilization, percent
  double least = 101;
  DeviceId low = 0;
  int spinning = 0;
};

using Moments = std::map<std::int64_t, Moment>;  // by bucket number

// A stretch of waiting.
struct Episode {
  std::int64_t from = 0;  // seconds since the epoch
  std::int64_t to = 0;
  DeviceId low = 0;  // the GPU that was low for most of it
};

// The moments of all GPUs that take part, on a common bucket width.
Moments ReadMoments(const Scene& scene, std::int64_t width) {
  Moments moments;
  for (const DeviceResult& d : scene.run.devices) {
    if (!TakesPart(d.totals)) continue;
    Timeline timeline = d.totals.timeline;
    // Timelines of GPUs may differ in width.
    while (timeline.bucket_seconds < width) timeline.Coarsen();
    for (std::size_t i = 0; i < timeline.buckets.size(); ++i) {
      const std::optional<double> mean = timeline.buckets[i].utilization.Mean();
      if (!mean) continue;
      Moment& moment = moments[timeline.first + static_cast<std::int64_t>(i)];
      const double percent = *mean / static_cast<double>(kPercent);
      moment.most = std::max(moment.most, percent);
      if (percent < moment.least || (percent == moment.least && scene.cost.StandsBefore(d.device, moment.low))) {
        moment.least = percent;
        moment.low = d.device;
      }
      if (d.spin.time.ns > 0 && Spins(scene.thresholds, d, timeline.buckets[i])) ++moment.spinning;
    }
  }
  return moments;
}

// Joins consecutive moments of waiting to episodes. One moment in between may lack it, because readings of two GPUs
// may not meet in one bucket.
std::vector<Episode> FindEpisodes(const Moments& moments, std::int64_t width,
                                  const std::function<bool(const Moment&)>& waits) {
  std::vector<Episode> episodes;
  std::map<DeviceId, int> low;
  for (const auto& [number, moment] : moments) {
    if (!waits(moment)) continue;
    const std::int64_t from = number * width;
    if (episodes.empty() || from - episodes.back().to > width) {
      episodes.push_back({from, from, moment.low});
      low.clear();
    }
    Episode& episode = episodes.back();
    episode.to = from + width;
    if (++low[moment.low] > low[episode.low]) episode.low = moment.low;
  }
  return episodes;
}

// Whether a second lies in an episode.
bool Contains(const std::vector<Episode>& episodes, std::int64_t second) {
  const auto after = std::upper_bound(episodes.begin(), episodes.end(), second,
                                      [](std::int64_t s, const Episode& e) { return s < e.from; });
  return after != episodes.begin() && second < std::prev(after)->to;
}

// The median interval between starts in seconds, if the intervals are regular.
std::optional<double> RegularPeriod(const std::vector<Episode>& episodes) {
  if (episodes.size() < kStallEpisodes) return std::nullopt;
  std::vector<double> intervals;
  for (std::size_t i = 1; i < episodes.size(); ++i) {
    intervals.push_back(static_cast<double>(episodes[i].from - episodes[i - 1].from));
  }
  std::sort(intervals.begin(), intervals.end());
  const double median = SortedQuantile(intervals, 0.5);
  const double spread = SortedQuantile(intervals, 0.75) - SortedQuantile(intervals, 0.25);
  return spread < kRegularity * median ? std::optional(median) : std::nullopt;
}

// The GPU that is low in most episodes, and its share of them.
std::pair<DeviceId, double> UsualLow(const CostReport& cost, const std::vector<Episode>& episodes) {
  std::map<DeviceId, int> count;
  for (const Episode& e : episodes) ++count[e.low];
  const auto most = std::max_element(count.begin(), count.end(), [&](const auto& a, const auto& b) {
    return a.second < b.second || (a.second == b.second && cost.StandsBefore(b.first, a.first));
  });
  return {most->first, static_cast<double>(most->second) / static_cast<double>(episodes.size())};
}

// Whether the job writes more inside the episodes than outside; absent if writes were not read.
struct Writing {
  std::optional<bool> seen;
  std::string words;
};

// Compares writes inside and outside the episodes. A sign must reach a minimum and rise by a factor, because
// jobs log all the time.
Writing WritingIn(const Scene& scene, const std::vector<Episode>& episodes, const Moments& moments,
                  std::int64_t width) {
  if (scene.machine.host == nullptr) return {};
  ChosenTimes inside;
  ChosenTimes outside;
  while (inside.bucket_seconds < width) inside.Coarsen();
  while (outside.bucket_seconds < width) outside.Coarsen();
  for (const auto& entry : moments) {
    const std::int64_t ns = width * kNanosPerSecond;
    const bool in = Contains(episodes, entry.first * width);
    inside.At(entry.first * width).Merge({in ? ns : 0, ns});
    outside.At(entry.first * width).Merge({in ? 0 : ns, ns});
  }
  const HostEvidence in = MeansOver(*scene.machine.host, inside);
  const HostEvidence out = MeansOver(*scene.machine.host, outside);
  struct Sign {
    std::optional<double> HostEvidence::*value;
    double least;
    double shown_as;
    const char* words;
  };
  constexpr Sign kSigns[] = {
      {&HostEvidence::write_bytes_rate, kWrites, 1e-6,
       "the job writes {:.1f} MB/s (PID/io write_bytes), {:.1f} MB/s otherwise"},
      {&HostEvidence::d_state, 0.3, 100, "its processes are in state D {:.1f} % of the time, {:.1f} % otherwise"},
      {&HostEvidence::psi_io_full, 0.1, 100,
       "all tasks wait for storage {:.1f} % of the time (pressure/io full), {:.1f} % otherwise"}};
  Writing writing;
  if (in.write_bytes_rate) writing.seen = false;
  for (const Sign& sign : kSigns) {
    const std::optional<double> here = in.*sign.value;
    const double beside = (out.*sign.value).value_or(0);
    if (!here) continue;
    const bool rises = *here >= sign.least && *here >= kRises * beside;
    if (!rises && writing.seen.value_or(true)) continue;  // it would not tell why
    if (rises && !writing.seen.value_or(false)) writing.words.clear();
    if (rises) writing.seen = true;
    if (!writing.words.empty()) writing.words += "; ";
    writing.words += fmt::format(fmt::runtime(sign.words), sign.shown_as * *here, sign.shown_as * beside);
  }
  return writing;
}

// Claims the unclaimed buckets of the episodes on every GPU that takes part, and says what a fix could recover.
StallClaim Take(const Scene& scene, const std::vector<Episode>& episodes, Claims& claims) {
  StallClaim taken;
  for (std::size_t i = 0; i < scene.run.devices.size(); ++i) {
    const DeviceResult& d = scene.run.devices[i];
    if (!TakesPart(d.totals)) continue;
    const Timeline& t = d.totals.timeline;
    std::int64_t spin = 0;
    std::int64_t low = 0;
    double lost = 0;
    for (std::size_t b = 0; b < t.buckets.size(); ++b) {
      const Timeline::Bucket& bucket = t.buckets[b];
      if (claims.buckets[i][b] || !Contains(episodes, (t.first + static_cast<std::int64_t>(b)) * t.bucket_seconds))
        continue;
      claims.buckets[i][b] = true;
      low += LowNs(bucket);
      lost += LostNs(bucket, LowNs(bucket));
      if (Spins(scene.thresholds, d, bucket)) spin += bucket.phase_ns[kBoundPhase];
    }
    spin = std::min(spin, d.spin.time.ns);
    taken.spin_ns += scene.Weighted(spin, d.device);
    taken.low_ns += scene.Weighted(low, d.device);
    taken.where[d.device] = scene.Weighted(spin, d.device) + scene.Weighted(low, d.device);
    taken.wasted[d.device] = scene.Weighted(spin + std::llround(lost), d.device);
    taken.wasted_ns += taken.wasted[d.device];
  }
  return taken;
}

// The total length in seconds.
std::int64_t TotalSeconds(const std::vector<Episode>& episodes) {
  std::int64_t seconds = 0;
  for (const Episode& e : episodes) seconds += e.to - e.from;
  return seconds;
}

// The utilization of the job at work: what its busiest GPU exceeds in a tenth of the time.
double WorkLevel(const Moments& moments) {
  std::vector<double> most;
  for (const auto& entry : moments) most.push_back(entry.second.most);
  std::sort(most.begin(), most.end());
  return most.empty() ? 0 : SortedQuantile(most, 0.9);
}

// Keeps the moments from the first to the last work. Earlier ones are start-up, and later nobody waits.
void CutToWork(const std::function<bool(const Moment&)>& stands, Moments* moments) {
  const auto works = [&](const auto& entry) { return !stands(entry.second); };
  moments->erase(moments->begin(), std::find_if(moments->begin(), moments->end(), works));
  while (!moments->empty() && stands(std::prev(moments->end())->second)) moments->erase(std::prev(moments->end()));
}

}  // namespace

// Looks for episodes, then for writes in them, then for the GPU that is usually low. Nothing is claimed unless the
// stall is material as a whole.
StallClaim FindPeerStall(const Scene& scene, Claims& claims, std::vector<Finding>& findings) {
  const std::int64_t width = CommonWidth(scene.run);
  const Moments moments = ReadMoments(scene, width);
  const std::vector<Episode> episodes =
      FindEpisodes(moments, width, [](const Moment& m) { return m.spinning > 0 && m.most - m.least >= kSpreadPoints; });
  if (episodes.empty()) return {};
  const std::optional<double> period = RegularPeriod(episodes);
  const auto [low, share] = UsualLow(scene.cost, episodes);
  const Writing writing = WritingIn(scene, episodes, moments, width);
  const bool recurs = episodes.size() >= kStallEpisodes;
  const bool checkpoint = recurs && writing.seen.value_or(period.has_value());
  // A job that writes may just save; only without writes is a low GPU a straggler.
  const bool straggler = writing.seen && !*writing.seen && share > kSameGpu;
  if (!checkpoint && !straggler) return {};

  // Claims are copied first, because an immaterial stall must claim nothing.
  Claims with = claims;
  const StallClaim taken = Take(scene, episodes, with);
  if (scene.Share(taken.spin_ns + taken.low_ns) < kMaterialShare) return {};
  claims = std::move(with);
  Finding f =
      MakeFinding(scene, checkpoint ? "checkpoint_stall" : "straggler_or_dependency",
                  writing.seen ? Status::kConfirmed : Status::kLikely, taken.spin_ns + taken.low_ns, taken.where);
  f.bound = scene.Share(taken.wasted_ns);
  claims.waste.Charge(taken.wasted, f);
  f.evidence.push_back(fmt::format(
      "in {} episode{} of {:.0f} s in all, {} of one GPU is {:.0f} points or more below that of spinning GPUs "
      "(threshold {} episode{}): {:.0f} GPU-s of all GPUs (threshold: 3 % of observed time)",
      episodes.size(), episodes.size() == 1 ? "" : "s", static_cast<double>(TotalSeconds(episodes)),
      scene.BusyCounter(), kSpreadPoints, checkpoint ? kStallEpisodes : 1, checkpoint ? "s" : "", Seconds(f.gpu_ns)));
  f.evidence.push_back(fmt::format("{} is the low GPU in {:.0f} % of them", scene.NameOf(low), 100 * share));
  if (period) f.evidence.push_back(fmt::format("they begin regularly, every {:.0f} s", *period));
  if (writing.seen) f.evidence.push_back("in that time " + writing.words);
  if (!writing.seen) f.refutes.emplace_back("the job's writes were not read: idleburn run -- CMD reads them");
  findings.push_back(std::move(f));
  return taken;
}

// Names nothing unless the job was seen to write in the episodes. A job may stand still for any other reason.
std::int64_t FindWriteStall(const Scene& scene, Claims& claims, std::vector<Finding>& findings) {
  const std::int64_t width = CommonWidth(scene.run);
  Moments moments = ReadMoments(scene, width);
  const double level = WorkLevel(moments);
  const auto stands = [&](const Moment& m) { return level - m.most >= kSpreadPoints; };
  CutToWork(stands, &moments);
  const std::vector<Episode> episodes = FindEpisodes(moments, width, stands);
  if (episodes.size() < kStallEpisodes) return 0;
  const Writing writing = WritingIn(scene, episodes, moments, width);
  if (!writing.seen.value_or(false)) return 0;

  Claims with = claims;
  const StallClaim taken = Take(scene, episodes, with);
  if (scene.Share(taken.low_ns) < kMaterialShare) return 0;
  claims = std::move(with);
  Finding f = MakeFinding(scene, "checkpoint_stall", Status::kLikely, taken.low_ns, taken.where);
  f.bound = scene.Share(taken.wasted_ns);
  claims.waste.Charge(taken.wasted, f);
  f.evidence.push_back(fmt::format(
      "in {} episodes of {} s in all, {} of every GPU is {:.0f} points or more below the {:.0f} % of its work "
      "(threshold {} episodes): {:.0f} GPU-s of all GPUs (threshold: 3 % of observed time)",
      episodes.size(), TotalSeconds(episodes), scene.BusyCounter(), kSpreadPoints, level, kStallEpisodes,
      Seconds(f.gpu_ns)));
  if (const std::optional<double> period = RegularPeriod(episodes)) {
    f.evidence.push_back(fmt::format("they begin regularly, every {:.0f} s", *period));
  }
  f.evidence.push_back("in that time " + writing.words);
  f.refutes.emplace_back("not measured: what the job writes; an evaluation that ends with a save looks the same");
  findings.push_back(std::move(f));
  return taken.low_ns;
}

}  // namespace idleburn

#include "diagnose/stalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "diagnose/host_means.h"
#include "diagnose/late_peer.h"
#include "diagnose/make_finding.h"
#include "stats/order.h"

namespace idleburn {
namespace {

// What the GPUs of a job did at once.
struct Moment {
  double most = -1;  // utilisation, percent
  double least = 101;
  DeviceId low = 0;
  int spinning = 0;
};

using Moments = std::map<std::int64_t, Moment>;  // by the number of the bucket

struct Episode {
  std::int64_t from = 0;  // seconds since the epoch
  std::int64_t to = 0;
  DeviceId low = 0;  // the GPU that was low for most of it
};

Moments MomentsOf(const Scene& scene, std::int64_t width) {
  Moments moments;
  for (const DeviceResult& d : scene.run.devices) {
    if (!TakesPart(d.totals)) continue;
    Timeline timeline = d.totals.timeline;
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

// Moments of waiting in a row; one between two may lack it, when readings of two GPUs do not meet.
std::vector<Episode> EpisodesOf(const Moments& moments, std::int64_t width,
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

bool Contains(const std::vector<Episode>& episodes, std::int64_t second) {
  const auto after = std::upper_bound(episodes.begin(), episodes.end(), second,
                                      [](std::int64_t s, const Episode& e) { return s < e.from; });
  return after != episodes.begin() && second < std::prev(after)->to;
}

// Median of the intervals from start to start, in seconds, if these are regular.
std::optional<double> PeriodOf(const std::vector<Episode>& episodes) {
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

// The GPU that is low in most episodes, and in which share of them.
std::pair<DeviceId, double> UsualLow(const CostReport& cost, const std::vector<Episode>& episodes) {
  std::map<DeviceId, int> count;
  for (const Episode& e : episodes) ++count[e.low];
  const auto most = std::max_element(count.begin(), count.end(), [&](const auto& a, const auto& b) {
    return a.second < b.second || (a.second == b.second && cost.StandsBefore(b.first, a.first));
  });
  return {most->first, static_cast<double>(most->second) / static_cast<double>(episodes.size())};
}

// Whether the job writes in the episodes, more than beside them; absent where that was not read.
struct Writing {
  std::optional<bool> seen;
  std::string words;
};

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
       "the job writes {:.1f} MB/s (PID/io write_bytes), {:.1f} beside"},
      {&HostEvidence::d_state, 0.3, 100, "its processes are in state D {:.1f} % of the time, {:.1f} % beside"},
      {&HostEvidence::psi_io_full, 0.1, 100,
       "all tasks wait for storage {:.1f} % (pressure/io full), {:.1f} % beside"}};
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

// Takes what nobody has claimed of the episodes, of every GPU that works, and says what a fix could give back.
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
      if (Spins(scene.thresholds, d, bucket)) spin += bucket.phase_ns[static_cast<std::size_t>(Phase::kComputeBound)];
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

std::int64_t LengthOf(const std::vector<Episode>& episodes) {
  std::int64_t seconds = 0;
  for (const Episode& e : episodes) seconds += e.to - e.from;
  return seconds;
}

// Utilisation while the job works: what its busiest GPU reaches in a tenth of the time.
double LevelOf(const Moments& moments) {
  std::vector<double> most;
  for (const auto& entry : moments) most.push_back(entry.second.most);
  std::sort(most.begin(), most.end());
  return most.empty() ? 0 : SortedQuantile(most, 0.9);
}

// From the first to the last moment at work: what comes before is start-up, and after it nobody waits for more.
void CutToWork(const std::function<bool(const Moment&)>& stands, Moments* moments) {
  const auto works = [&](const auto& entry) { return !stands(entry.second); };
  moments->erase(moments->begin(), std::find_if(moments->begin(), moments->end(), works));
  while (!moments->empty() && stands(std::prev(moments->end())->second)) moments->erase(std::prev(moments->end()));
}

}  // namespace

StallClaim FindPeerStall(const Scene& scene, Claims& claims, std::vector<Finding>& findings) {
  const std::int64_t width = CommonWidth(scene.run);
  const Moments moments = MomentsOf(scene, width);
  const std::vector<Episode> episodes =
      EpisodesOf(moments, width, [](const Moment& m) { return m.spinning > 0 && m.most - m.least >= kSpreadPoints; });
  if (episodes.empty()) return {};
  const std::optional<double> period = PeriodOf(episodes);
  const auto [low, share] = UsualLow(scene.cost, episodes);
  const Writing writing = WritingIn(scene, episodes, moments, width);
  const bool recurs = episodes.size() >= kStallEpisodes;
  const bool checkpoint = recurs && writing.seen.value_or(period.has_value());
  const bool straggler = writing.seen && !*writing.seen && share > kSameGpu;
  if (!checkpoint && !straggler) return {};

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
      "in {} episode{} of {:.0f} s in all, {} of one GPU is {:.0f} points or more below that of others that spin "
      "(threshold {} episode{}): {:.0f} GPU-s of all GPUs (threshold: 3 % of observed time)",
      episodes.size(), episodes.size() == 1 ? "" : "s", static_cast<double>(LengthOf(episodes)), scene.BusyCounter(),
      kSpreadPoints, checkpoint ? kStallEpisodes : 1, checkpoint ? "s" : "", Seconds(f.gpu_ns)));
  f.evidence.push_back(fmt::format("{} is the low one in {:.0f} % of them", scene.NameOf(low), 100 * share));
  if (period) f.evidence.push_back(fmt::format("they begin every {:.0f} s, which is regular", *period));
  if (writing.seen) f.evidence.push_back("meanwhile " + writing.words);
  if (!writing.seen) f.refutes.emplace_back("what the job writes was not read: idleburn run -- CMD reads it");
  findings.push_back(std::move(f));
  return taken;
}

std::int64_t FindWriteStall(const Scene& scene, Claims& claims, std::vector<Finding>& findings) {
  const std::int64_t width = CommonWidth(scene.run);
  Moments moments = MomentsOf(scene, width);
  const double level = LevelOf(moments);
  const auto stands = [&](const Moment& m) { return level - m.most >= kSpreadPoints; };
  CutToWork(stands, &moments);
  const std::vector<Episode> episodes = EpisodesOf(moments, width, stands);
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
      episodes.size(), LengthOf(episodes), scene.BusyCounter(), kSpreadPoints, level, kStallEpisodes,
      Seconds(f.gpu_ns)));
  if (const std::optional<double> period = PeriodOf(episodes)) {
    f.evidence.push_back(fmt::format("they begin every {:.0f} s, which is regular", *period));
  }
  f.evidence.push_back("meanwhile " + writing.words);
  f.refutes.emplace_back("not measured: what is written; an evaluation that ends with a save looks the same");
  findings.push_back(std::move(f));
  return taken.low_ns;
}

}  // namespace idleburn

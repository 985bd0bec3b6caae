#include "telemetry/counter_choice.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace idleburn {
namespace {

// Prefixes of counters, the best first. If several match, the longest counts. A source ranks high if its readings
// come close to the driver's own: often, at a known time, with all digits.
constexpr std::string_view kPreferred[] = {
    // Asked of the driver by idleburn, or by one of our kind, many times a second.
    "nvml.",
    "amdgpu.",
    "agent.",
    // Written when it was asked, with its decimals.
    "nvidia_smi.",
    "nvidia_smi_xml.",
    "rocm_smi.",
    // Whole watts; rows of processes.
    "nvidia_smi_dmon.",
    "nvidia_smi_compute_apps.",
    "nvidia_smi_pmon.",
    // Stamped when it was scraped, up to 30 s after it was read; cycles are exact whatever the distance of scrapes.
    "dcgm.DCGM_FI_PROF_SM_CYCLES",
    "dcgm.",
    // An instant of a scrape, where "power usage" is the mean of a second; a rate in odd units, that may be negative.
    "dcgm.DCGM_FI_DEV_POWER_USAGE_INSTANT",
    "dcgm.DCGM_FI_DEV_BOARD_POWER_RAW_WATTS",
    "dcgm.DCGM_FI_DEV_NVLINK",
    // Others that are scraped.
    "nvidia_smi_exporter.",
    "nvidia_smi_exporter.power_draw_average",
    "nvidia_smi_exporter.power_draw_instant",
    "nvitop.",
    "all_smi.",
    "all_smi.energy_consumed",  // the exporter's own sum of power
    "all_smi.gpu_energy_consumed",
    "jobstats.",
    "dynolog.",
    "telegraf.",
    // Means of a minute, and of a job.
    "cloudwatch.",
    "gcp.",
    "dcgmi.",
    // Columns of the user's own.
    "parquet.",
    "csv.",
};

// Names of one counter under older and newer drivers.
struct Renamed {
  std::string_view before;
  std::string_view since;
};
constexpr Renamed kRenamed[] = {
    {"nvidia_smi.clocks.sm", "nvidia_smi.clocks.current.sm"},
    {"nvidia_smi.clocks_throttle_reasons.active", "nvidia_smi.clocks_event_reasons.active"},
    {"nvidia_smi_xml.clocks_throttle_reasons", "nvidia_smi_xml.clocks_event_reasons"},
    {"nvidia_smi_xml.power_readings/power_draw", "nvidia_smi_xml.gpu_power_readings/power_draw"},
    {"nvidia_smi_xml.power_readings/enforced_power_limit", "nvidia_smi_xml.gpu_power_readings/current_power_limit"},
    {"nvidia_smi_xml.power_readings/default_power_limit", "nvidia_smi_xml.gpu_power_readings/default_power_limit"},
    {"nvidia_smi_exporter.clocks_throttle_reasons_active", "nvidia_smi_exporter.clocks_event_reasons_active"},
};

// The name that current drivers use for the counter.
std::string_view PresentName(std::string_view counter) {
  const auto* row =
      std::find_if(std::begin(kRenamed), std::end(kRenamed), [&](const Renamed& r) { return r.before == counter; });
  return row == std::end(kRenamed) ? counter : row->since;
}

}  // namespace

bool IsSameCounter(std::string_view a, std::string_view b) { return PresentName(a) == PresentName(b); }

bool SaysWhenItEnds(std::string_view counter) {
  constexpr std::string_view kMeansOfJobs = "dcgmi.";
  constexpr std::string_view kMeansOfIntervals = "dcgm.DCGM_FI_PROF_SM_CYCLES";
  return counter.starts_with(kMeansOfJobs) || counter.starts_with(kMeansOfIntervals);
}

bool ReadsTheDriver(std::string_view counter) {
  constexpr std::string_view kDirect[] = {"nvml.",           "amdgpu.",          "agent.",    "nvidia_smi.",
                                          "nvidia_smi_xml.", "nvidia_smi_dmon.", "rocm_smi.", "telegraf."};
  return std::any_of(std::begin(kDirect), std::end(kDirect),
                     [&](std::string_view source) { return counter.substr(0, source.size()) == source; });
}

bool EachRowIsAReading(std::string_view counter) {
  return ReadsTheDriver(counter) || counter.substr(0, 4) == "csv." || counter.substr(0, 8) == "parquet.";
}

std::size_t CounterRank(std::string_view counter) {
  std::size_t rank = std::size(kPreferred);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < std::size(kPreferred); ++i) {
    const std::string_view prefix = kPreferred[i];
    if (counter.substr(0, prefix.size()) != prefix || prefix.size() <= longest) continue;
    rank = i;
    longest = prefix.size();
  }
  return rank;
}

// A renamed counter continues the series of its older name, because it measures the same.
CounterChoice::Ordinal CounterChoice::Note(DeviceId device, Signal signal, const std::string& counter,
                                           std::int64_t time, bool valid) {
  if (device >= devices_.size()) devices_.resize(device + 1);
  std::vector<Counter>& counters = devices_[device][Index(signal)].counters;
  auto at = std::find_if(counters.begin(), counters.end(), [&](const Counter& known) { return known.name == counter; });
  if (at == counters.end()) {
    at = std::find_if(counters.begin(), counters.end(),
                      [&](const Counter& known) { return IsSameCounter(known.name, counter); });
  }
  if (at == counters.end() && counters.size() < kAll) {
    at = counters.insert(counters.end(), Counter());
    at->name = counter;
    at->log = EachRowIsAReading(counter);
  }
  if (at == counters.end()) --at;
  if (valid) {
    at->first = std::min(at->first, time);
    at->last = std::max(at->last, time);  // the previous reading extends to here
    ++at->readings;
  } else if (at->readings > 0 && SaysWhenItEnds(at->name)) {
    at->last = std::max(at->last, time);  // what came before reaches to here
  }
  return static_cast<Ordinal>(at - counters.begin());
}

// Selects the counter by span, rank, number of readings and name.
CounterChoice::Ordinal CounterChoice::Choose(const std::vector<Counter>& counters) {
  std::int64_t longest = -1;
  for (const Counter& counter : counters) longest = std::max(longest, counter.Span());
  // Nine tenths of the longest span, without overflow.
  const std::int64_t enough = longest - longest / 10;
  const auto key = [enough](const Counter& counter) {
    return std::make_tuple(counter.Span() < enough, CounterRank(counter.name), -counter.readings,
                           std::string_view(counter.name));
  };
  const auto best = std::min_element(counters.begin(), counters.end(),
                                     [&](const Counter& a, const Counter& b) { return key(a) < key(b); });
  return static_cast<Ordinal>(best - counters.begin());
}

// A signal with one counter needs no choice, and keeps all its readings.
void CounterChoice::Settle(DeviceTable& devices, DataQuality& quality) {
  for (DeviceId device = 0; device < devices_.size(); ++device) {
    for (const SignalInfo& signal : kSignals) {
      Series& series = devices_[device][Index(signal.id)];
      if (series.counters.size() < 2) continue;
      series.chosen = Choose(series.counters);
      const std::string& chosen = series.counters[series.chosen].name;
      devices.NameCounter(device, signal.id, chosen);
      for (const Counter& other : series.counters) {
        if (&other == &series.counters[series.chosen] || other.readings == 0) continue;
        quality.CountNamed(QualityId::kMixedCounters, other.name + " (" + chosen + " is used)", {}, other.readings);
      }
    }
  }
}

}  // namespace idleburn

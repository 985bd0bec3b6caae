#include "support/counter_fleet.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>

namespace idleburn::testing {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kShownAfter = 3;  // seconds until a second is counted
constexpr std::array<const char*, 5> kPhases = {"idle", "underutilized", "productive", "compute_bound", "unobserved"};
using PhaseSeconds = std::array<std::int64_t, 5>;

std::uint64_t Mixed(std::string_view text, std::int64_t number) {
  std::uint64_t hash = 1469598103934665603ULL + static_cast<std::uint64_t>(number) * 1099511628211ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9ULL;
  return hash ^ hash >> 32;
}

bool Holds(const FromTo& span, std::int64_t second) { return second >= span.first && second < span.second; }

FromTo HereOf(const CounterNode& node, const std::string& uuid) {
  const auto found = node.here.find(uuid);
  return found == node.here.end() ? FromTo{0, INT64_MAX} : found->second;
}

std::size_t PhaseOfDecile(int decile) {
  if (decile < 0) return 4;
  return decile == 0 ? 0 : decile < 7 ? 1 : decile < 9 ? 2 : 3;
}

std::string Thousandths(std::int64_t value) {
  std::string rest = std::to_string(value % 1000);
  return std::to_string(value / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
}

std::int64_t Shared(const CounterNode& node, std::int64_t value) {
  if (node.slices.empty()) return value;
  const std::size_t slash = node.slices.find('/');
  return value * std::stoll(node.slices.substr(0, slash)) / std::stoll(node.slices.substr(slash + 1));
}

}  // namespace

const std::vector<std::string>& CounterFleet::Cells() {
  static const std::vector<std::string> kCells = [] {
    std::vector<std::string> cells;
    for (int d = 0; d < 10; ++d) cells.push_back("utilization_seconds " + std::to_string(d));
    for (const char* kind : {"held", "empty", "unknown"}) cells.push_back(std::string("idle_seconds ") + kind);
    cells.emplace_back("spin_wait_seconds ");
    for (const char* source : {"counter", "power"}) cells.push_back(std::string("energy_joules ") + source);
    for (const char* reason :
         {"sw_power_cap", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}) {
      cells.push_back(std::string("throttled_seconds ") + reason);
    }
    cells.emplace_back("nvlink_bytes both");
    return cells;
  }();
  return kCells;
}

int CounterFleet::DecileAt(const CounterNode& node, const std::string& uuid, std::int64_t second) {
  if (!Holds(HereOf(node, uuid), second)) return -1;
  const std::uint64_t piece = Mixed(uuid, second / 97);
  if (piece % 23 == 0) return -1;
  return static_cast<int>(node.least_decile + piece / 23 % (node.most_decile - node.least_decile + 1));
}

std::int64_t CounterFleet::CountedIn(const CounterNode& node, const std::string& uuid, std::int64_t second,
                                     const std::string& cell) {
  const int decile = DecileAt(node, uuid, second);
  if (decile < 0) return 0;
  const std::size_t blank = cell.find(' ');
  const std::string_view family = std::string_view(cell).substr(0, blank);
  const std::string_view label = std::string_view(cell).substr(blank + 1);
  const std::uint64_t piece = Mixed(uuid, second / 31);
  const auto when = [&](bool holds) { return holds ? Shared(node, 1000) : 0; };
  if (family == "utilization_seconds") return when(label[0] == '0' + decile);
  if (family == "idle_seconds") {
    constexpr std::array<const char*, 3> kKinds = {"held", "empty", "unknown"};
    return when(decile == 0 && label == kKinds[piece % 3]);
  }
  if (family == "spin_wait_seconds") return when(decile == 9 && piece % 4 == 0);
  if (family == "throttled_seconds") {
    if (label == "sw_power_cap") return when(decile >= 8);
    return when((label == "hw_slowdown" || label == "hw_thermal_slowdown") && decile >= 5 && piece % 13 == 0);
  }
  if (family == "energy_joules") {
    const std::int64_t watts = 80 + 50 * decile;
    if (label == "counter") return node.energy_counter ? watts * 1000 : 0;
    return node.power ? watts * 970 : 0;
  }
  return 0;  // no NVLink
}

std::int64_t CounterFleet::MemoryAt(const std::string& uuid, std::int64_t second) {
  return (std::int64_t{4} << 30) + static_cast<std::int64_t>(Mixed(uuid, second / 600) % 1000) * 1'000'000;
}

std::vector<CounterFleet::Scrape> CounterFleet::ScrapesOf(const CounterNode& node) const {
  std::vector<Scrape> scrapes;
  for (std::size_t r = 0; r < node.replicas.size(); ++r) {
    const std::int64_t offset =
        static_cast<std::int64_t>(Mixed(node.name, static_cast<std::int64_t>(r)) % static_cast<std::uint64_t>(scrape_));
    for (std::int64_t t = from_ - kHour + offset; t < to_ + kHour; t += scrape_) {
      const bool lost = std::any_of(node.silent.begin(), node.silent.end(), [t](const auto& s) { return Holds(s, t); });
      const std::int64_t until = t - kShownAfter;
      if (lost || until < node.births.front()) continue;
      const std::int64_t epoch = *(std::upper_bound(node.births.begin(), node.births.end(), until) - 1);
      scrapes.push_back({t, until, epoch, node.replicas[r]});
    }
  }
  std::sort(scrapes.begin(), scrapes.end(), [](const Scrape& a, const Scrape& b) { return a.time < b.time; });
  return scrapes;
}

void CounterFleet::Put(const Scrape& scrape, Labels labels, std::int64_t thousandths, AllSeries* all) {
  if (!scrape.replica.empty()) labels["replica"] = scrape.replica;
  Series& series = (*all)[std::move(labels)];
  series.times.push_back(scrape.time);
  series.each.push_back(Thousandths(thousandths));
}

void CounterFleet::MakeLive(const CounterNode& node, const std::vector<Scrape>& scrapes, AllSeries* all) const {
  constexpr std::pair<const char*, const char*> kLabels[] = {{"utilization_seconds", "decile"},
                                                             {"idle_seconds", "memory"},
                                                             {"energy_joules", "source"},
                                                             {"throttled_seconds", "reason"},
                                                             {"nvlink_bytes", "direction"}};
  const std::int64_t begin = node.births.front();
  for (const std::string& uuid : node.uuids) {
    for (const std::string& cell : Cells()) {
      std::vector<std::int64_t> counted = {0};  // up to each second since `begin`
      for (std::int64_t s = begin; s < to_ + kHour; ++s) {
        counted.push_back(counted.back() + CountedIn(node, uuid, s, cell));
      }
      const auto upto = [&](std::int64_t s) { return counted[static_cast<std::size_t>(std::max(s, begin) - begin)]; };
      const std::size_t blank = cell.find(' ');
      Labels labels = {
          {"__name__", "idleburn_gpu_" + cell.substr(0, blank) + "_total"}, {"node", node.name}, {"uuid", uuid}};
      for (const auto& [family, label] : kLabels) {
        if (cell.substr(0, blank) == family) labels[label] = cell.substr(blank + 1);
      }
      for (const Scrape& scrape : scrapes) {
        if (scrape.until < HereOf(node, uuid).first) continue;
        Put(scrape, labels, upto(scrape.until) - upto(scrape.epoch), all);
      }
    }
    for (const Scrape& scrape : scrapes) {
      if (scrape.until < HereOf(node, uuid).first) continue;
      const auto gauge = [&](const char* name) {
        return Labels{{"__name__", name}, {"node", node.name}, {"uuid", uuid}};
      };
      Labels info = gauge("idleburn_gpu_info");
      info["name"] = node.model;
      if (!node.slices.empty()) info["slices"] = node.slices;
      Put(scrape, info, 1000, all);
      if (!node.memory_gauge) continue;
      Put(scrape, gauge("idleburn_gpu_memory_used_bytes"), MemoryAt(uuid, scrape.until) * 1000, all);
      Put(scrape, gauge("idleburn_gpu_memory_total_bytes"), (std::int64_t{80} << 30) * 1000, all);
    }
  }
}

void CounterFleet::MakeClosed(const CounterNode& node, const std::vector<Scrape>& scrapes, AllSeries* all) const {
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<Labels, std::int64_t>> at_edge;  // by epoch and edge
  for (const Scrape& scrape : scrapes) {
    const std::int64_t edge = scrape.until / kHour * kHour;
    if (edge >= scrape.epoch) {
      Put(scrape, {{"__name__", "idleburn_closed_timestamp_seconds"}, {"node", node.name}}, edge * 1000, all);
    }
    const std::int64_t end = std::max(edge, scrape.epoch);
    auto [known, fresh] = at_edge.try_emplace({scrape.epoch, end});
    if (fresh) {
      const std::string epoch = std::to_string(scrape.epoch);
      for (const char* phase : kPhases) {
        for (const char* team : {"_unallocated", "_unknown"}) {
          known->second[{{"__name__", "idleburn_owner_phase_closed_seconds_total"},
                         {"node", node.name},
                         {"team", team},
                         {"phase", phase},
                         {"epoch", epoch}}] = 0;
        }
      }
      for (std::size_t g = 0; g < node.uuids.size(); ++g) {
        const std::int64_t born = std::max(scrape.epoch, HereOf(node, node.uuids[g]).first);
        std::map<std::string, PhaseSeconds> teams;
        PhaseSeconds gpu{};
        for (std::int64_t s = born; s < end; ++s) {
          const std::size_t phase = PhaseOfDecile(DecileAt(node, node.uuids[g], s));
          ++gpu[phase];
          std::string team = "_unallocated";
          for (const CounterHold& hold : node.holds) {
            if (g < hold.gpus && Holds(hold.when, s)) team = hold.team;
          }
          ++teams[team][phase];
        }
        if (born > end) continue;
        for (std::size_t p = 0; p < kPhases.size(); ++p) {
          known->second[{{"__name__", "idleburn_gpu_phase_closed_seconds_total"},
                         {"node", node.name},
                         {"uuid", node.uuids[g]},
                         {"phase", kPhases[p]},
                         {"epoch", epoch}}] = Shared(node, gpu[p] * 1000);
          for (const auto& [team, seconds] : teams) {
            known->second[{{"__name__", "idleburn_owner_phase_closed_seconds_total"},
                           {"node", node.name},
                           {"team", team},
                           {"phase", kPhases[p]},
                           {"epoch", epoch}}] += Shared(node, seconds[p] * 1000);
          }
        }
      }
    }
    for (const auto& [labels, value] : known->second) Put(scrape, labels, value, all);
  }
}

void CounterFleet::MakeJobs(const CounterNode& node, const std::vector<Scrape>& scrapes, AllSeries* all) const {
  for (const CounterHold& hold : node.holds) {
    const std::int64_t begin = std::max(hold.when.first, node.births.front());
    std::vector<PhaseSeconds> counted = {{}};
    for (std::int64_t s = begin; s < std::min(hold.when.second, to_ + kHour); ++s) {
      PhaseSeconds next = counted.back();
      for (std::size_t g = 0; g < hold.gpus; ++g) ++next[PhaseOfDecile(DecileAt(node, node.uuids[g], s))];
      counted.push_back(next);
    }
    const auto put = [&](const Scrape& scrape, const std::string& name, std::int64_t until, const std::string& epoch) {
      const auto place = static_cast<std::size_t>(std::max<std::int64_t>(0, until - begin));
      const PhaseSeconds& seconds = counted[std::min(place, counted.size() - 1)];
      for (std::size_t p = 0; p < kPhases.size(); ++p) {
        Labels labels = {{"__name__", name}, {"node", node.name}, {"cluster", ""},    {"job", hold.job},
                         {"user", "u"},      {"team", hold.team}, {"experiment", ""}, {"phase", kPhases[p]}};
        if (!epoch.empty()) labels["epoch"] = epoch;
        std::erase_if(labels, [](const auto& label) { return label.second.empty(); });
        Put(scrape, labels, seconds[p] * 1000, all);
      }
    };
    for (const Scrape& scrape : scrapes) {
      if (scrape.until >= begin && scrape.until < hold.when.second + 600)
        put(scrape, "idleburn_job_phase_seconds_total", scrape.until, "");
      const std::int64_t edge = scrape.until / kHour * kHour;
      if (edge > begin && edge <= hold.when.second)
        put(scrape, "idleburn_job_phase_closed_seconds_total", edge, std::to_string(begin));
    }
  }
}

CounterFleet::AllSeries CounterFleet::Make() const {
  AllSeries all;
  for (const CounterNode& node : nodes_) {
    const std::vector<Scrape> scrapes = ScrapesOf(node);
    MakeLive(node, scrapes, &all);
    MakeClosed(node, scrapes, &all);
    MakeJobs(node, scrapes, &all);
  }
  return all;
}

std::string CounterFleet::ImportLines() const {
  std::string text;
  for (const auto& [labels, series] : Make()) {
    text += "{\"metric\":" + nlohmann::json(labels).dump() + ",\"values\":[";
    for (std::size_t i = 0; i < series.each.size(); ++i) text += (i > 0 ? "," : "") + series.each[i];
    text += "],\"timestamps\":[";
    for (std::size_t i = 0; i < series.times.size(); ++i) {
      text += (i > 0 ? "," : "") + std::to_string(series.times[i]) + "000";
    }
    text += "]}\n";
  }
  return text;
}

std::string CounterFleet::OpenMetrics() const {
  std::string text;
  std::string name;
  for (const auto& [labels, series] : Make()) {
    if (labels.at("__name__") != name) {
      name = labels.at("__name__");
      text += "# TYPE " + name + " unknown\n";
    }
    std::string begin = name + "{";
    for (const auto& [label, value] : labels) {
      if (label != "__name__") begin += (begin.back() == '{' ? "" : ",") + label + "=" + nlohmann::json(value).dump();
    }
    for (std::size_t i = 0; i < series.each.size(); ++i) {
      text += begin + "} " + series.each[i] + " " + std::to_string(series.times[i]) + "\n";
    }
  }
  return text + "# EOF\n";
}

std::int64_t CounterFleet::Told(const CounterNode& node, const std::string& uuid, const std::string& cell) const {
  std::int64_t sum = 0;
  std::set<std::int64_t> seen;
  const std::vector<Scrape> scrapes = ScrapesOf(node);
  for (const Scrape& scrape : scrapes) {
    if (scrape.time > from_ - 300 && scrape.time <= to_) seen.insert(scrape.epoch);
  }
  for (const std::int64_t epoch : seen) {
    std::int64_t base = -1;
    std::int64_t last = -1;
    std::int64_t first = -1;
    for (const Scrape& scrape : scrapes) {
      if (scrape.epoch != epoch || scrape.time > to_ || scrape.time <= from_ - 300) continue;
      if (scrape.time <= from_) {
        base = std::max(base, scrape.until);
      } else {
        last = std::max(last, scrape.until);
        first = first < 0 ? scrape.until : first;
      }
    }
    if (last < 0) continue;
    const bool began = epoch >= from_ || epoch != *seen.begin();
    if (base < 0) base = began ? epoch : first;
    for (std::int64_t s = base; s < last; ++s) sum += CountedIn(node, uuid, s, cell);
  }
  return sum;
}

std::int64_t CounterFleet::Truth(const CounterNode& node, const std::string& uuid, const std::string& cell) const {
  std::int64_t sum = 0;
  for (std::int64_t s = std::max(from_, node.births.front()); s < to_; ++s) sum += CountedIn(node, uuid, s, cell);
  return sum;
}

}  // namespace idleburn::testing

#include "import/host_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/time.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Two stays of one UUID on different hosts mean one of three things: the GPU moved, its host was renamed, or two
// machines share a UUID. Time tells the first apart, names and boots tell the others.

namespace {

// Prometheus repeats the last value of an ended series for this long, so the stays of a renamed host may overlap by
// it.
constexpr Nanos kLookBack{5 * 60 * kNanosPerSecond};
// Clocks of two machines may differ by this much.
constexpr Nanos kClocksDiffer{5 * kNanosPerSecond};

// Whether two stays are at the same time: they overlap by more than `tolerance`, or by at least half of the shorter
// one.
template <typename Stay>
// Whether two stays are at the same time: they overlap by more than `tolerance`, or by at least half of the shorter
// one. The second rule catches short stays. For example, two recordings of 4 s that overlap by 3 s are at the same
// time although clocks may differ by 5 s.
bool AtOnce(const Stay& a, const Stay& b, Nanos tolerance) {
  const Nanos overlap = std::min(a.last, b.last) - std::max(a.first, b.first);
  const Nanos shorter = std::min(a.last - a.first, b.last - b.first);
  return overlap.count() >= 0 && (overlap > tolerance || overlap * 2 >= shorter);
}

}  // namespace

void HostWatch::Stay::See(Instant time) {
  first = std::min(first, time);
  last = std::max(last, time);
}

Result<void> HostWatch::Verdict(const std::string& file, const DeviceTable& devices) const {
  for (const auto& [device, hosts] : stays_) {
    for (auto a = hosts.begin(); a != hosts.end(); ++a) {
      for (auto b = std::next(a); b != hosts.end(); ++b) {
        const bool read = a->second.first <= a->second.last && b->second.first <= b->second.last;
        if (!read || IsOneHost(a->first, b->first) || !AtOnce(a->second, b->second, kLookBack)) continue;
        return Fail(file + ": " + Printable(devices[device].uuid) + " is on " + Printable(a->first) + " and on " +
                    Printable(b->first) +
                    " at the same time, by the host labels; one GPU cannot be on two machines: correct the label or "
                    "the UUID, or audit the series of each host separately");
      }
    }
  }
  return {};
}

bool IsOneHost(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return EqualsIgnoreCase(a, b.substr(0, a.size())) && (a.size() == b.size() || b[a.size()] == '.');
}

namespace {

// What two stays of one UUID are to each other.
enum class Pair : std::uint8_t { kOneGpu, kMoved, kTwins, kUnclear };

// Applies the table of docs/rows.md, "Which GPU a reading belongs to". Hosts that the user named count most, then
// boots. Different host names alone do not prove two machines, because each container has its own name.
Pair JudgeStays(const RecordedStay& a, const RecordedStay& b) {
  if (a.uuid != b.uuid || a.file == b.file) return Pair::kOneGpu;
  const bool same_name = a.host.empty() || b.host.empty() || IsOneHost(a.host, b.host);
  const bool boots_known = !a.boot.empty() && !b.boot.empty();
  const bool other_boot = boots_known && a.boot != b.boot;
  // The user said that both are of one machine.
  if (a.said && b.said && same_name) return Pair::kOneGpu;
  // Not at one time: the GPU moved, unless it was on one machine all along.
  if (!AtOnce(a, b, kClocksDiffer)) return same_name || (boots_known && !other_boot) ? Pair::kOneGpu : Pair::kMoved;
  // At one time on two machines, by the user's word or by their boots.
  if (!same_name && ((a.said && b.said) || other_boot)) return Pair::kTwins;
  const bool one_boot = boots_known && !other_boot;  // containers of one machine have names of their own
  return one_boot || (same_name && !other_boot) ? Pair::kOneGpu : Pair::kUnclear;
}

// A host's name for a message.
std::string Named(const RecordedStay& stay) { return stay.host.empty() ? "a machine" : Printable(stay.host); }

// Calls `see` with each two stays of one UUID and how they go together.
template <typename See>
void ForEachPair(const std::vector<RecordedStay>& stays, See see) {
  std::vector<const RecordedStay*> sorted;
  for (const RecordedStay& stay : stays) sorted.push_back(&stay);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const RecordedStay* a, const RecordedStay* b) { return a->uuid < b->uuid; });
  for (std::size_t a = 0; a < sorted.size(); ++a) {
    for (std::size_t b = a + 1; b < sorted.size() && sorted[a]->uuid == sorted[b]->uuid; ++b) {
      see(*sorted[a], *sorted[b], JudgeStays(*sorted[a], *sorted[b]));
    }
  }
}

}  // namespace

std::set<std::string> RecordedHosts::Twins() const {
  std::set<std::string> twins;
  ForEachPair(stays_, [&](const RecordedStay& a, const RecordedStay& /*b*/, Pair pair) {
    if (pair == Pair::kTwins) twins.insert(a.uuid);
  });
  return twins;
}

Result<void> RecordedHosts::Check(const std::set<std::string>& apart) const {
  std::string unclear;
  ForEachPair(stays_, [&](const RecordedStay& a, const RecordedStay& b, Pair pair) {
    const bool open = pair == Pair::kUnclear || (pair == Pair::kTwins && apart.count(a.uuid) == 0);
    if (!open || !unclear.empty()) return;
    unclear = a.file + " and " + b.file + ": both read " + a.uuid + " at the same time, on " + Named(a) + " and on " +
              Named(b) + "; name their machines, NODE1=" + a.file + " NODE2=" + b.file +
              ", give both one NODE if they are one machine, or leave one file out";
  });
  return unclear.empty() ? Result<void>{} : Fail(unclear);
}

void RecordedHosts::CountMoved(DataQuality& quality) const {
  std::set<std::string> moved;
  ForEachPair(stays_, [&](const RecordedStay& a, const RecordedStay& b, Pair pair) {
    if (pair != Pair::kMoved || !moved.insert(a.uuid).second) return;
    const bool in_order = a.first <= b.first;
    quality.CountNamed(QualityId::kMovedGpu,
                       a.uuid + " on " + Named(in_order ? a : b) + ", then on " + Named(in_order ? b : a));
  });
}

std::string RecordedHosts::HostsOf(const std::string& uuid) const {
  std::set<std::string> hosts;
  for (const RecordedStay& stay : stays_) {
    if (stay.uuid == uuid) hosts.insert(Named(stay));
  }
  std::string text;
  for (const std::string& host : hosts) text += (text.empty() ? "" : " and ") + host;
  return text;
}

}  // namespace idleburn

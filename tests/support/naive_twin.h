#pragma once

#include <map>
#include <vector>

#include "classify/cadence.h"
#include "classify/cell.h"

namespace idleburn::testing {

// The classifier's rules once more, as a batch that sees all samples and forgets nothing: slow, short, and written
// without looking at the streaming one, for property tests.
struct NaiveTotals {
  std::array<std::int64_t, kPhaseCount> phase_ns{};
  std::int64_t unobserved_ns = 0;
  std::int64_t held_ns = 0;
  std::int64_t empty_ns = 0;
  std::int64_t unknown_ns = 0;
  std::int64_t throttled_ns = 0;
  Int128 utilization_area = 0;
  Int128 power_area = 0;
  std::map<std::int64_t, std::int64_t> spin_below;  // threshold in watts -> time
};

struct NaiveCell {
  std::int64_t covered = 0;
  Int128 area = 0;
  std::int64_t memory_ns = 0;
  Int128 memory = 0;
  std::int64_t power_ns = 0;
  Int128 power = 0;
};

inline NaiveTotals Reduce(const std::map<std::int64_t, NaiveCell>& cells, const Thresholds& t) {
  NaiveTotals out;
  std::map<std::int64_t, std::int64_t> busy_watts;
  for (const auto& [second, cell] : cells) {
    out.power_area += cell.power;
    if (cell.covered == 0) continue;
    const auto u = static_cast<double>(cell.area) / static_cast<double>(cell.covered) / kPercent;
    const std::size_t phase = u < 10 ? 0 : u < 70 ? 1 : u < 90 ? 2 : 3;
    out.phase_ns[phase] += cell.covered;
    out.utilization_area += cell.area;
    if (phase == 0) {
      const bool known = cell.memory_ns > 0;
      const bool held = known && cell.memory / cell.memory_ns >= t.held_memory;
      const bool empty = known && !held && cell.area == 0;  // who uses a few percent is there
      (held ? out.held_ns : empty ? out.empty_ns : out.unknown_ns) += cell.covered;
    }
    if (phase == 3 && cell.power_ns > 0)
      busy_watts[second] = static_cast<std::int64_t>(cell.power / cell.power_ns) / 1000;
  }
  for (const std::int64_t threshold : {100, 150, 200, 400}) {
    const auto passes = [&](std::int64_t second) {
      const auto found = busy_watts.find(second);
      return found != busy_watts.end() && found->second < threshold;
    };
    std::int64_t ns = 0;
    for (const auto& [second, watts] : busy_watts) {
      std::int64_t run = 0;
      for (std::int64_t s = second; passes(s); --s) ++run;
      for (std::int64_t s = second + 1; passes(s); ++s) ++run;
      if (passes(second) && run >= t.spin_cells) ns += cells.at(second).covered;
    }
    out.spin_below[threshold] = ns;
  }
  return out;
}

// The periods of a series, by its rule, over all of it: intervals `i` on are those after times[i].
struct NaivePeriod {
  std::int64_t start = 0;
  std::int64_t period = 0;
  friend bool operator==(const NaivePeriod&, const NaivePeriod&) = default;
};

inline std::vector<NaivePeriod> NaivePieces(const std::vector<std::int64_t>& times) {
  std::vector<std::int64_t> intervals;
  for (std::size_t i = 1; i < times.size(); ++i) intervals.push_back(times[i] - times[i - 1]);
  const auto period_of = [&](std::size_t from, std::size_t count) {
    const auto begin = intervals.begin() + static_cast<std::ptrdiff_t>(from);
    return PeriodOf({begin, begin + static_cast<std::ptrdiff_t>(std::min(count, intervals.size() - from))});
  };
  const auto differs = [](std::int64_t a, std::int64_t b) { return a >= 2 * b || b >= 2 * a; };
  // Whether a piece opens with the interval after one of `period`.
  const auto opens = [&](std::size_t at, std::int64_t period) {
    if (at + 21 > intervals.size() || !differs(intervals[at], period)) return false;
    const bool slow = intervals[at] > period;
    std::size_t onset = 0;
    for (std::size_t i = at; i < at + 5; ++i) {
      onset += static_cast<std::size_t>(differs(intervals[i], period) && (intervals[i] > period) == slow);
    }
    const std::int64_t pace = period_of(at, 21);
    return onset >= 3 && differs(pace, period) && (pace > period) == slow;
  };
  std::vector<NaivePeriod> pieces = {{times.front(), period_of(0, 101)}};
  for (std::size_t at = 0; at < intervals.size();) {
    if (!opens(at, pieces.back().period)) {
      ++at;
      continue;
    }
    const std::int64_t pace = period_of(at, 21);
    std::size_t own = 1;
    while (own < 101 && at + own < intervals.size() && !opens(at + own, pace)) ++own;
    const std::int64_t period = period_of(at, own);
    if (own >= 21 && differs(period, pieces.back().period)) pieces.push_back({times[at], period});
    at += own;
  }
  return pieces;
}

// How long a reading of the signal is held.
inline std::int64_t NaiveHold(Signal signal, const Cadence& cadence, const Thresholds& t) {
  const std::int64_t own = cadence.hold[Index(signal)];
  return own > 0 ? own : std::max(t.side_hold, cadence.max_gap).count();
}

// `samples`: one device, strictly increasing times, each with utilisation (valid or unavailable), maybe memory,
// power and reasons.
inline NaiveTotals NaiveFast(const std::vector<Sample>& samples, const Thresholds& t, const Cadence& cadence = {}) {
  std::map<std::int64_t, std::vector<Sample>> by_second;
  for (const Sample& s : samples) by_second[s.time.nanos() / kNanosPerSecond].push_back(s);
  std::map<std::int64_t, NaiveCell> cells;
  std::int64_t throttled = 0;
  for (const auto& [second, rows] : by_second) {
    NaiveCell& cell = cells[second];
    Int128 sum = 0;
    Int128 n = 0;
    Int128 power = 0;
    Int128 powers = 0;
    Int128 memory = 0;
    Int128 memories = 0;
    std::int64_t masks = 0;
    std::int64_t hot = 0;
    for (const Sample& s : rows) {
      if (s.Has(Signal::kUtilization)) sum += s.Get(Signal::kUtilization), ++n;
      if (s.Has(Signal::kPower)) power += s.Get(Signal::kPower), ++powers;
      if (s.Has(Signal::kMemoryUsed)) memory += s.Get(Signal::kMemoryUsed), ++memories;
      if (s.Has(Signal::kEventReasons)) ++masks, hot += (s.Get(Signal::kEventReasons) & 0xEC) != 0 ? 1 : 0;
    }
    if (n > 0) cell.covered = kNanosPerSecond, cell.area = DivHalfEven(sum * kNanosPerSecond, n);
    const auto side = [&, at = second](Int128 total, Int128 count, Signal signal, std::int64_t* ns, Int128* area) {
      if (count > 0) {
        *ns = kNanosPerSecond;
        *area = DivHalfEven(total * kNanosPerSecond, count);
        return;
      }
      for (auto s = samples.rbegin(); s != samples.rend(); ++s) {  // held from an earlier second
        if (s->time.nanos() / kNanosPerSecond > at) continue;
        if (s->Lacks(signal)) return;
        if (!s->Has(signal)) continue;
        if ((at + 1) * kNanosPerSecond - s->time.nanos() > NaiveHold(signal, cadence, t)) return;
        *ns = kNanosPerSecond;
        *area = static_cast<Int128>(s->Get(signal)) * kNanosPerSecond;
        return;
      }
    };
    side(power, powers, Signal::kPower, &cell.power_ns, &cell.power);
    side(memory, memories, Signal::kMemoryUsed, &cell.memory_ns, &cell.memory);
    std::int64_t known = 0;
    Int128 mask = 0;
    side(0, 0, Signal::kEventReasons, &known, &mask);
    if (masks > 0) {
      throttled += kNanosPerSecond * hot / masks;
    } else if (known > 0) {
      throttled += (static_cast<std::int64_t>(mask / kNanosPerSecond) & 0xEC) != 0 ? kNanosPerSecond : 0;
    }
  }
  NaiveTotals out = Reduce(cells, t);
  out.throttled_ns = throttled;
  const std::int64_t window = (by_second.rbegin()->first - by_second.begin()->first + 1) * kNanosPerSecond;
  out.unobserved_ns = window;
  for (const std::int64_t ns : out.phase_ns) out.unobserved_ns -= ns;
  return out;
}

// With `pieces`, every reading is held by the period of the piece that it lies in, its first row included.
inline NaiveTotals NaiveSlow(const std::vector<Sample>& samples, const Cadence& cadence, const Thresholds& t,
                             const std::vector<NaivePeriod>& pieces = {}) {
  const auto counter_hold = [&](std::int64_t time) {
    std::int64_t hold = cadence.max_gap.count();
    for (const NaivePeriod& piece : pieces) hold = piece.start <= time ? piece.period * 5 / 2 : hold;
    return hold;
  };
  std::map<std::int64_t, NaiveCell> cells;
  std::int64_t throttled = 0;
  // Spreads `value` over [from, to) of the grid.
  const auto spread = [&](std::int64_t from, std::int64_t to, auto&& put) {
    while (from < to) {
      const std::int64_t second = from / kNanosPerSecond;
      const std::int64_t end = std::min(to, (second + 1) * kNanosPerSecond);
      put(cells[second], end - from);
      from = end;
    }
  };
  const std::int64_t last = samples.back().time.nanos();
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    const Sample& s = samples[i];
    const std::int64_t from = s.time.nanos();
    if (s.Has(Signal::kUtilization)) {
      const std::int64_t to = std::min(samples[i + 1].time.nanos(), from + counter_hold(from));
      spread(from, to, [&](NaiveCell& c, std::int64_t ns) {
        c.covered += ns;
        c.area += static_cast<Int128>(s.Get(Signal::kUtilization)) * ns;
      });
    }
    // Side signals hold until something is said of the same signal again, but not in a gap of the counter.
    const auto hold = [&](Signal signal, auto&& put) {
      if (!s.Has(signal)) return;
      for (std::size_t j = i; j + 1 < samples.size(); ++j) {
        const Sample& row = samples[j];
        if (j > i && (row.Has(signal) || row.Lacks(signal))) return;
        const std::int64_t own = pieces.empty() ? NaiveHold(signal, cadence, t) : counter_hold(from);
        std::int64_t to = std::min(samples[j + 1].time.nanos(), from + own);
        if (row.Has(Signal::kUtilization)) to = std::min(to, row.time.nanos() + counter_hold(row.time.nanos()));
        spread(row.time.nanos(), to, put);
      }
    };
    hold(Signal::kPower, [&](NaiveCell& c, std::int64_t ns) {
      c.power_ns += ns;
      c.power += static_cast<Int128>(s.Get(Signal::kPower)) * ns;
    });
    hold(Signal::kMemoryUsed, [&](NaiveCell& c, std::int64_t ns) {
      c.memory_ns += ns;
      c.memory += static_cast<Int128>(s.Get(Signal::kMemoryUsed)) * ns;
    });
    hold(Signal::kEventReasons,
         [&](NaiveCell&, std::int64_t ns) { throttled += (s.Get(Signal::kEventReasons) & 0xEC) != 0 ? ns : 0; });
  }
  NaiveTotals out = Reduce(cells, t);
  out.throttled_ns = throttled;
  out.unobserved_ns = last - samples.front().time.nanos();
  for (const std::int64_t ns : out.phase_ns) out.unobserved_ns -= ns;
  return out;
}

}  // namespace idleburn::testing

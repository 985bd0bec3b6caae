#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "import/sweeps.h"

namespace idleburn {

// Rows at even distances may still be of several GPUs, for example from a shell loop that queries one GPU after
// another. Then a reading that one GPU holds steady, such as memory in use, goes back and forth:
//
//     memory   10 40 10 40 10 40 10 40     two GPUs
//
// FindTurns tests cycles of 2 to 16 rows. Rows one cycle apart must be alike while neighbors differ. The log is judged
// in stretches, which vote, because jobs start and end.

namespace {

constexpr std::size_t kMostTurns = 16;
constexpr std::size_t kMostRows = 1024;   // more rows prove nothing new
constexpr std::size_t kLeastCycles = 6;   // fewer cycles may be chance
constexpr std::size_t kCycles = 24;       // cycles of a stretch, which is judged on its own
constexpr double kAlike = 0.35;           // rows of one GPU may differ by this share of what neighbors differ
constexpr double kHardly = 0.9;           // the same over all rows, where most stretches may be quiet
constexpr double kApart = 0.6;            // neighbors must differ by this share of any two rows of a cycle
constexpr double kWave = 1.05;            // below, neighbors are as close as in a slow wave
constexpr std::size_t kLater = 8;         // only GPUs stay in step for so many cycles, a wave does not
constexpr double kActive = 0.75;          // share of cycles with unlike rows
constexpr double kQuiet = 0.25;           // the same, of a stretch that tells nothing
constexpr std::size_t kOneStretchIn = 4;  // at least one stretch in four must show turns

// A reading that tells GPUs apart, and the least difference that is not noise.
struct TurnWitness {
  Signal signal;
  std::int64_t apart;
  bool follows_load;
  double scale;
  const char* unit;
};
constexpr double kMib = 1 << 20;
constexpr std::array<TurnWitness, 7> kTurnWitnesses = {{
    {Signal::kMemoryTotal, 1 << 20, false, kMib, "MiB"},
    {Signal::kEnergy, 1000, false, 1000, "J"},
    {Signal::kPowerDefaultLimit, 1000, false, 1000, "W"},
    {Signal::kPowerLimit, 1000, false, 1000, "W"},
    {Signal::kMaxSmClock, 1000, false, 1000, "MHz"},
    {Signal::kMemoryUsed, 32 << 20, false, kMib, "MiB"},
    {Signal::kTemperature, 2000, true, 1000, "C"},
}};

using Values = std::vector<double>;

// Empty unless every row has the reading.
Values ReadValues(Signal signal, std::span<const Sample> rows) {
  Values values;
  for (const Sample& row : rows) {
    if (!row.Has(signal)) return {};
    values.push_back(static_cast<double>(row.Get(signal)));
  }
  return values;
}

// The mean difference of values `lag` apart. 0 if there are too few.
double MeanApart(std::span<const double> v, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = lag; i < v.size(); ++i) sum += std::abs(v[i] - v[i - lag]);
  return v.size() > lag ? sum / static_cast<double>(v.size() - lag) : 0;
}

// The share of cycles whose rows are not all alike.
double ActiveCycles(std::span<const double> v, std::size_t cycle, double apart) {
  std::size_t active = 0;
  std::size_t all = 0;
  for (std::size_t i = 0; i + cycle <= v.size(); i += cycle, ++all) {
    const auto [low, high] = std::minmax_element(v.begin() + static_cast<std::ptrdiff_t>(i),
                                                 v.begin() + static_cast<std::ptrdiff_t>(i + cycle));
    if (*high - *low >= apart) ++active;
  }
  return all == 0 ? 0 : static_cast<double>(active) / static_cast<double>(all);
}

// What a stretch says about a cycle. kNeither: too quiet to tell.
enum class Vote : std::uint8_t { kFor, kAgainst, kNeither };

// Whether values of a stretch repeat after `cycle` rows while neighbors differ like any two rows of a cycle. A slow
// wave also repeats, but there neighbors are closer than rows further apart, and it does not stay in step for many
// cycles.
Vote CastVote(std::span<const double> v, std::size_t cycle, double apart) {
  const double active = ActiveCycles(v, cycle, apart);
  if (active <= kQuiet) return Vote::kNeither;
  const double next = MeanApart(v, 1);
  const double same = MeanApart(v, cycle);
  if (active < kActive || same > kAlike * next) return Vote::kAgainst;
  double any = 0;
  for (std::size_t lag = 1; lag <= cycle; ++lag) any += MeanApart(v, lag) / static_cast<double>(cycle);
  if (next < kApart * any) return Vote::kAgainst;
  // GPUs that take turns are still in step many cycles later.
  const std::size_t later = kLater * cycle;
  const bool in_step = v.size() <= 2 * later || MeanApart(v, later) <= kApart * next;
  return next >= kWave * any || in_step ? Vote::kFor : Vote::kAgainst;
}

// The votes of all stretches.
struct Tally {
  std::size_t all = 0, turns = 0, none = 0;
  std::span<const double> first;  // the first stretch that shows turns

  [[nodiscard]] bool Shows() const { return turns > 0 && turns * kOneStretchIn >= all && turns >= 3 * none; }
};

// Lets the stretches vote. A last stretch that would be short belongs to the one before.
Tally Count(std::span<const double> v, std::size_t cycle, double apart) {
  Tally tally;
  const std::size_t stretch = kCycles * cycle;
  for (std::size_t from = 0; from < v.size(); from += stretch) {
    std::span<const double> part = v.subspan(from);
    if (part.size() >= 2 * stretch) part = part.first(stretch);
    const Vote vote = CastVote(part, cycle, apart);
    ++tally.all;
    if (vote == Vote::kFor) ++tally.turns;
    if (vote == Vote::kAgainst) ++tally.none;
    if (vote == Vote::kFor && tally.first.empty()) tally.first = part;
    if (part.size() != stretch) break;
  }
  return tally;
}

// Whether utilization or power alternates with the same cycle.
bool LoadTakesTurns(std::span<const Sample> rows, std::size_t cycle) {
  constexpr std::int64_t kLoadApart = 20;
  const auto shows = [&](Signal signal, std::int64_t unit) {
    const Values v = ReadValues(signal, rows);
    return !v.empty() && Count(v, cycle, static_cast<double>(kLoadApart * unit)).Shows();
  };
  return shows(Signal::kUtilization, kPercent) || shows(Signal::kPower, 1000);
}

// Sets the mean readings of the two GPUs that differ most.
void SetLevels(std::span<const double> v, std::size_t cycle, Turns& turns) {
  Values sums(cycle);
  std::vector<std::size_t> count(cycle);
  for (std::size_t i = 0; i < v.size(); ++i) {
    sums[i % cycle] += v[i];
    ++count[i % cycle];
  }
  for (std::size_t i = 0; i < cycle; ++i) sums[i] /= static_cast<double>(count[i]);
  const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
  turns.low = static_cast<std::int64_t>(*low);
  turns.high = static_cast<std::int64_t>(*high);
}

// Whether one GPU under a load in step with the rows would look the same. A chip warms and cools by a few degrees at
// once and then by a few per second: between rows a minute apart it may go from idle to its maximum, between rows half
// a second apart it cannot.
// Known limit: several GPUs sampled so rarely, one of them busy, look like one GPU in bursts.
bool LoadExplains(const TurnWitness& witness, std::span<const Sample> rows, const Turns& turns) {
  constexpr std::int64_t kAtOnce = 5000;  // millicelsius
  constexpr std::int64_t kEachSecond = 1500;
  if (!witness.follows_load || rows.size() < 2) return false;
  const std::int64_t apart =
      (rows.back().time - rows.front().time).count() / static_cast<std::int64_t>(rows.size() - 1);
  const std::int64_t most = kAtOnce + apart / (kNanosPerSecond / kEachSecond);
  return turns.high - turns.low < most && LoadTakesTurns(rows, static_cast<std::size_t>(turns.gpus));
}

}  // namespace

// Tries the readings in the order of kTurnWitnesses and the cycles from the shortest, so that the fewest GPUs that
// explain the rows are found. The first test is cheap and excludes most cycles.
Turns FindTurns(std::span<const Sample> all) {
  const std::span<const Sample> rows = all.first(std::min(all.size(), kMostRows));
  for (const TurnWitness& witness : kTurnWitnesses) {
    const Values v = ReadValues(witness.signal, rows);
    const double next = MeanApart(v, 1);
    for (std::size_t cycle = 2; cycle <= kMostTurns && cycle * kLeastCycles <= v.size(); ++cycle) {
      // Rows one cycle apart are no more alike than neighbors.
      if (MeanApart(v, cycle) > kHardly * next) continue;
      const Tally tally = Count(v, cycle, static_cast<double>(witness.apart));
      if (!tally.Shows()) continue;
      Turns turns{static_cast<int>(cycle), witness.signal, 0, 0, rows.size()};
      SetLevels(tally.first, cycle, turns);
      if (!LoadExplains(witness, rows, turns)) return turns;
    }
  }
  return {};
}

bool GoesOnAsOneGpu(std::span<const Sample> all) {
  constexpr double kNoise = 1.2;  // tolerance: distant rows must not be more alike than neighbors
  const std::span<const Sample> rows = all.first(std::min(all.size(), kMostRows));
  for (const Signal signal : {Signal::kMemoryUsed, Signal::kTemperature}) {
    const Values v = ReadValues(signal, rows);
    bool goes_on = v.size() >= kLeastCycles * kMostTurns;
    for (std::size_t lag = 2; goes_on && lag <= kMostTurns; ++lag) {
      goes_on = MeanApart(v, 1) <= kNoise * MeanApart(v, lag);
    }
    if (goes_on) return true;
  }
  return false;
}

std::string Describe(const Turns& turns, std::string_view column) {
  const auto* const witness = std::find_if(kTurnWitnesses.begin(), kTurnWitnesses.end(),
                                           [&](const TurnWitness& w) { return w.signal == turns.signal; });
  const auto value = [&](std::int64_t level) {
    return fmt::format("{:.0f} {}", static_cast<double>(level) / witness->scale, witness->unit);
  };
  return fmt::format("{} alternates between {} and {} for {} rows, as with at least {} GPUs in turn", column,
                     value(turns.low), value(turns.high), turns.rows, turns.gpus);
}

TurnOrder::TurnOrder(const Turns& turns, int gpus)
    : signal_(turns.signal), apart_(std::abs(turns.high - turns.low)), levels_(static_cast<std::size_t>(gpus)) {}

// Rows in turn are evenly spaced unless one is missing.
void TurnOrder::SeeDistances(std::span<const Sample> sweep) {
  for (const Sample& row : sweep) {
    const std::int64_t apart = last_ ? (row.time - *last_).count() : 0;
    last_ = row.time;
    if (apart <= 0) continue;
    // Late: by more than half of the usual distance.
    const bool late = usual_ > 0 && 2 * (apart - usual_) > usual_;
    late_ = late_ || late;
    if (!late) usual_ += (apart - usual_) / (usual_ == 0 ? 1 : 8);
  }
}

// Compares the rows with the usual levels, in place and moved by each number of places. Several sweeps in succession
// must fit a move, and a row must have come late, before the GPUs count as changed. Otherwise the levels follow the
// rows, since jobs change them.
bool TurnOrder::Keeps(std::span<const Sample> sweep) {
  constexpr int kInSuccession = 4;
  Values now = ReadValues(signal_, sweep);
  const std::size_t gpus = levels_.size();
  // A sweep without the reading, or cut short, says nothing about places.
  if (now.size() != gpus) return true;
  std::vector<double> cost(gpus);  // total difference, by number of places moved
  for (std::size_t by = 0; by < gpus && any_; ++by) {
    for (std::size_t i = 0; i < gpus; ++i) cost[by] += std::abs(now[i] - levels_[(i + by) % gpus]);
  }
  const bool alike = !any_ || 2 * cost[0] < static_cast<double>(apart_);
  const bool moved = !alike && *std::min_element(cost.begin(), cost.end()) <= kAlike * cost[0];
  SeeDistances(sweep);
  moved_ = moved ? moved_ + 1 : 0;
  unlike_ = alike || moved ? 0 : unlike_ + 1;
  if (moved_ >= kInSuccession && late_) return false;
  if (!alike && unlike_ < kInSuccession && moved_ < kInSuccession) return true;
  levels_ = std::move(now);
  unlike_ = moved_ = 0;
  late_ = false;
  any_ = true;
  return true;
}

}  // namespace idleburn

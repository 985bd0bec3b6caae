// How far the formulas of spot runs hold on real interruptions: the node events of two fleets (docs/spot.md), against
// a replay that shares nothing with the program but the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "plan/spot_options.h"
#include "stats/order.h"
#include "support/shared_data.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

constexpr double kWork = 6 * 3600.0;  // seconds, as all times of the replay
constexpr int kStarts = 150;          // of a job, spread evenly over a trace

struct SeatEvent {
  double at = 0;
  bool lost = false;
};
using Seat = std::vector<SeatEvent>;

struct Pool {
  double end = 0;
  std::vector<Seat> seats;
};

std::map<std::string, Pool> ReadPools(const std::string& text) {
  std::map<std::string, Pool> pools;
  std::map<std::string, std::deque<std::size_t>> free;
  std::map<std::string, std::size_t> seat_of;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string trace;
    std::string time;
    std::string event;
    std::string node;
    std::getline(cells, trace, ',');
    std::getline(cells, time, ',');
    std::getline(cells, event, ',');
    std::getline(cells, node);
    Pool& pool = pools[trace];
    pool.end = std::stod(time);
    if (event == "remove") {
      const std::size_t seat = seat_of.at(trace + node);
      pool.seats[seat].push_back({pool.end, true});
      free[trace].push_back(seat);
      continue;
    }
    if (free[trace].empty()) {
      free[trace].push_back(pool.seats.size());
      pool.seats.emplace_back();
    }
    seat_of[trace + node] = free[trace].front();
    pool.seats[free[trace].front()].push_back({pool.end, false});
    free[trace].pop_front();
  }
  return pools;
}

// Seats end to end, round and round. An arrival where a machine is there already, at the seam of two seats, is no
// event.
struct Round {
  std::vector<SeatEvent> events;
  double length = 0;
  double mean_uptime = 0;
};

Round LayOut(const Pool& pool, std::size_t first, std::size_t count) {
  Round round;
  double up = 0;
  int losses = 0;
  for (std::size_t i = first; i < std::min(pool.seats.size(), first + count); ++i) {
    const Seat& seat = pool.seats[i];
    for (const SeatEvent& event : seat) {
      round.events.push_back({round.length + event.at - seat[0].at, event.lost});
      up += event.lost ? event.at : -event.at;
      losses += event.lost ? 1 : 0;
    }
    if (!seat.back().lost) up += pool.end;
    round.length += pool.end - seat[0].at;
  }
  round.mean_uptime = up / losses;
  return round;
}

struct Job {
  double interval = 0, checkpoint = 0, restart = 0;
};

// A job by its phases: start, work, write, work, ...
class Phases {
 public:
  explicit Phases(const Job& job) : job_(job), restart_(job.restart) {}

  bool Pass(double span) {  // true once all work is done
    while (span > 1e-9) {
      double& phase = restart_ > 0 ? restart_ : write_;
      if (phase > 0) {
        const double step = std::min(span, phase);
        phase = phase - step < 1e-9 ? 0 : phase - step;
        if (&phase == &write_ && write_ == 0) kept_ = kept_ + std::exchange(fresh_, 0);
        span -= step;
        billed += step;
        continue;
      }
      const double step = std::min({span, job_.interval - fresh_, kWork - kept_ - fresh_});
      fresh_ += step;
      span -= step;
      billed += step;
      if (kept_ + fresh_ > kWork - 1e-6) return true;
      if (fresh_ > job_.interval - 1e-9) write_ = job_.checkpoint;
    }
    return false;
  }
  void Lose() {
    fresh_ = write_ = 0;
    restart_ = job_.restart;
  }
  double billed = 0;

 private:
  Job job_;
  double restart_;
  double write_ = 0, fresh_ = 0, kept_ = 0;
};

double NaiveBilled(const Round& round, const Job& job) {
  double sum = 0;
  for (int k = 0; k < kStarts; ++k) {
    double now = round.length * (k + 0.5) / kStarts;
    std::size_t next = 0;
    while (next < round.events.size() && round.events[next].at <= now) ++next;
    bool up = !round.events[next == 0 ? round.events.size() - 1 : next - 1].lost;
    double laps = 0;
    Phases phases(job);
    for (;; ++next) {
      if (next == round.events.size()) {
        next = 0;
        laps += round.length;
      }
      const double at = laps + round.events[next].at;
      if (up && phases.Pass(at - now)) break;
      if (phases.billed > 100 * kWork) return std::numeric_limits<double>::infinity();  // it gets nowhere
      if (round.events[next].lost) phases.Lose();
      up = !round.events[next].lost;
      now = at;
    }
    sum += phases.billed;
  }
  return sum / kStarts / 3600;
}

struct Cost {
  double checkpoint, restart;
};
constexpr Cost kQuick = {30, 180};
constexpr Cost kSlow = {120, 300};

Hours Seconds(double seconds) { return Hours(seconds / 3600); }

struct Figures {
  std::vector<double> regret;        // of Young's interval against the best fixed one, in billed hours
  std::vector<double> naive_regret;  // the same, all of it from the naive replay
  std::vector<double> hour_regret;   // of an interval of an hour
  std::vector<double> error;         // of the hours that are expected, against the replay
  int simulated = 0;
  double worst_twin = 0;  // how far the program's replay and the naive one are apart at most
};

constexpr std::size_t kAllSeats = 1000;

class SpotHistory : public ::testing::Test {
 protected:
  void SetUp() override {
    text_ = test::ReadShared("data/planning/spot_node_events_bamboo.csv");
    if (!text_) GTEST_SKIP() << "no ../shared/data/planning/spot_node_events_bamboo.csv";
    StringSource in(*text_, "events.csv");
    events_ = ReadNodeEvents(in).value();
    pools_ = ReadPools(*text_);
  }

  // Traces of `seats` seats each.
  Figures Measure(std::size_t seats, const Cost& cost) const {
    Figures figures;
    for (const InterruptionHistory& history : events_.histories) {
      for (std::size_t first = 0; first < history.seats.size(); first += seats) {
        MeasureOne(history, first, seats, cost, figures);
      }
    }
    return figures;
  }

  std::optional<std::string> text_;
  NodeEvents events_;
  std::map<std::string, Pool> pools_;

 private:
  void MeasureOne(const InterruptionHistory& history, std::size_t first, std::size_t seats, const Cost& cost,
                  Figures& figures) const {
    const SpotTrace trace = SpotTrace::EndToEnd(history, first, seats).value();
    const CheckpointedWork job{Seconds(kWork), {}, Seconds(cost.checkpoint), Seconds(cost.restart)};
    const IntervalChoice choice = ChooseInterval(trace, job, {}, kStarts).value();
    const Round round = LayOut(pools_.at(history.trace), first, seats);
    EXPECT_NEAR(trace.mean_uptime().count(), round.mean_uptime / 3600, 1e-9);
    const double young = std::sqrt(2 * cost.checkpoint * round.mean_uptime);
    EXPECT_NEAR(choice.young.count(), young / 3600, 1e-9);
    const double billed = NaiveBilled(round, {young, cost.checkpoint, cost.restart});
    const auto replayed = [&](double minutes) {
      return NaiveBilled(round, {60 * minutes, cost.checkpoint, cost.restart});
    };
    double best = billed;
    for (double minutes = 1; minutes < kWork / 60; minutes *= 1.1) best = std::min(best, replayed(minutes));
    figures.naive_regret.push_back(billed / best - 1);
    figures.hour_regret.push_back(replayed(60) / best - 1);
    figures.regret.push_back(choice.regret);
    figures.worst_twin = std::max(figures.worst_twin, std::abs(choice.billed_young.count() / billed - 1));
    RunOffer offer;
    offer.spot = true;
    offer.per_gpu_hour = Money::Cents(1'00);
    offer.machines = UpAndDownOf(trace);
    offer.work = {job.work, job.work, job.work};
    LaunchFacts launch;
    launch.checkpoint = job.checkpoint;
    launch.restart = job.restart;
    SimulationSpec spec;
    spec.runs = 2000;
    const RunOption option = WeighOffers(std::vector<RunOffer>{offer}, launch, {}, spec).value()[0];
    const bool beyond = (young + cost.restart) / round.mean_uptime > 0.2;
    EXPECT_EQ(option.basis, beyond ? BilledBasis::kSimulation : BilledBasis::kFirstOrder);
    figures.simulated += beyond ? 1 : 0;
    figures.error.push_back(std::abs(option.billed_hours->likely.count() / billed - 1));
  }
};

double Quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return SortedQuantile(values, p);
}

// Of the times between a loss and its replacement.
double MedianMinutesDown(const InterruptionHistory& history) {
  std::vector<double> downs;
  for (const SeatHistory& seat : history.seats) {
    for (std::size_t i = 1; i < seat.size(); ++i) downs.push_back(Hours(seat[i].start - seat[i - 1].end).count() * 60);
  }
  return Quantile(std::move(downs), 0.5);
}

TEST_F(SpotHistory, FactsOfTheFleets) {
  ASSERT_EQ(events_.histories.size(), 2U);
  EXPECT_EQ(events_.added_twice.rows + events_.removed_unknown.rows, 0);
  for (const InterruptionHistory& history : events_.histories) {
    const UptimeFacts facts = FactsOf(history);
    std::printf("%s: %zu seats, %.1f h, %lld losses, M %.3f h, up %.3f, median down %.1f min\n", history.trace.c_str(),
                history.seats.size(), Hours(history.end).count(), static_cast<long long>(facts.losses),
                facts.mean_uptime->count(), facts.up_fraction, MedianMinutesDown(history));
  }
  // Counted in the file: rows of removal.
  EXPECT_EQ(FactsOf(events_.histories[0]).losses, 74);
  EXPECT_EQ(FactsOf(events_.histories[1]).losses, 167);
}

TEST_F(SpotHistory, YoungIsNearTheBestIntervalAndFirstOrderNearTheReplay) {
  std::printf("             traces     Young's regret       naively    60 min   hours: error      simulated  twin\n");
  for (const Cost& cost : {kQuick, kSlow}) {
    for (const std::size_t seats : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}, kAllSeats}) {
      const Figures f = Measure(seats, cost);
      const auto show = [](const std::vector<double>& values) {
        std::printf(" %5.2f %6.2f %% ", 100 * Quantile(values, 0.5), 100 * Quantile(values, 0.95));
      };
      std::printf("C %3.0f R %3.0f s %4s x %2zu ", cost.checkpoint, cost.restart,
                  seats == kAllSeats ? "all" : std::to_string(seats).c_str(), f.regret.size());
      show(f.regret);
      show(f.naive_regret);
      show(f.hour_regret);
      show(f.error);
      std::printf("%3d %5.2f %%\n", f.simulated, 100 * f.worst_twin);
      EXPECT_LE(f.worst_twin, 0.02);                 // they start their jobs at other moments of the round
      EXPECT_GT(Quantile(f.hour_regret, 0.5), 0.1);  // the data do tell a good interval from a bad one
      EXPECT_LE(Quantile(f.error, 0.5), 0.04) << seats;
      if (cost.checkpoint != kQuick.checkpoint || seats < 4) continue;  // what is not reached, and why: docs/spot.md
      for (const std::vector<double>& regret : {f.regret, f.naive_regret}) {
        EXPECT_LE(Quantile(regret, 0.5), 0.011) << seats;
        EXPECT_LE(Quantile(regret, 0.95), 0.05) << seats;
      }
    }
  }
}

}  // namespace
}  // namespace idleburn
